"""The text layer of a PDF, in the lines that an eye sees: pdfium's own order is that of the program that wrote it.

Every character comes with its box; what stands at one height is a line, and a gap wider than a letter or two parts its
cells. Invisible differences (a blank as a character or as a gap, a table drawn column by column) are gone after that.
"""

import ctypes
import math
from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TextCell, TextLine
from mailroom_common.parser import UnreadableFile

# A document longer than this is no invoice; what comes after the first pages would only cost time.
MAX_PAGES = 30
_MAX_CHARACTERS_A_PAGE = 40_000

# In heights of the letters beside it: less is a letter's own distance, more than the second parts two cells.
_BLANK = 0.12
_GAP = 0.9
_NEAR = 0.3  # of the height: how far two letters of one line may stand apart
_LEVEL = 0.1  # sine of the angle up to which a letter counts as upright


@dataclass(frozen=True, slots=True, order=True)
class _Letter:
    left: float
    right: float
    top: float
    bottom: float
    text: str


@dataclass(slots=True)
class _Row:
    top: float
    bottom: float
    letters: list[_Letter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PDFText:
    """`lines` are those of the first `MAX_PAGES` pages."""

    pages: int
    lines: list[TextLine]
    has_attachments: bool


def read_pdf_text(file: BinaryIO) -> PDFText:
    """
    Raises:
        UnreadableFile: `encrypted` when a password is needed, `unreadable` when the file is damaged.
    """
    try:
        document = pypdfium2.PdfDocument(file)
        pages = len(document)
        lines = [line for number in range(min(pages, MAX_PAGES)) for line in _read_page(document, number)]
        has_attachments = document.count_attachments() > 0
        document.close()
    except pypdfium2.PdfiumError as error:
        needs_password = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise UnreadableFile(ReviewReason.ENCRYPTED if needs_password else ReviewReason.UNREADABLE) from error
    if pages == 0:
        raise UnreadableFile(ReviewReason.UNREADABLE)
    return PDFText(pages, lines, has_attachments)


def _read_page(document: pypdfium2.PdfDocument, number: int) -> list[TextLine]:
    page = document[number]
    try:
        return _build_lines(number, _read_letters(page))
    finally:
        page.close()


def _read_letters(page: pypdfium2.PdfPage) -> Iterator[_Letter]:
    text = page.get_textpage()
    box = pdfium.FS_RECTF()
    height = page.get_height()
    for index in range(min(text.count_chars(), _MAX_CHARACTERS_A_PAGE)):
        character = chr(pdfium.FPDFText_GetUnicode(text, index))
        # Blanks come back as gaps; a hyphen that pdfium adds at a line's end is none of the writer's.
        if character.isspace() or not character.isprintable() or pdfium.FPDFText_IsHyphen(text, index) == 1:
            continue
        # Stamps and margins that run up or down the page are not lines of it.
        if abs(math.sin(pdfium.FPDFText_GetCharAngle(text, index))) > _LEVEL:
            continue
        # The loose box is as wide as the letter advances and as high as its font: a comma stands in its line, and
        # narrow letters have no gaps beside them.
        if pdfium.FPDFText_GetLooseCharBox(text, index, ctypes.byref(box)):
            yield _Letter(box.left, box.right, height - box.top, height - box.bottom, character)
    text.close()


def _build_lines(page: int, letters: Iterator[_Letter]) -> list[TextLine]:
    rows: list[_Row] = []
    for letter in letters:
        insort(_find_row(letter, rows).letters, letter)
    found = []
    for row in sorted(rows, key=lambda row: row.top):
        size = _compute_line_height(row)
        found.append(TextLine(page, row.top, size, tuple(_split_cells(row.letters))))
    return found


def _find_row(letter: _Letter, rows: list[_Row]) -> _Row:
    """The row of the letter's height on the page; letters come in runs, so the last rows are the likely ones.

    A row keeps the height of its first letter: if it grew, a headline would swallow the two small lines beside it.
    """
    height = letter.bottom - letter.top
    for row in reversed(rows):
        near = _NEAR * min(height, row.bottom - row.top)
        if (
            abs(letter.bottom - row.bottom) <= near
            or abs(letter.top + letter.bottom - row.top - row.bottom) / 2 <= near
        ):
            return row
    rows.append(_Row(letter.top, letter.bottom))
    return rows[-1]


def _compute_line_height(row: _Row) -> float:
    heights = sorted(letter.bottom - letter.top for letter in row.letters)
    return max(heights[len(heights) * 3 // 4], 1.0)


def _split_cells(letters: list[_Letter]) -> Iterator[TextCell]:
    text, start, end = letters[0].text, letters[0].left, letters[0].right
    for before, letter in pairwise(letters):
        # By the smaller of the two: a headline beside small print has gaps of its own.
        gap = (letter.left - end) / max(min(letter.bottom - letter.top, before.bottom - before.top), 1.0)
        if gap > _GAP:
            yield TextCell(text, start, end)
            text, start = letter.text, letter.left
        else:
            text += f" {letter.text}" if gap > _BLANK else letter.text
        end = max(end, letter.right)
    yield TextCell(text, start, end)
