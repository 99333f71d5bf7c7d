"""What a document's bytes are, and its transcript: the text of its pages in the lines that an eye sees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from ingestion.domain.page_marks import NO_MARKS, PageMarks
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.reasons import ReviewReason

PDF = "application/pdf"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"

EXTENSIONS = {PDF: "pdf", PNG: "png", JPEG: "jpg", TIFF: "tiff"}

# What sync-engine could not open whole: a person has to.
CONTAINER_EXTENSIONS = {
    "application/pkcs7-mime": "p7m",
    "application/vnd.ms-outlook": "msg",
    "application/vnd.ms-tnef": "dat",
    "application/zip": "zip",
    "message/rfc822": "eml",
}

_MAGIC = ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"II*\x00", TIFF), (b"MM\x00*", TIFF))
_WRAPPERS = (b"PK\x03\x04", b"\x78\x9f\x3e\x22")  # zip, TNEF
HEAD_BYTES = 1024


def detect_content_type(head: bytes) -> str | None:
    """The type of a document by its first `HEAD_BYTES`, since names and declared types cannot be trusted.

    None for what Mailroom does not read.
    """
    for magic, content_type in _MAGIC:
        if head.startswith(magic):
            return content_type
    # PDF viewers accept a file that begins within the first kilobyte; so does an archive that merely holds one.
    return PDF if b"%PDF-" in head[:HEAD_BYTES] and not head.startswith(_WRAPPERS) else None


@dataclass(frozen=True, slots=True)
class TextCell:
    """Text without a wide gap in it: a word group, a table's cell. Left and right edge in points.

    `confidence` is that of its least certain word, where it was read off a picture, and `word_confidences` has that of
    each; what a text layer says is certain, and 0 what it says and nobody sees.
    """

    text: str
    left: float
    right: float
    confidence: float = 1.0
    word_confidences: tuple[float, ...] = ()

    def list_words(self) -> list[tuple[str, float]]:
        """Its words, each as certain as it was read."""
        words = self.text.split()
        each = self.word_confidences if len(self.word_confidences) == len(words) else [self.confidence] * len(words)
        return list(zip(words, each, strict=True))


@dataclass(frozen=True)
class TextLine:
    """Cells of one height, from left to right. `top` counts points downwards from the top of its page."""

    page: int
    top: float
    height: float
    cells: tuple[TextCell, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def is_visible(self) -> bool:
        return any(cell.confidence > 0 for cell in self.cells)

    def hide(self) -> Self:
        return replace(self, cells=tuple(replace(cell, confidence=0.0) for cell in self.cells))


@dataclass(frozen=True)
class Transcript:
    """`e_invoice` is what the embedded XML says, as `readers/einvoice.py` returns it.

    `unread` are reasons why the file may hold more than is here, the weightiest first. `pictured_pages` are the pages
    (from 0) that are a picture, or whose letters mean nothing, and were not read by OCR; `cut_pages` those of which OCR
    read a part. `orientations` say how pages that OCR read were turned. `part_starts` are the first
    pages of the PDFs and pictures in the PDF, which follow on its own pages; `has_unread_files` says that there are
    files in it that nothing reads, OCR neither. `marks` were made on its pages once they were written. `looked_over`
    has the text at the top of those pages of a long document that were not read, as the file has it.
    """

    content_type: str
    pages: int
    lines: tuple[TextLine, ...] = ()
    e_invoice: Mapping[str, Any] | None = None
    unread: tuple[ReviewReason, ...] = ()
    pictured_pages: tuple[int, ...] = ()
    part_starts: tuple[int, ...] = ()
    cut_pages: tuple[int, ...] = ()
    orientations: Mapping[int, PageOrientation] = field(default_factory=dict)
    has_unread_files: bool = False
    marks: PageMarks = NO_MARKS
    looked_over: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    def is_own_page(self, page: int) -> bool:
        """Whether a page is the document's own, and none of a file in it."""
        return not self.part_starts or page < self.part_starts[0]

    def drop_hidden_lines(self) -> Self:
        return replace(self, lines=tuple(line for line in self.lines if line.is_visible))

    @classmethod
    def from_rows(cls, rows: Iterable[str]) -> Self:
        """A transcript of plain rows, two blanks or more between cells: for text that has no page."""
        lines = []
        for number, row in enumerate(rows):
            cells, at = [], 0
            for part in row.split("  "):
                if stripped := part.strip():
                    start = row.index(stripped, at)
                    cells.append(TextCell(stripped, start * 5.0, (start + len(stripped)) * 5.0))
                    at = start + len(stripped)
            if cells:
                lines.append(TextLine(0, number * 12.0, 10.0, tuple(cells)))
        return cls("text/plain", 1, tuple(lines))

    def to_json(self) -> dict[str, Any]:
        return {
            "content_type": self.content_type,
            "pages": self.pages,
            "lines": [
                [line.page, line.top, line.height, [_list_cell_values(cell) for cell in line.cells]]
                for line in self.lines
            ],
            "e_invoice": self.e_invoice,
            "unread": [reason.value for reason in self.unread],
            "pictured_pages": list(self.pictured_pages),
            "part_starts": list(self.part_starts),
            "cut_pages": list(self.cut_pages),
            "orientations": [[page, *orientation.to_list()] for page, orientation in self.orientations.items()],
            "has_unread_files": self.has_unread_files,
            "marks": self.marks.to_json(),
            "looked_over": [[page, text] for page, text in self.looked_over.items()],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        lines = tuple(
            TextLine(page, top, height, tuple(_build_cell(*values) for values in cells))
            for page, top, height, cells in value["lines"]
        )
        unread = tuple(ReviewReason(reason) for reason in value["unread"])
        return cls(
            value["content_type"],
            value["pages"],
            lines,
            value["e_invoice"],
            unread,
            pictured_pages=tuple(value["pictured_pages"]),
            part_starts=tuple(value["part_starts"]),
            cut_pages=tuple(value["cut_pages"]),
            orientations={page: PageOrientation.from_list(orientation) for page, *orientation in value["orientations"]},
            has_unread_files=value["has_unread_files"],
            marks=PageMarks.from_json(value["marks"]),
            looked_over=dict(value["looked_over"]),
        )


def _list_cell_values(cell: TextCell) -> list[Any]:
    values: list[Any] = [cell.text, cell.left, cell.right]
    return values if cell.confidence == 1.0 else [*values, cell.confidence, list(cell.word_confidences)]


def _build_cell(
    text: str, left: float, right: float, confidence: float = 1.0, word_confidences: Iterable[float] = ()
) -> TextCell:
    return TextCell(text, left, right, confidence, tuple(word_confidences))
