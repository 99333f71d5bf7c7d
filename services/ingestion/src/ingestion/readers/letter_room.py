"""Whether letters have room beside each other: pushed together, or squeezed to strokes, they are a dot or a bar to an
eye, and an account to a machine."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

# Before numpy is imported: a fork server must have one thread, and OpenBLAS would start one for each core.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

_RUN = 5  # letters that are looked at together: of one alone nobody knows whether it is an `l`
# Of its height, from one letter to the next: digits have 0.8, an `l` 0.3, and fewer than this nobody reads.
_MIN_STEP = 0.22

Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""


def find_crowded(boxes: Sequence[Box]) -> Any:
    """For each letter whether it stands in a run without room. An array of numpy."""
    crowded = np.zeros(len(boxes), dtype=bool)
    starts = len(boxes) - _RUN + 1
    if starts < 1:
        return crowded
    edges = np.array([*_part_shared_boxes(boxes)], dtype=float)
    runs = np.stack([edges[first : first + starts] for first in range(_RUN)])
    widths, heights = runs[:, :, 2] - runs[:, :, 0], runs[:, :, 3] - runs[:, :, 1]
    across = runs[:, :, 2].max(axis=0) - runs[:, :, 0].min(axis=0) - widths.mean(axis=0)
    up = runs[:, :, 3].max(axis=0) - runs[:, :, 1].min(axis=0) - heights.mean(axis=0)
    # Whichever way they are written, and on whichever lines.
    found = np.maximum(across, up) < _MIN_STEP * (_RUN - 1) * np.maximum(widths, heights).mean(axis=0)
    for first in range(_RUN):
        crowded[first : first + starts] |= found
    return crowded


def _part_shared_boxes(boxes: Sequence[Box]) -> Iterator[Box]:
    """Letters that stand for what is drawn (ActualText) have the box of all of it each: a word has room for its letters
    there, and a dot has none for an account."""
    for (left, bottom, right, top), shared in groupby(boxes):
        count = len([*shared])
        across, up = ((right - left) / count, 0.0) if right - left >= top - bottom else (0.0, (top - bottom) / count)
        for index in range(count):
            first = (left + index * across, bottom + index * up)
            yield (*first, first[0] + across if across else right, first[1] + up if up else top)
