"""From pieces of text with their corners on a picture to lines, as a text layer gives them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.domain.transcript import TextCell, TextLine

Quad = tuple[tuple[float, float], ...]
"""The corners of a piece of text: upper left, upper right, lower right, lower left."""

_SAME_LINE = 0.5  # of the lower of two pieces: so far apart their middles may stand
_CAPITAL_I = re.compile(r"(?<=[a-z]\.)I(?=\W|$)")
_GLUED_RATE = re.compile(r"(?<=[^\W\d_]{2})(?=\d{1,2}(?:[.,]\d{1,2})?\s?%)")
_LEVEL_RATIO = 2.0  # width to height, from which on a piece tells how askew the page is


@dataclass(frozen=True, slots=True)
class ReadText:
    """A piece of text, and how certain each of its words is."""

    quad: Quad
    text: str
    word_confidences: tuple[float, ...]


def build_read_text(quad: Quad, letters: Sequence[tuple[str, float]]) -> ReadText:
    """A word is as certain as its letters are on the average."""
    letters = _part_rates(_mend_letters(letters))
    words: list[list[float]] = [[]]
    for letter, certainty in letters:
        if letter.isspace():
            words.append([])
        else:
            words[-1].append(certainty)
    certainties = [sum(word) / len(word) for word in words if word]
    text = " ".join("".join(letter for letter, _ in letters).split())
    return ReadText(quad, text, tuple(round(certainty, 3) for certainty in certainties))


def _mend_letters(letters: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """`S.r.I.` is `S.r.l.`: where small letters stand a capital I is none."""
    text = "".join(letter for letter, _ in letters)
    wrong = {match.start() for match in _CAPITAL_I.finditer(text)}
    return [("l", sure) if place in wrong else (letter, sure) for place, (letter, sure) in enumerate(letters)]


def _part_rates(letters: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """`VAT20 %` as two words: the narrow blank before a rate is what is overlooked most."""
    starts = {match.start() for match in _GLUED_RATE.finditer("".join(letter for letter, _ in letters))}
    parted = []
    for place, letter in enumerate(letters):
        parted += [(" ", 1.0), letter] if place in starts else [letter]
    return parted


def build_text_lines(page: int, texts: Sequence[ReadText], points_per_pixel: float) -> list[TextLine]:
    """The lines of a page that was laid askew, in points from the upper left corner of its picture."""
    angle = estimate_slope(texts)
    pieces = sorted((_level(read, angle, points_per_pixel) for read in texts if read.text), key=lambda it: it.middle)
    lines: list[list[_Piece]] = []
    for piece in pieces:
        line = next((line for line in reversed(lines[-3:]) if _stands_in(piece, line)), None)
        if line is None:
            lines.append([piece])
        else:
            line.append(piece)
    return [_build_line(page, line) for line in lines]


@dataclass(frozen=True, slots=True)
class _Piece:
    left: float
    right: float
    middle: float
    height: float
    text: str
    word_confidences: tuple[float, ...]


def estimate_slope(texts: Sequence[ReadText]) -> float:
    """By how much the page leans: the median over its text, by length, in radians."""
    leans = []
    for read in texts:
        (x0, y0), (x1, y1), _, (x3, y3) = read.quad
        width, height = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
        if width > _LEVEL_RATIO * height:
            leans.append((math.atan2(y1 - y0, x1 - x0), width))
    half, passed = sum(width for _, width in leans) / 2, 0.0
    for angle, width in sorted(leans):
        passed += width
        if passed >= half:
            return angle
    return 0.0


def _level(read: ReadText, angle: float, points_per_pixel: float) -> _Piece:
    cosine, sine = math.cos(angle), math.sin(angle)
    corners = [
        ((x * cosine + y * sine) * points_per_pixel, (y * cosine - x * sine) * points_per_pixel) for x, y in read.quad
    ]
    xs, ys = zip(*corners, strict=True)
    (_, top), _, _, (_, bottom) = corners
    return _Piece(min(xs), max(xs), sum(ys) / 4, max(abs(bottom - top), 1.0), read.text, read.word_confidences)


def _stands_in(piece: _Piece, line: Sequence[_Piece]) -> bool:
    """Beside the piece of the line that is nearest to it: over the width of a curled page a line may rise."""
    nearest = min(line, key=lambda other: max(other.left - piece.right, piece.left - other.right))
    if nearest.left < piece.right and piece.left < nearest.right:  # above or below it
        overlap = min(nearest.right, piece.right) - max(nearest.left, piece.left)
        if overlap > 0.3 * min(nearest.right - nearest.left, piece.right - piece.left):
            return False
    return abs(nearest.middle - piece.middle) < _SAME_LINE * min(nearest.height, piece.height)


def _build_line(page: int, pieces: Sequence[_Piece]) -> TextLine:
    ordered = sorted(pieces, key=lambda piece: piece.left)
    height = sorted(piece.height for piece in pieces)[len(pieces) // 2]
    top = min(piece.middle for piece in pieces) - height / 2
    cells = tuple(
        TextCell(
            piece.text,
            round(piece.left, 1),
            round(piece.right, 1),
            min(piece.word_confidences, default=0.0),
            piece.word_confidences,
        )
        for piece in ordered
    )
    return TextLine(page, round(top, 1), round(height, 1), cells)
