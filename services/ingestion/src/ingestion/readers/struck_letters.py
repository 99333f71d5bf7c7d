"""Which words of a PDF's page a line strikes out, however it was drawn: a stroke, a thin box, a reader's comment.

Most pages have no line at the height of a letter's middle. Where one has, the page is looked at without its letters: a
line may lie behind a box, or be as white as the paper.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import pypdfium2

from ingestion.readers.letter_layers import PlacedLetter
from ingestion.readers.letter_room import Box
from ingestion.readers.page_strokes import SHORTEST_STROKE, Stroke, list_strokes
from ingestion.readers.page_visibility import draw_without_text, place_on_picture
from ingestion.readers.slanted_strokes import list_slanted, list_slashed_words, list_strokes_over_rows

_FLAT = 4  # times as wide as high: a line through a word, and none across the page
_LEVEL = 1.0  # points from one end to the other
# Of the height of a letter's ink: an underline is below, the border of a table above or below.
_LOWEST, _HIGHEST = 0.2, 0.8
_THICKEST_SHARE = 0.75  # of it: what is thicker hides the letter
_MOST = 0.7  # of the letters of a word
_BLANK = 0.45  # of a letter's height, between the ink of two words
_OWN_SHARE = 0.5  # of a line as long as others: ink of letters that it goes through
_LONG_FOR_ONE = 4.0  # times as wide as the only letter that it strikes out
_STEP = 0.5  # points: what no letter is as high as need not be compared with each

_CONTRAST = 20  # of 255
_PAPER = (85, 15)  # of a hundred pixels: a dark line on light paper, or a light one on a dark box
_THIN = 0.75  # of a letter's place
_THROUGH = 0.4  # of its columns: a line may be dashed
# Of the page's width and height: what is as long crosses it out, or at least what is written between its ends. A line
# through empty paper is drawn so that nobody writes there.
_ACROSS, _ACROSS_LETTERS = 0.7, 0.4
_MANY_CROSSED = 3  # letters
_MAX_ACROSS, _MAX_WORDS = 20, 300  # that a drawing is asked for
_SAMPLES = 200  # points of such a line
_BESIDE = 6  # pixels

_Numbers = Any  # numpy's arrays


@dataclass(frozen=True, slots=True)
class StruckText:
    """`words` are the letters of each word that is struck out, by their numbers; `is_page` says that all of it is."""

    words: tuple[list[int], ...] = ()
    is_page: bool = False


def find_struck(page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter], quarters: Sequence[int | None]) -> StruckText:
    """`quarters` are the turns that the letters are written in."""
    strokes = list_strokes(page) if letters else []
    if not strokes:
        return StruckText()
    turns = [quarter for quarter in dict.fromkeys(quarters) if quarter is not None]
    words = [word for quarter in turns for word in _find_crossed_words(letters, quarters, quarter, strokes)]
    slanted = list_slanted(strokes)
    slashed = list(islice(_list_slashed(letters, quarters, turns, slanted), _MAX_WORDS)) if slanted else []
    over_rows = list_strokes_over_rows(slanted, [letter.box for letter in letters]) if slanted else ()
    across = list(islice(chain(_list_across(strokes, page, letters), over_rows), _MAX_ACROSS))
    if not words and not across and not slashed:
        return StruckText()
    drawn, places = draw_without_text(page), place_on_picture(page, letters).tolist()

    def is_seen(word: _CrossedWord) -> bool:
        regions = [_cut(drawn, places[index], page, quarters[index]) for index in word.crossed]
        return sum(map(_has_thin_line, regions)) >= _MOST * len(regions)

    is_page = any(_is_line_seen(drawn, page, stroke) for stroke in across)
    # More than a person would strike out are not looked at one by one.
    seen = [word.letters for word in (*filter(is_seen, words[:_MAX_WORDS]), *words[_MAX_WORDS:])]
    seen += [word for word, stroke in slashed if word not in seen and _is_line_seen(drawn, page, stroke)]
    return StruckText(tuple(seen), is_page)


@dataclass(frozen=True, slots=True)
class _CrossedWord:
    """The letters of a word, and those that should have been said by letters which a line goes through."""

    letters: list[int]
    crossed: list[int]


def _list_slashed(
    letters: Sequence[PlacedLetter], quarters: Sequence[int | None], turns: Sequence[int], slanted: Sequence[Stroke]
) -> Iterator[tuple[list[int], Stroke]]:
    """The letters of each word that a slanted stroke or a cross goes through, as far as their places say."""
    boxes = [letter.box for letter in letters]
    for quarter in turns:
        chosen = [index for index, own in enumerate(quarters) if own == quarter]
        along = [_swap(boxes[index]) if quarter % 2 else boxes[index] for index in chosen]
        words = [chosen[start:end] for start, end in _split_words(along)]
        said = [word for word in words if any(letters[index].text.isalnum() for index in word)]
        found = dict(list_slashed_words(slanted, said, boxes))
        yield from ((said[number], stroke) for number, stroke in found.items())


def _list_across(
    strokes: Sequence[Stroke], page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter]
) -> Iterator[Stroke]:
    """Those that go from one side of the page to the opposite one, or through what is written between."""
    width, height = page.get_size() if page.get_rotation() % 180 == 0 else page.get_size()[::-1]
    left, bottom, right, top = np.array([letter.box for letter in letters], dtype=float).T
    middle = (left + right) / 2
    for stroke in strokes:
        (x0, y0), (x1, y1) = stroke.start, stroke.end
        share = min(abs(x1 - x0) / max(width, 1.0), abs(y1 - y0) / max(height, 1.0))
        if share < _ACROSS_LETTERS:
            continue
        at = y0 + (middle - x0) * (y1 - y0) / (x1 - x0)
        is_within = (middle >= min(x0, x1)) & (middle <= max(x0, x1))
        if share >= _ACROSS or (is_within & (bottom <= at) & (at <= top)).sum() >= _MANY_CROSSED:
            yield stroke


def _is_line_seen(drawn: _Numbers, page: pypdfium2.PdfPage, stroke: Stroke) -> bool:
    """Whether a picture of the page has it: of a drawing that is cut off at its edges most is not shown."""
    ends = [PlacedLetter("", (x, y, x, y), 0) for x, y in (stroke.start, stroke.end)]
    # The place of a point has a margin on each side.
    (x0, y0), (x1, y1) = [
        ((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in place_on_picture(page, ends).tolist()
    ]
    length = max(math.hypot(x1 - x0, y1 - y0), 1.0)
    aside = (y0 - y1) / length, (x1 - x0) / length
    at = np.linspace(0, 1, _SAMPLES)
    columns, rows = x0 + (x1 - x0) * at, y0 + (y1 - y0) * at
    height, width = drawn.shape
    is_inside = (columns >= _BESIDE) & (columns < width - _BESIDE) & (rows >= _BESIDE) & (rows < height - _BESIDE)
    columns, rows = columns[is_inside], rows[is_inside]
    if len(rows) < _SAMPLES / 2:
        return False

    def look(shift: int) -> _Numbers:
        return drawn[(rows + shift * aside[1]).astype(int), (columns + shift * aside[0]).astype(int)]

    line = np.min([look(shift) for shift in (-2, -1, 0, 1, 2)], axis=0)
    paper = np.minimum(look(-_BESIDE), look(_BESIDE))
    return bool((paper.astype(int) - line >= _CONTRAST).mean() >= _THROUGH)


def _find_crossed_words(
    letters: Sequence[PlacedLetter], quarters: Sequence[int | None], quarter: int, strokes: Sequence[Stroke]
) -> Iterator[_CrossedWord]:
    """Each word of this turn that lines go through, or through a part of its digits, as far as their places say."""
    chosen = [index for index, own in enumerate(quarters) if own == quarter]
    boxes = [letters[index].box for index in chosen]
    if quarter % 2:
        boxes, strokes = [_swap(box) for box in boxes], [stroke.swap() for stroke in strokes]
    lengths = _find_crossed(boxes, strokes)
    if not lengths.any():
        return
    for start, end in _split_words(boxes):
        said = [index for index in range(start, end) if letters[chosen[index]].text.isalnum()]
        crossed = [index for index in said if lengths[index]]
        if not crossed:
            continue
        if len(crossed) < _MOST * len(said):
            if all(letters[chosen[index]].text.isdigit() for index in crossed) and _are_of_own_line(
                [boxes[index] for index in crossed], [lengths[index] for index in crossed]
            ):
                yield _CrossedWord(chosen[start:end], [chosen[index] for index in crossed])
            continue
        left, _, right, _ = boxes[said[0]]
        if len(said) > 1 or lengths[said[0]] <= _LONG_FOR_ONE * (right - left):
            yield _CrossedWord(chosen[start:end], [chosen[index] for index in said])


def _are_of_own_line(boxes: Sequence[Box], lengths: Sequence[float]) -> bool:
    """Whether the line through digits is as long as they are: no other line ends within a number."""
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    widest = max(box[2] - box[0] for box in boxes)
    return right - left - widest / 2 <= min(lengths) and max(lengths) <= right - left + widest


def _swap(box: Box) -> Box:
    left, bottom, right, top = box
    return bottom, left, top, right


def _find_crossed(boxes: Sequence[Box], strokes: Sequence[Stroke]) -> _Numbers:
    """How long the shortest line is that goes through each letter, 0 where none does."""
    left, bottom, right, top = np.array(boxes, dtype=float).T
    middle, height = (left + right) / 2, top - bottom
    low, high = bottom + _LOWEST * height, bottom + _HIGHEST * height
    found = np.zeros(len(boxes))
    flat = _list_flat(strokes)
    alike = Counter(map(_round_ends, flat))
    for stroke in _drop_far(flat, low, high):
        (x0, y0), (x1, y1) = sorted((stroke.start, stroke.end))
        length = x1 - x0
        if abs(y1 - y0) <= _LEVEL:
            crosses = (low <= y0) & (y0 <= high)
        else:
            at = y0 + (middle - x0) * (y1 - y0) / length
            crosses = (bottom <= at) & (at <= top)
        crosses &= (middle >= x0) & (middle <= x1) & (stroke.thickness <= _THICKEST_SHARE * height)
        if alike[_round_ends(stroke)] > 1 and (right - left)[crosses].sum() < _OWN_SHARE * length:
            continue  # one of the lines of a table, which its rows came too near to
        crosses &= (found == 0) | (found > length)
        found[crosses] = length
    return found


def _round_ends(stroke: Stroke) -> tuple[int, int]:
    first, last = sorted((stroke.start[0], stroke.end[0]))
    return round(first), round(last)


def _list_flat(strokes: Sequence[Stroke]) -> list[Stroke]:
    sizes = ((stroke, abs(stroke.end[0] - stroke.start[0]), abs(stroke.end[1] - stroke.start[1])) for stroke in strokes)
    return [stroke for stroke, width, height in sizes if width >= SHORTEST_STROKE and width >= _FLAT * height]


def _drop_far(strokes: Sequence[Stroke], low: _Numbers, high: _Numbers) -> list[Stroke]:
    """Without those that are as high as no letter's middle: most lines of a page stand between its rows."""
    floor = float(low.min())
    steps = [((edge - floor) / _STEP).astype(int) for edge in (low, high)]
    begun = np.zeros(int(steps[1].max()) + 2)
    np.add.at(begun, steps[0], 1)
    np.add.at(begun, steps[1] + 1, -1)
    taken = np.cumsum(begun) > 0

    def is_near(stroke: Stroke) -> bool:
        step = (stroke.start[1] - floor) / _STEP
        is_level = abs(stroke.end[1] - stroke.start[1]) <= _LEVEL
        return not is_level or (0 <= step < len(taken) and bool(taken[int(step)]))

    return [stroke for stroke in strokes if is_near(stroke)]


def _split_words(boxes: Sequence[Box]) -> Iterator[tuple[int, int]]:
    """The first letter of each, and behind its last."""
    start = 0
    for index, (before, after) in enumerate(pairwise(boxes), start=1):
        height = max(before[3] - before[1], after[3] - after[1])
        is_beside = abs(after[0] - before[2]) <= _BLANK * height
        is_in_row = after[1] < before[3] + height / 2 and before[1] < after[3] + height / 2
        if not (is_beside and is_in_row):
            yield start, index
            start = index
    yield start, len(boxes)


def _cut(drawn: _Numbers, place: Sequence[int], page: pypdfium2.PdfPage, quarter: int | None) -> _Numbers:
    """A letter's place, in rows of its own direction."""
    left, top, right, bottom = place
    region = drawn[top:bottom, left:right]
    return region.T if (int(page.get_rotation()) // 90 + (quarter or 0)) % 2 else region


def _has_thin_line(region: _Numbers) -> bool:
    """Of another colour than most of a letter's place, from its one side to the other."""
    if not region.size:
        return False
    for paper in np.percentile(region, _PAPER):
        ink = np.abs(region.astype(int) - paper) >= _CONTRAST
        if ink.any(axis=0).mean() >= _THROUGH and ink.mean() <= _THIN:
            return True
    return False
