"""Letters of a page that stand on each other: ink at the place of one may be another one's.

So those are parted into layers, of which no two letters share a place, and each layer is looked at by itself.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Before numpy is imported: a fork server must have one thread, and OpenBLAS would start one for each core.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from ingestion.readers.letter_room import Box

_Pixels = Any  # numpy's arrays

# From here on a letter stands on another one, and one may hide the other.
_OVERLAP = 0.3
_SAME_PLACE = 0.5  # of a letter's height: the same letter again so near is drawn twice, for bold or a shadow
# That the letters of a page may take, each counted by itself: a full page has ten million, one of 40 letters as large
# as itself 80. Drawing them, and finding those that stand on each other, takes time by that.
MAX_PIXELS = 80_000_000
_TINY = 1e-6  # points, squared
_FEW = 2000  # numbers that are told apart faster one by one
_MAX_LAYERS = 4  # of letters that stand on each other
_MAX_AT_ONE_PLACE = 6  # letters that may share a pixel


@dataclass(frozen=True, slots=True)
class PlacedLetter:
    """`source` is the address of the text object that draws the letter."""

    text: str
    box: Box
    source: int


@dataclass(frozen=True, slots=True)
class TouchedTexts:
    """The text objects whose box lies on another one's, and where; all of them, and None, where that would take too
    long to find. `are_apart`: no letter can stand on another one. So it is on most pages, and looking at each letter's
    place takes as long as drawing the page twice."""

    sources: set[int]
    places: _Pixels | None
    are_apart: bool


@dataclass(frozen=True, slots=True)
class LetterLayers:
    """The layer of each text object that stands on another one, `of_source` is empty where none does; `unclear` are
    those that are one too many, of which nobody can say what is seen. `stacked`: a good part of a letter of theirs is
    covered, or covers; the others only share pixels with a neighbour."""

    of_source: dict[int, int]
    unclear: set[int]
    stacked: set[int]


def measure_shares(differs: _Pixels, places: _Pixels) -> list[float]:
    """The share of each place that is set."""
    return [
        np.count_nonzero(differs[top:bottom, left:right]) / max((right - left) * (bottom - top), 1)
        for left, top, right, bottom in places.tolist()
    ]


def choose_layers(letters: Sequence[PlacedLetter], places: _Pixels, touched: TouchedTexts) -> LetterLayers:
    """Ink at the place of a letter may be another letter's: so what stands on each other is not left out at once."""
    if touched.are_apart:
        return LetterLayers({}, set(), set())
    overlaps = _find_overlaps(letters, places)
    unclear = overlaps.crowded
    layers: dict[int, int] = {}
    for source in dict.fromkeys(letter.source for letter in letters):
        if source not in overlaps.pairs:
            continue
        taken = {layers[other] for other in overlaps.pairs[source] if other in layers}
        layers[source] = next(layer for layer in range(len(taken) + 1) if layer not in taken)
        if layers[source] >= _MAX_LAYERS:
            unclear.add(source)
            layers[source] = 0
    return LetterLayers(layers, unclear, overlaps.stacked)


@dataclass(frozen=True, slots=True)
class _Overlaps:
    """`pairs` are the text objects with letters that stand on each other, `crowded` those that found no room at a place
    of many, and `stacked` those whose own boxes, and not only the pixels that these touch, lie on others."""

    pairs: dict[int, set[int]]
    crowded: set[int]
    stacked: set[int]


def _find_overlaps(letters: Sequence[PlacedLetter], places: _Pixels) -> _Overlaps:
    """Letters beside each other share pixels too: where a program draws each by itself, `ill` has three at one."""
    columns, rows = (int(places[:, edge].max(initial=0)) for edge in (2, 3))
    levels = [np.zeros((rows + 1, columns + 1), dtype=np.int32) for _ in range(_MAX_AT_ONE_PLACE)]
    counts: Counter[tuple[int, int]] = Counter()
    crowded: set[int] = set()
    areas = ((places[:, 2] - places[:, 0]) * (places[:, 3] - places[:, 1])).tolist()
    covered = [0.0] * len(letters)
    for number, (letter, (left, top, right, bottom)) in enumerate(zip(letters, places.tolist(), strict=True), start=1):
        taken, has_room = _take_place([level[top:bottom, left:right] for level in levels], number)
        if not taken:
            continue
        found = {
            below: count
            for below, count in count_numbers(np.concatenate(taken)).items()
            if letters[below - 1].source != letter.source
        }
        for below in found:
            if not is_again(letter, letters[below - 1]):
                shared = _measure_shared(letter.box, letters[below - 1].box)
                covered[number - 1] += shared / max(_measure(letter.box), _TINY)
                covered[below - 1] += shared / max(_measure(letters[below - 1].box), _TINY)
        is_on_others = letter.text.isalnum() and taken[0].size > _OVERLAP * areas[number - 1]
        others = [letters[below - 1] for below in found] if is_on_others else _find_others(found, letters, areas)
        for other in others:
            # A word that is drawn again a little beside itself stands on its own neighbours too.
            counts[letter.source, other.source] += -2 if is_again(letter, other) else 1
        if not has_room and any(not is_again(letter, other) for other in others):
            crowded.add(letter.source)
    pairs: dict[int, set[int]] = defaultdict(set)
    for (upper_source, lower_source), count in counts.items():
        if count > 0:
            pairs[upper_source].add(lower_source)
            pairs[lower_source].add(upper_source)
    stacked = {letter.source for letter, share in zip(letters, covered, strict=True) if share > _OVERLAP}
    return _Overlaps(pairs, crowded & pairs.keys(), stacked)


def _measure(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _measure_shared(box: Box, other: Box) -> float:
    across = min(box[2], other[2]) - max(box[0], other[0])
    up = min(box[3], other[3]) - max(box[1], other[1])
    return max(across, 0.0) * max(up, 0.0)


def _take_place(levels: Sequence[_Pixels], number: int) -> tuple[list[_Pixels], bool]:
    """Puts each pixel of a letter on the first level that is free there. Which letters it found on each level, and
    whether it had room."""
    found: list[_Pixels] = []
    here: Any = ...  # pixels that are taken on all levels so far
    for level in levels:
        there = level[here]
        taken = there[there > 0]
        if not taken.size:
            level[here] = number
            return found, True
        found.append(taken)
        is_taken = level > 0
        level[~is_taken if here is ... else here & ~is_taken] = number
        here = is_taken
    return found, False


def find_touched(letters: Sequence[PlacedLetter], places: _Pixels) -> TouchedTexts:
    boxes: dict[int, list[int]] = {}
    for letter, (left, top, right, bottom) in zip(letters, places.tolist(), strict=True):
        box = boxes.setdefault(letter.source, [left, top, right, bottom])
        box[:] = min(box[0], left), min(box[1], top), max(box[2], right), max(box[3], bottom)
    if sum_areas(np.array(list(boxes.values()))) > MAX_PIXELS:
        return TouchedTexts(set(boxes), None, are_apart=False)
    covered = np.zeros(places.max(axis=0)[[3, 2]] + 1, dtype=np.int8)
    for left, top, right, bottom in boxes.values():
        region = covered[top:bottom, left:right]
        region[region == 1] = 2
        region[region == 0] = 1
    is_shared = covered == 2
    touched = {
        source for source, (left, top, right, bottom) in boxes.items() if is_shared[top:bottom, left:right].any()
    }
    chosen = [letter.source in touched for letter in letters]
    are_apart = all(share <= _OVERLAP for share in measure_shares(is_shared, places[chosen]))
    return TouchedTexts(touched, is_shared, are_apart)


def sum_areas(places: _Pixels) -> int:
    return int(((places[:, 2] - places[:, 0]) * (places[:, 3] - places[:, 1])).sum())


def _find_others(found: Mapping[int, int], letters: Sequence[PlacedLetter], areas: Sequence[int]) -> list[PlacedLetter]:
    """Letters of whose place another letter takes a good part. A mark may hide a letter (a dash as thick as a line);
    that it is hidden itself matters to nobody."""
    return [
        letters[number - 1]
        for number, count in found.items()
        if count > _OVERLAP * areas[number - 1] and letters[number - 1].text.isalnum()
    ]


def count_numbers(taken: _Pixels) -> Mapping[int, int]:
    """How often each stands there. An object of Python for each pixel of a letter that is as large as the page took a
    minute."""
    if taken.size <= _FEW:
        return Counter(taken.tolist())
    counts = np.bincount(taken)
    numbers = np.flatnonzero(counts)
    return dict(zip(numbers.tolist(), counts[numbers].tolist(), strict=True))


def is_again(letter: PlacedLetter, other: PlacedLetter) -> bool:
    near = _SAME_PLACE * (letter.box[3] - letter.box[1])
    return letter.text == other.text and all(
        abs(ours - theirs) <= near for ours, theirs in zip(letter.box, other.box, strict=True)
    )
