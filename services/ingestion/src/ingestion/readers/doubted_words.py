"""Letters that may be seen or not, within words that are seen: a word without one of its letters is another value."""

import os
from collections.abc import Sequence
from typing import Any

# Before numpy is imported: a fork server must have one thread, and OpenBLAS would start one for each core.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from ingestion.readers.letter_layers import PlacedLetter
from ingestion.readers.letter_room import Box
from ingestion.readers.page_visibility import Visibility

_WITHIN_A_WORD = 0.5  # of the height, between the ink of two letters: that of `11` is 0.4, and a blank is wider
_SAME_ROW = 0.3  # of the height of the lower one, that two letters of a word share
_MAX_LETTERS = 500  # that are looked at: more than a page of them has no words left


def find_doubted_words(letters: Sequence[PlacedLetter], visibility: Visibility) -> list[int]:
    """The doubtful letters, by their numbers, that stand beside or upon a letter that is seen."""
    doubtful = [index for index, is_doubtful in enumerate(visibility.is_doubtful) if is_doubtful]
    seen = [letter.box for letter, is_seen in zip(letters, visibility.is_seen, strict=True) if is_seen]
    if not doubtful or not seen:
        return []
    boxes = np.array(seen, dtype=float)
    return [index for index in doubtful[:_MAX_LETTERS] if _adjoins(letters[index].box, boxes)]


def _adjoins(box: Box, boxes: Any) -> bool:
    left, bottom, right, top = boxes.T
    heights = np.maximum(top - bottom, box[3] - box[1])
    low = np.minimum(top - bottom, box[3] - box[1])
    is_beside = np.maximum(left - box[2], box[0] - right) <= _WITHIN_A_WORD * heights
    is_level = np.minimum(top, box[3]) - np.maximum(bottom, box[1]) >= _SAME_ROW * low
    return bool((is_beside & is_level).any())
