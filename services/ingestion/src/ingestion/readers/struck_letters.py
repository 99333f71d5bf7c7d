"""Which words of a PDF's page a line strikes out, however it was drawn: a stroke, a thin box, a reader's comment.

Most pages have no line at the height of a letter's middle. Where one has, the page is looked at without its letters: a
line may lie behind a box, or be as white as the paper.
"""

import ctypes
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.readers.letter_room import Box
from ingestion.readers.page_visibility import PlacedLetter, draw_without_text, place_on_picture

_MAX_OBJECTS = 5000
_MAX_DEPTH = 4
_MAX_STROKES = 1000
_MAX_POINTS = 200  # of one path: a drawing has more, what strikes something out a few
_MAX_POINTS_OF_PAGE = 2000
_POINTS_OF_BOX = 6  # from here on a path may be several

_SHORTEST, _THICKEST = 4.0, 5.0  # points
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
_Point = tuple[float, float]
_Matrix = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Stroke:
    """A straight line, in the page's coordinates."""

    start: _Point
    end: _Point
    thickness: float

    def swap(self) -> "_Stroke":
        return _Stroke(self.start[::-1], self.end[::-1], self.thickness)


@dataclass(frozen=True, slots=True)
class StruckText:
    """`words` are the letters of each word that is struck out, by their numbers; `is_page` says that all of it is."""

    words: tuple[list[int], ...] = ()
    is_page: bool = False


def find_struck(page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter], quarters: Sequence[int | None]) -> StruckText:
    """`quarters` are the turns that the letters are written in."""
    strokes = _StrokeList(page).list_strokes() if letters else []
    if not strokes:
        return StruckText()
    turns = [quarter for quarter in dict.fromkeys(quarters) if quarter is not None]
    words = [word for quarter in turns for word in _find_crossed_words(letters, quarters, quarter, strokes)]
    across = list(islice(_list_across(strokes, page, letters), _MAX_ACROSS))
    if not words and not across:
        return StruckText()
    drawn, places = draw_without_text(page), place_on_picture(page, letters).tolist()

    def is_seen(word: Sequence[int]) -> bool:
        said = [index for index in word if letters[index].text.isalnum()]
        regions = [_cut(drawn, places[index], page, quarters[index]) for index in said]
        return sum(map(_has_thin_line, regions)) >= _MOST * len(said)

    is_page = any(_is_line_seen(drawn, page, stroke) for stroke in across)
    # More than a person would strike out are not looked at one by one.
    seen = [*filter(is_seen, words[:_MAX_WORDS]), *words[_MAX_WORDS:]]
    return StruckText(tuple(seen), is_page)


def _list_across(
    strokes: Sequence[_Stroke], page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter]
) -> Iterator[_Stroke]:
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


def _is_line_seen(drawn: _Numbers, page: pypdfium2.PdfPage, stroke: _Stroke) -> bool:
    """Whether a picture of the page has it: of a drawing that is cut off at its edges most is not shown."""
    ends = [PlacedLetter("", (x, y, x, y), 0) for x, y in (stroke.start, stroke.end)]
    # The place of a point has a margin on each side.
    (x0, y0), (x1, y1) = [
        ((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in place_on_picture(page, ends).tolist()
    ]
    at = np.linspace(0, 1, _SAMPLES)
    rows, columns = (y0 + (y1 - y0) * at).astype(int), (x0 + (x1 - x0) * at).astype(int)
    is_inside = (columns >= _BESIDE) & (columns < drawn.shape[1] - _BESIDE) & (rows >= 0) & (rows < drawn.shape[0])
    rows, columns = rows[is_inside], columns[is_inside]
    if len(rows) < _SAMPLES / 2:
        return False
    line = np.min([drawn[rows, columns + shift] for shift in (-2, -1, 0, 1, 2)], axis=0)
    paper = np.minimum(drawn[rows, columns - _BESIDE], drawn[rows, columns + _BESIDE])
    return bool((paper.astype(int) - line >= _CONTRAST).mean() >= _THROUGH)


def _find_crossed_words(
    letters: Sequence[PlacedLetter], quarters: Sequence[int | None], quarter: int, strokes: Sequence[_Stroke]
) -> Iterator[list[int]]:
    """The letters of each word of this turn that lines go through, as far as their places say."""
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
        if not crossed or len(crossed) < _MOST * len(said):
            continue
        left, _, right, _ = boxes[said[0]]
        if len(said) > 1 or lengths[said[0]] <= _LONG_FOR_ONE * (right - left):
            yield chosen[start:end]


def _swap(box: Box) -> Box:
    left, bottom, right, top = box
    return bottom, left, top, right


def _find_crossed(boxes: Sequence[Box], strokes: Sequence[_Stroke]) -> _Numbers:
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


def _round_ends(stroke: _Stroke) -> tuple[int, int]:
    first, last = sorted((stroke.start[0], stroke.end[0]))
    return round(first), round(last)


def _list_flat(strokes: Sequence[_Stroke]) -> list[_Stroke]:
    sizes = ((stroke, abs(stroke.end[0] - stroke.start[0]), abs(stroke.end[1] - stroke.start[1])) for stroke in strokes)
    return [stroke for stroke, width, height in sizes if width >= _SHORTEST and width >= _FLAT * height]


def _drop_far(strokes: Sequence[_Stroke], low: _Numbers, high: _Numbers) -> list[_Stroke]:
    """Without those that are as high as no letter's middle: most lines of a page stand between its rows."""
    floor = float(low.min())
    steps = [((edge - floor) / _STEP).astype(int) for edge in (low, high)]
    begun = np.zeros(int(steps[1].max()) + 2)
    np.add.at(begun, steps[0], 1)
    np.add.at(begun, steps[1] + 1, -1)
    taken = np.cumsum(begun) > 0

    def is_near(stroke: _Stroke) -> bool:
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


class _StrokeList:
    """The straight lines that a page draws. pdfium writes its answers into the same memory for each path."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self._points = _MAX_POINTS_OF_PAGE
        self._edges = tuple(ctypes.c_float() for _ in range(4))  # left, bottom, right and top
        self._edges_out = tuple(map(ctypes.byref, self._edges))
        self._found: list[_Stroke] = []

    def list_strokes(self) -> list[_Stroke]:
        count = min(pdfium.FPDFPage_CountObjects(self._page), _MAX_OBJECTS)
        self._add_all((pdfium.FPDFPage_GetObject(self._page, number) for number in range(count)), None, _MAX_DEPTH)
        return self._found

    def _add_all(self, objects: Iterator[Any], within: _Matrix | None, depth: int) -> None:
        """`within` is the matrix of the form that they are in, whose coordinates are their own."""
        for drawn in objects:
            if len(self._found) >= _MAX_STROKES:
                return
            kind = pdfium.FPDFPageObj_GetType(drawn)
            if kind == pdfium.FPDF_PAGEOBJ_PATH:
                self._add_path(drawn, within)
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
                count = min(pdfium.FPDFFormObj_CountObjects(drawn), _MAX_OBJECTS)
                inner = (pdfium.FPDFFormObj_GetObject(drawn, number) for number in range(count))
                self._add_all(inner, _multiply(_get_matrix(drawn), within), depth - 1)

    def _add_path(self, drawn: Any, within: _Matrix | None) -> None:
        if not pdfium.FPDFPageObj_GetBounds(drawn, *self._edges_out):
            return
        left, bottom, right, top = (edge.value for edge in self._edges)
        thin, long = sorted((right - left, top - bottom))
        if long < _SHORTEST:
            return
        if thin <= _THICKEST and thin * _FLAT <= long:
            x, y = (left + right) / 2, (bottom + top) / 2
            is_level = right - left > top - bottom
            self._add_stroke((left, y) if is_level else (x, bottom), (right, y) if is_level else (x, top), thin, within)
            return
        count = pdfium.FPDFPath_CountSegments(drawn)
        if count < _POINTS_OF_BOX and not _is_stroked(drawn):
            return  # a coloured box, whose edges are no lines
        if 2 <= count <= min(_MAX_POINTS, self._points):
            self._points -= count
            self._add_segments(drawn, count, _multiply(_get_matrix(drawn), within))

    def _add_segments(self, drawn: Any, count: int, matrix: _Matrix) -> None:
        """A box around something, a cross through it, or many lines that are one path."""
        x, y = self._edges[:2]
        points: list[tuple[_Point, bool]] = []  # whether a line leads to it
        curved = 0
        for number in range(count):
            segment = pdfium.FPDFPath_GetPathSegment(drawn, number)
            if not segment or not pdfium.FPDFPathSegment_GetPoint(segment, *self._edges_out[:2]):
                continue
            kind = pdfium.FPDFPathSegment_GetType(segment)
            curved = curved + 1 if kind == pdfium.FPDF_SEGMENT_BEZIERTO else 0
            if curved % 3:
                continue  # of a curve the third point is its end
            point = _transform((x.value, y.value), matrix)
            points.append((point, bool(points) and kind != pdfium.FPDF_SEGMENT_MOVETO))
        if (scribble := _find_scribble([point for point, _ in points])) is not None:
            self._found.append(scribble)
            return
        for (before, _), (point, is_line) in pairwise(points):
            if is_line:
                self._add_stroke(before, point, 0.0, None)

    def _add_stroke(self, start: _Point, end: _Point, thickness: float, within: _Matrix | None) -> None:
        if within is not None:
            start, end = _transform(start, within), _transform(end, within)
        if all(map(math.isfinite, (*start, *end))):
            self._found.append(_Stroke(start, end, thickness))


def _find_scribble(points: Sequence[_Point]) -> _Stroke | None:
    """A line that goes up and down on its way, as a hand draws it."""
    if len(points) < _POINTS_OF_BOX or not all(math.isfinite(number) for point in points for number in point):
        return None
    (left, right), (bottom, top) = ((min(along), max(along)) for along in zip(*points, strict=True))
    if top - bottom <= _THICKEST and (top - bottom) * _FLAT <= right - left:
        return _Stroke((left, (bottom + top) / 2), (right, (bottom + top) / 2), top - bottom)
    if right - left <= _THICKEST and (right - left) * _FLAT <= top - bottom:
        return _Stroke(((left + right) / 2, bottom), ((left + right) / 2, top), right - left)
    return None


def _is_stroked(drawn: Any) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(pdfium.FPDFPath_GetDrawMode(drawn, ctypes.byref(fill), ctypes.byref(stroke)) and stroke.value)


def _get_matrix(drawn: Any) -> _Matrix:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(drawn, ctypes.byref(matrix)):
        return 1.0, 0.0, 0.0, 1.0, 0.0, 0.0
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _multiply(inner: _Matrix, outer: _Matrix | None) -> _Matrix:
    if outer is None:
        return inner
    a, b, c, d, x, y = inner
    p, q, r, s, *_ = outer
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, *_transform((x, y), outer)


def _transform(point: _Point, matrix: _Matrix) -> _Point:
    x, y = point
    a, b, c, d, left, bottom = matrix
    return a * x + c * y + left, b * x + d * y + bottom
