"""What a page says and where: the text of a document in the lines that an eye sees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Cell:
    """Text without a wide gap in it: a word group, a table's cell. Left and right edge in points."""

    text: str
    left: float
    right: float


@dataclass(frozen=True)
class Line:
    """Cells of one height, from left to right. `top` counts points downwards from the top of its page."""

    page: int
    top: float
    height: float
    cells: tuple[Cell, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)


@dataclass(frozen=True)
class Transcript:
    """`e_invoice` holds what a reader of embedded XML has found, in the words of `readers/einvoice.py`."""

    content_type: str
    pages: int
    lines: tuple[Line, ...] = ()
    e_invoice: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @classmethod
    def of_text(cls, rows: Iterable[str]) -> Self:
        """A transcript of plain rows, two blanks or more between cells: for text that has no page."""
        lines = []
        for number, row in enumerate(rows):
            cells, at = [], 0
            for part in row.split("  "):
                if stripped := part.strip():
                    start = row.index(stripped, at)
                    cells.append(Cell(stripped, start * 5.0, (start + len(stripped)) * 5.0))
                    at = start + len(stripped)
            if cells:
                lines.append(Line(0, number * 12.0, 10.0, tuple(cells)))
        return cls("text/plain", 1, tuple(lines))

    def to_json(self) -> dict[str, Any]:
        return {
            "content_type": self.content_type,
            "pages": self.pages,
            "lines": [
                [line.page, line.top, line.height, [[cell.text, cell.left, cell.right] for cell in line.cells]]
                for line in self.lines
            ],
            "e_invoice": self.e_invoice,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        lines = tuple(
            Line(page, top, height, tuple(Cell(text, left, right) for text, left, right in cells))
            for page, top, height, cells in value["lines"]
        )
        return cls(value["content_type"], value["pages"], lines, value["e_invoice"], tuple(value["notes"]))
