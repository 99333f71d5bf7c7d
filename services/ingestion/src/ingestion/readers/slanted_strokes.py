"""Strokes from corner to corner: through a word, two of them as a cross over words, or through several rows of a page.

A hand strikes out so. Other slanted lines are those of charts and logos, which have no words behind their middle.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ingestion.readers.letter_room import Box
from ingestion.readers.page_strokes import Stroke

_LEAST_SLANT = 2.0  # points from one end to the other, in both directions
_MAX_SLANTED = 60  # of a page: a drawing has more
_CORE = 0.1  # of a letter's box, left out at each side
_MOST_ACROSS = 0.6  # of a word's width
_LONGEST = (1.5, 6.0)  # widths and heights of a word, together
_BESIDE = 0.5  # of a word's height, from its edge to the middle of the stroke
_NEAR_MIDDLE = 0.2  # of a stroke's length
_ALIKE = 1.6  # times as long as the other one
_ROWS_OF_CROSS = 4.0  # heights of a letter: what is higher crosses out a region
_LONG, _MANY_CROSSED, _ROW_APART = 40.0, 3, 1.5  # points, letters, heights of a letter

_Numbers = Any  # numpy's arrays


def list_slanted(strokes: Sequence[Stroke]) -> list[Stroke]:
    """None of a page that has many of them."""
    found = [stroke for stroke in strokes if min(map(abs, _measure(stroke))) > _LEAST_SLANT]
    return found if len(found) <= _MAX_SLANTED else []


def list_slashed_words(
    slanted: Sequence[Stroke], words: Sequence[Sequence[int]], boxes: Sequence[Box]
) -> Iterator[tuple[int, Stroke]]:
    """The number of each word that a stroke or a cross goes through, or lies over, with the stroke."""
    for number, word in enumerate(words):
        room = _join_boxes([boxes[index] for index in word])
        own = [boxes[index] for index in word]
        for stroke in slanted:
            if _is_stroke_of(stroke, room) and _goes_through(stroke, own).any():
                yield number, stroke
                break
    for first, second, room in _list_crosses(slanted, boxes):
        if room[3] - room[1] > _ROWS_OF_CROSS * _measure_height(boxes):
            continue
        for number, word in enumerate(words):
            own = [boxes[index] for index in word]
            within = sum(_is_within(_find_middle(box), room) for box in own)
            if 2 * within >= len(own) and (_goes_through(first, own) | _goes_through(second, own)).any():
                yield number, first


def list_strokes_over_rows(slanted: Sequence[Stroke], boxes: Sequence[Box]) -> Iterator[Stroke]:
    """Those through letters of several rows, and those of a cross that lies over several."""
    height = _measure_height(boxes)
    bottoms = np.array([box[1] for box in boxes])
    for stroke in slanted:
        crossed = _goes_through(stroke, boxes) if math.hypot(*_measure(stroke)) >= _LONG else np.zeros(len(boxes), bool)
        if crossed.sum() >= _MANY_CROSSED and np.ptp(bottoms[crossed]) > _ROW_APART * height:
            yield stroke
    for first, second, room in _list_crosses(slanted, boxes):
        if room[3] - room[1] > _ROWS_OF_CROSS * height:
            yield first
            yield second


def _list_crosses(slanted: Sequence[Stroke], boxes: Sequence[Box]) -> Iterator[tuple[Stroke, Stroke, Box]]:
    """Two strokes that halve each other, and the room that they lie over: a letter stands in it that one goes
    through."""
    for first, second in combinations(slanted, 2):
        (x0, y0), (x1, y1) = _measure(first), _measure(second)
        shorter, longer = sorted((math.hypot(x0, y0), math.hypot(x1, y1)))
        apart = math.dist(_find_middle((*first.start, *first.end)), _find_middle((*second.start, *second.end)))
        if (x0 * y0 > 0) is (x1 * y1 > 0) or longer > _ALIKE * shorter or apart > _NEAR_MIDDLE * shorter:
            continue
        ends = (first.start, first.end, second.start, second.end)
        room = (min(x for x, _ in ends), min(y for _, y in ends), max(x for x, _ in ends), max(y for _, y in ends))
        within = [box for box in boxes if _is_within(_find_middle(box), room)]
        if within and (_goes_through(first, within) | _goes_through(second, within)).any():
            yield first, second, room


def _is_stroke_of(stroke: Stroke, room: Box) -> bool:
    """Whether a stroke goes from one side of a word to the other, and not far beyond."""
    left, bottom, right, top = room
    width, height = right - left, top - bottom
    across, up = map(abs, _measure(stroke))
    beside = _BESIDE * height
    is_over = (
        _is_within(_find_middle((*stroke.start, *stroke.end)), (left - beside, bottom, right + beside, top))
        and math.hypot(across, up) <= _LONGEST[0] * width + _LONGEST[1] * height
    )
    return is_over and across >= _MOST_ACROSS * width and up >= height / 2


def _goes_through(stroke: Stroke, boxes: Sequence[Box]) -> _Numbers:
    """Through the middle of each box, and not only past a corner of it."""
    left, bottom, right, top = np.array(boxes, dtype=float).T
    (x0, y0), (across, up) = stroke.start, _measure(stroke)
    spare = _CORE * (right - left), _CORE * (top - bottom)
    by_x = np.sort([(left + spare[0] - x0) / across, (right - spare[0] - x0) / across], axis=0)
    by_y = np.sort([(bottom + spare[1] - y0) / up, (top - spare[1] - y0) / up], axis=0)
    enters, leaves = np.maximum(by_x[0], by_y[0]), np.minimum(by_x[1], by_y[1])
    return (np.maximum(enters, 0) <= np.minimum(leaves, 1)) & (right > left) & (top > bottom)


def _measure(stroke: Stroke) -> tuple[float, float]:
    return stroke.end[0] - stroke.start[0], stroke.end[1] - stroke.start[1]


def _measure_height(boxes: Sequence[Box]) -> float:
    return float(np.median([box[3] - box[1] for box in boxes]))


def _join_boxes(boxes: Sequence[Box]) -> Box:
    left, bottom, right, top = zip(*boxes, strict=True)
    return min(left), min(bottom), max(right), max(top)


def _find_middle(box: tuple[float, ...]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _is_within(point: tuple[float, float], room: Box) -> bool:
    return room[0] <= point[0] <= room[2] and room[1] <= point[1] <= room[3]
