"""Which letters of a PDF's page an eye sees: those without which the page would look another way.

A text layer also has what nobody sees: white on white, in the invisible mode, behind a picture, beside the page, in a
layer that is switched off, as small as a dot. Whoever sends a page could tell a machine one account and a person
another. Kinds of hiding are not listed here: the page is drawn with its letters and without them, and a letter whose
place looks the same is not seen.

What this cannot tell is a font whose letters have other shapes than their names say.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

# Before numpy is imported: a fork server must have one thread, and OpenBLAS would start one for each core.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.readers.letter_layers import (
    MAX_PIXELS,
    LetterLayers,
    PlacedLetter,
    TouchedTexts,
    choose_layers,
    count_numbers,
    find_touched,
    is_again,
    measure_shares,
    sum_areas,
)
from ingestion.readers.letter_room import find_crowded
from ingestion.readers.text_objects import get_address, list_addresses, list_text_objects, without_texts

_Pixels = Any  # numpy's arrays

_SCALE = 2.0  # pixels a point
_MAX_SIDE = 2400  # pixels
# Of 255: fainter letters are not seen. Two drawings of one word differ by up to 64 at its edges from one of it.
_MIN_CONTRAST, _MIN_CONTRAST_AMONG_OTHERS = 24, 80
# Pale letters on white paper an eye finds that looks for them; on a scan or a coloured box they are fainter for all.
_MIN_CONTRAST_ON_WHITE, _WHITE = 40, 240
_MIN_INK = 0.05  # of a letter's box
_MAX_CHANGED = 0.5  # of the paper around a letter's ink, by what has no letter: a shadow changes less
_MARGIN = 1  # pixels: a thin letter of another font than the one that is named lies beside its box
_MIN_HEIGHT = 2.5  # points, of a page of A4 (small print has 4); in proportion on a smaller one
_MIN_LOW = 1.5  # of letters that are half as high, in print of the same size; no account has any
_ALMOST = 0.9  # of the least height, beside a letter that has it
_LOW = frozenset("aceimnorsuvwxzıµαºª")
_USUAL_HEIGHT = 842.0
_MANY = 500  # text objects


@dataclass(frozen=True, slots=True)
class Visibility:
    """For each letter whether it is seen, and whether an eye may see it though this could not be told: there is ink,
    and it may be another one's, or is hardly any."""

    is_seen: list[bool]
    is_doubtful: list[bool]


def find_visible(page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter]) -> Visibility:
    """A mark (a comma, a hyphen), or a row of them, is seen with the letter beside it."""
    nothing = Visibility([False] * len(letters), [False] * len(letters))
    if not letters:
        return nothing
    places = place_on_picture(page, letters)
    if sum_areas(places) > MAX_PIXELS:
        return nothing  # on each other: nobody can say what is seen
    objects = list_text_objects(page)
    touched = find_touched(letters, places)
    layers = choose_layers(letters, places, touched)
    seen, traced = _compare_drawings(page, objects, letters, places, layers, touched)
    is_large = _is_large_enough(page, letters)
    seen &= is_large & ~find_crowded([letter.box for letter in letters])
    is_seen = [
        bool(seen[index]) and letter.source not in layers.unclear and letter.source in objects
        for index, letter in enumerate(letters)
    ]
    unclear = np.array([letter.source in layers.unclear for letter in letters])
    is_stacked = np.array([letter.source in layers.stacked for letter in letters])
    followed = _follow_neighbours(letters, is_seen, (traced & ~is_stacked).tolist())
    may_be_seen = (traced | unclear) & is_large
    is_doubtful = [
        bool(may) and not seen and letter.text.isalnum()
        for letter, may, seen in zip(letters, may_be_seen, followed, strict=True)
    ]
    return Visibility(followed, is_doubtful)


def _compare_drawings(
    page: pypdfium2.PdfPage,
    objects: Mapping[int, Any],
    letters: Sequence[PlacedLetter],
    places: _Pixels,
    layers: LetterLayers,
    touched: TouchedTexts,
) -> tuple[_Pixels, _Pixels]:
    """For each letter whether its place looks another way once its layer is not drawn, and whether any of it does."""
    whole = _draw(page)
    of_letter = np.array([layers.of_source.get(letter.source, 0) for letter in letters])
    is_stacked = np.array([letter.source in layers.stacked for letter in letters])
    sources = {letter.source for letter in letters}
    # What has no letter that is read: blanks, the second drawing of a bold word. It goes with each layer.
    unread = [drawn for source, drawn in objects.items() if source not in sources]
    with without_texts(unread):
        bare = _draw(page) if _may_cover(page, unread, letters) else whole
    seen, traced = (np.zeros(len(letters), dtype=bool) for _ in range(2))
    for layer in sorted(set(of_letter.tolist())):
        chosen = np.flatnonzero(of_letter == layer)
        hidden = [
            drawn for source, drawn in objects.items() if source in sources and layers.of_source.get(source, 0) == layer
        ]
        with without_texts([*unread, *hidden]):
            rest = _draw(page)
        change = np.maximum(whole, rest) - np.minimum(whole, rest)
        change[_find_shared(letters, places, chosen, touched, whole.shape)] = 0
        seen[chosen] = np.array(measure_shares(change >= _MIN_CONTRAST_ON_WHITE, places[chosen])) >= _MIN_INK
        seen[chosen] &= ~is_stacked[chosen]  # they are looked at one by one
        for index in chosen[~seen[chosen]].tolist():
            left, top, right, bottom = places[index].tolist()
            region = np.s_[top:bottom, left:right]
            ink = _find_ink(change[region], rest[region], is_stacked[index])
            seen[index] = np.count_nonzero(ink) >= _MIN_INK * max(ink.size, 1)
            traced[index] = ink.any()
        if not np.array_equal(whole, bare):
            seen[chosen] &= ~_find_covered(whole, bare, rest, places[chosen])
    return seen, traced


def _find_ink(change: _Pixels, rest: _Pixels, is_stacked: bool) -> _Pixels:
    if is_stacked:
        return change >= _MIN_CONTRAST_AMONG_OTHERS
    return (change >= _MIN_CONTRAST_ON_WHITE) | ((change >= _MIN_CONTRAST) & (rest < _WHITE))


def _may_cover(page: pypdfium2.PdfPage, objects: Sequence[Any], letters: Sequence[PlacedLetter]) -> bool:
    """Whether a text object may stand on a letter: most blanks stand between them."""
    if not objects:
        return False
    # What is part of a form has places of its own.
    if len(objects) > _MANY or not {get_address(drawn) for drawn in objects} <= list_addresses(page):
        return True
    left, bottom, right, top = np.array([letter.box for letter in letters]).T
    for drawn in objects:
        edges = [ctypes.c_float() for _ in range(4)]
        pdfium.FPDFPageObj_GetBounds(drawn, *map(ctypes.byref, edges))
        first, low, last, high = (edge.value for edge in edges)
        if np.any((left < last) & (right > first) & (bottom < high) & (top > low)):
            return True
    return False


def _differ(one: _Pixels, other: _Pixels, contrast: int) -> _Pixels:
    return np.maximum(one, other) - np.minimum(one, other) >= contrast


def _find_shared(
    letters: Sequence[PlacedLetter],
    places: _Pixels,
    chosen: _Pixels,
    touched: TouchedTexts,
    shape: tuple[int, ...],
) -> _Pixels:
    """Where letters of several text objects stand: there the ink may be the other one's."""
    owners, shared = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=bool)
    if touched.are_apart and touched.places is not None:
        part = touched.places[: shape[0], : shape[1]]
        shared[: part.shape[0], : part.shape[1]] = part
        return shared
    for index in chosen.tolist():
        if letters[index].source not in touched.sources:
            continue
        left, top, right, bottom = places[index].tolist()
        region = owners[top:bottom, left:right]
        if region.any():
            numbers = count_numbers(region[region > 0])
            others = [number for number in numbers if _is_of_another(letters[index], letters[number - 1])]
            if others:
                # A single number, as beside a neighbour, is found faster by itself.
                is_other = region == others[0] if len(others) == 1 else np.isin(region, others)
                shared[top:bottom, left:right] |= is_other
        region[region == 0] = index + 1
    return shared


def _is_of_another(letter: PlacedLetter, other: PlacedLetter) -> bool:
    return letter.source != other.source and not is_again(letter, other)


def _find_covered(whole: _Pixels, bare: _Pixels, rest: _Pixels, places: _Pixels) -> _Pixels:
    """Whether what has no letter covers a letter: the paper around its ink looks another way as well. `bare` is the
    page without that, `rest` without the letters of this layer too."""
    near_ink = _differ(bare, rest, _MIN_CONTRAST)
    for axis in (0, 1):
        near_ink = near_ink | np.roll(near_ink, 1, axis) | np.roll(near_ink, -1, axis)
    paper = np.array(measure_shares(~near_ink, places))
    changed = np.array(measure_shares(_differ(whole, bare, _MIN_CONTRAST) & ~near_ink, places))
    covered: _Pixels = changed > paper * _MAX_CHANGED
    return covered


def _is_large_enough(page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter]) -> _Pixels:
    """A mark is as small as it likes, and an `a` is half as high as an `L` of one size. A `1` is a little lower than
    the `0` beside it, and no number has the one without the other."""
    scale = min(max(*page.get_size(), 1.0) / _USUAL_HEIGHT, 1.0)
    sizes = [max(box[2] - box[0], box[3] - box[1]) for box in (letter.box for letter in letters)]
    is_high = [letter.text.isalnum() and letter.text not in _LOW for letter in letters]
    shares = [size / ((_MIN_HEIGHT if high else _MIN_LOW) * scale) for size, high in zip(sizes, is_high, strict=True)]
    is_large = [share >= 1 for share in shares]
    if not all(is_large):
        count = len(letters)
        for step, order in ((-1, range(1, count)), (1, range(count - 2, -1, -1))):
            for index in order:
                if _ALMOST <= shares[index] < 1 and is_high[index] and is_high[index + step]:
                    is_large[index] |= is_large[index + step]
    return np.array(is_large)


def _follow_neighbours(
    letters: Sequence[PlacedLetter], is_seen: Sequence[bool], is_traced: Sequence[bool]
) -> list[bool]:
    """A point that was too thin to be drawn, or lay on a line, would make another amount if it were left out; so would
    one thin letter within a word, of which there is some ink that is none of another letter: of a white digit between
    others there is none; and a row of points that lead to an amount ties it to its label."""
    followed = list(is_seen)
    for start, end in _find_runs_of_marks(letters):
        ends = [is_seen[near] for near in (start - 1, end) if 0 <= near < len(letters)]
        if any(ends):
            followed[start:end] = [True] * (end - start)
    for index, letter in enumerate(letters):
        if is_traced[index] and letter.text.isalnum() and 0 < index < len(letters) - 1:
            followed[index] |= is_seen[index - 1] and is_seen[index + 1]
    return followed


def _find_runs_of_marks(letters: Sequence[PlacedLetter]) -> Iterator[tuple[int, int]]:
    """The first of each run, and behind its last."""
    start = 0
    for is_mark, run in groupby(letters, key=lambda letter: not letter.text.isalnum()):
        end = start + sum(1 for _ in run)
        if is_mark:
            yield start, end
        start = end


def _draw(page: pypdfium2.PdfPage) -> _Pixels:
    bitmap = page.render(scale=_choose_scale(page), grayscale=True, may_draw_forms=False)
    try:
        pixels = np.array(bitmap.to_numpy())
    finally:
        bitmap.close()
    return pixels.reshape(pixels.shape[:2])


def draw_without_text(page: pypdfium2.PdfPage) -> _Pixels:
    """The page in grey, on which letters have the places of `place_on_picture`."""
    with without_texts(list_text_objects(page).values()):
        return _draw(page)


def _choose_scale(page: pypdfium2.PdfPage) -> float:
    return min(_SCALE, _MAX_SIDE / float(max(*page.get_size(), 1.0)))


def place_on_picture(page: pypdfium2.PdfPage, letters: Sequence[PlacedLetter]) -> _Pixels:
    """A row for each letter: first column, first row, last column and last row, without the last; as the page is shown,
    whichever way it is turned and cut."""
    edge = 1_000_000  # places are whole numbers there: with so many of them nothing is lost
    width, height = page.get_size()
    unit = max(width, height, 1.0)

    def transform(x: float, y: float) -> tuple[float, float]:
        across, down = ctypes.c_int(), ctypes.c_int()
        size = (int(width / unit * edge), int(height / unit * edge))
        pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, ctypes.byref(across), ctypes.byref(down))
        return across.value * unit / edge, down.value * unit / edge

    (x0, y0), (x1, y1), (x2, y2) = transform(0, 0), transform(100, 0), transform(0, 100)
    boxes = np.array([letter.box for letter in letters], dtype=float)
    left, bottom, right, top = boxes.T
    scale = _choose_scale(page)
    across = [(x0 + (x1 - x0) * x / 100 + (x2 - x0) * y / 100) * scale for x, y in ((left, bottom), (right, top))]
    down = [(y0 + (y1 - y0) * x / 100 + (y2 - y0) * y / 100) * scale for x, y in ((left, bottom), (right, top))]
    limit = float(_MAX_SIDE * 2)
    edges = (
        np.floor(np.minimum(*across)) - _MARGIN,
        np.floor(np.minimum(*down)),
        np.ceil(np.maximum(*across)) + _MARGIN,
        np.ceil(np.maximum(*down)),
    )
    columns, rows = round(width * scale), round(height * scale)
    first = np.nan_to_num(np.clip(np.stack(edges, axis=1), 0.0, limit)).astype(int)
    return np.minimum(first, [columns, rows, columns, rows])
