"""The straight lines that a page of a PDF draws: strokes, thin boxes, edges of boxes, what a hand scribbles."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

SHORTEST_STROKE, _THICKEST = 4.0, 5.0  # points
_FLAT = 4  # times as long as thick
_HIGHEST_SCRIBBLE = 12.0  # points, of a line that goes up and down at each of its points
_MAX_OBJECTS = 5000
_MAX_DEPTH = 4
_MAX_STROKES = 1000
_MAX_POINTS = 200  # of one path: a drawing has more, what strikes something out a few
_MAX_POINTS_OF_PAGE = 2000
_POINTS_OF_BOX = 6  # from here on a path may be several

_Point = tuple[float, float]
_Matrix = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight line, in the page's coordinates."""

    start: _Point
    end: _Point
    thickness: float

    def swap(self) -> "Stroke":
        return Stroke(self.start[::-1], self.end[::-1], self.thickness)


def list_strokes(page: pypdfium2.PdfPage) -> list[Stroke]:
    """The first thousand of them."""
    return _StrokeList(page).list_strokes()


class _StrokeList:
    """The straight lines that a page draws. pdfium writes its answers into the same memory for each path."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self._points = _MAX_POINTS_OF_PAGE
        self._edges = tuple(ctypes.c_float() for _ in range(4))  # left, bottom, right and top
        self._edges_out = tuple(map(ctypes.byref, self._edges))
        self._found: list[Stroke] = []

    def list_strokes(self) -> list[Stroke]:
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
            elif kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                self._add_thin(drawn, within)
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
                count = min(pdfium.FPDFFormObj_CountObjects(drawn), _MAX_OBJECTS)
                inner = (pdfium.FPDFFormObj_GetObject(drawn, number) for number in range(count))
                self._add_all(inner, _multiply(_get_matrix(drawn), within), depth - 1)

    def _add_thin(self, drawn: Any, within: _Matrix | None) -> bool:
        """Whether nothing more is to be added: it is a line, a picture of one, or too small for one."""
        if not pdfium.FPDFPageObj_GetBounds(drawn, *self._edges_out):
            return True
        left, bottom, right, top = (edge.value for edge in self._edges)
        thin, long = sorted((right - left, top - bottom))
        if long < SHORTEST_STROKE:
            return True
        if thin > _THICKEST or thin * _FLAT > long:
            return False
        x, y = (left + right) / 2, (bottom + top) / 2
        is_level = right - left > top - bottom
        self._add_stroke((left, y) if is_level else (x, bottom), (right, y) if is_level else (x, top), thin, within)
        return True

    def _add_path(self, drawn: Any, within: _Matrix | None) -> None:
        if self._add_thin(drawn, within):
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
            self._found.append(Stroke(start, end, thickness))


def _find_scribble(points: Sequence[_Point]) -> Stroke | None:
    """A line that goes up and down on its way, as a hand draws it."""
    if len(points) < _POINTS_OF_BOX or not all(math.isfinite(number) for point in points for number in point):
        return None
    (left, right), (bottom, top) = ((min(along), max(along)) for along in zip(*points, strict=True))
    if top - bottom <= _THICKEST and (top - bottom) * _FLAT <= right - left:
        return Stroke((left, (bottom + top) / 2), (right, (bottom + top) / 2), top - bottom)
    if right - left <= _THICKEST and (right - left) * _FLAT <= top - bottom:
        return Stroke(((left + right) / 2, bottom), ((left + right) / 2, top), right - left)
    steps = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    is_onward = all(x > 0 for x, _ in steps) or all(x < 0 for x, _ in steps)
    if top - bottom <= _HIGHEST_SCRIBBLE and is_onward and all(y * z < 0 for (_, y), (_, z) in pairwise(steps[1:-1])):
        return Stroke((left, (bottom + top) / 2), (right, (bottom + top) / 2), 0.0)
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
