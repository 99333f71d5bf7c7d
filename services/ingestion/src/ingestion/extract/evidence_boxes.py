"""The places on the pages that have the values which were read: what a person looks at to confirm them.

The entry points that the parser process is asked for, around those of the rules: values and pages are untrusted, and
so is how long it takes to hold one against the other.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any, BinaryIO

import orjson

from ingestion.domain.evidence import MAX_BOXES, EvidenceBox
from ingestion.domain.invoice import PAGE_TOTALS
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract import rule_based, values
from ingestion.extract.layout_rules import cut_lines
from ingestion.extract.trades import note
from mailroom_common.parser import JSON

_MAX_LINES = 1500
_MAX_BOXES_OF_FIELD = 3
_MAX_TRADES = 20
# Words that stand everywhere, and flags that stand nowhere.
_WITHOUT_PLACE = frozenset({"currency", "foreign_currency", "line_amounts", "direction", "is_cancellation", "lines"})
# Numbers that are names: `2026` in an amount is not the invoice number 2026.
_NAMES = frozenset({"invoice_number", "vat_id", "iban", "isin", "wkn", "ticker", "reference", "account"})
_SHORT = 6  # letters: less is found by chance within other words
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def extract_invoice(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """As `rule_based.extract_invoice`, with `boxes`."""
    return _add_boxes(rule_based.extract_invoice, file, arguments)


def extract_trades(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """As `note.extract_trades`, with `boxes`."""
    return _add_boxes(note.extract_trades, file, arguments)


def _add_boxes(
    extract: Callable[[BinaryIO, Mapping[str, Any]], JSON], file: BinaryIO, arguments: Mapping[str, Any]
) -> JSON:
    answer: Any = extract(file, arguments)
    file.seek(0)
    transcript = Transcript.from_json(orjson.loads(file.read()))
    read = answer["extraction"]
    shown = {**read, **read.get(PAGE_TOTALS, {})}
    boxes = [_show_box(box, transcript) for box in find_boxes(shown, transcript.lines)]
    return {**answer, "boxes": [box.to_list() for box in boxes]}


def _show_box(box: EvidenceBox, transcript: Transcript) -> EvidenceBox:
    """Where it stands on the page as it is shown: a picture may have been turned to be read."""
    orientation = transcript.orientations.get(box.page)
    if orientation is None:
        return box
    left, top, right, bottom = orientation.place_box(box.x, box.y, box.x + box.width, box.y + box.height)
    return replace(box, x=left, y=top, width=right - left, height=bottom - top)


def find_boxes(extraction: Mapping[str, Any], lines: Sequence[TextLine]) -> list[EvidenceBox]:
    """For each field that has a value the first places that have it: a cell, or a line of several cells."""
    page = [_PrintedLine(line) for line in cut_lines(lines[:_MAX_LINES])]
    found: list[EvidenceBox] = []
    for name, value in _list_fields(extraction):
        found += list(_find_places(name, value, page))
        if len(found) >= MAX_BOXES:
            break
    return found[:MAX_BOXES]


def _list_fields(extraction: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for number, trade in enumerate(extraction.get("trades", [])[:_MAX_TRADES]):
        yield from ((f"trades[{number}].{name}", value) for name, value in _list_fields(trade))
    for name, value in extraction.items():
        if isinstance(value, str) and value and name not in _WITHOUT_PLACE:
            yield name, value


class _PrintedLine:
    """A line with what its cells say, each worked out once, and only where it is asked for."""

    def __init__(self, line: TextLine) -> None:
        self.line = line

    @cached_property
    def amounts(self) -> list[set[Decimal]]:
        return [set(values.find_amounts(cell.text)) for cell in self.line.cells]

    @cached_property
    def dates(self) -> list[set[date]]:
        return [values.list_possible_dates(cell.text) for cell in self.line.cells]

    @cached_property
    def letters(self) -> list[str]:
        return [_strip_punctuation(cell.text) for cell in self.line.cells]

    @cached_property
    def words(self) -> list[set[str]]:
        return [{_strip_punctuation(word) for word in cell.text.split()} - {""} for cell in self.line.cells]

    def find_cells(self, has_value: Callable[["_PrintedLine", int], bool]) -> Iterator[TextCell]:
        return (cell for number, cell in enumerate(self.line.cells) if has_value(self, number))


def _find_places(name: str, value: str, page: Sequence[_PrintedLine]) -> Iterator[EvidenceBox]:
    has_value = _choose_test(name.rpartition(".")[2], value)
    count = 0
    for printed in page:
        cells = list(printed.find_cells(has_value)) or _find_over_cells(name, value, printed)
        for cell in cells:
            yield _build_box(name, printed.line, cell)
            count += 1
            if count == _MAX_BOXES_OF_FIELD:
                return


def _choose_test(name: str, value: str) -> Callable[[_PrintedLine, int], bool]:
    if name not in _NAMES:
        if _ISO_DATE.fullmatch(value):
            day = date.fromisoformat(value)
            return lambda printed, number: day in printed.dates[number]
        with suppress(InvalidOperation):
            amount = Decimal(value)
            # Zero is seldom printed, and stands in many numbers.
            return lambda printed, number: bool(amount) and amount in printed.amounts[number]
    letters = _strip_punctuation(value)
    if len(letters) < _SHORT:
        return lambda printed, number: letters in printed.words[number]
    return lambda printed, number: letters in printed.letters[number]


def _find_over_cells(name: str, value: str, printed: _PrintedLine) -> list[TextCell]:
    """A name or an account that is written with wide gaps: the cells of the line that it runs over, as one."""
    letters = _strip_punctuation(value)
    is_text = name.rpartition(".")[2] in _NAMES or not value[:1].isdigit()
    if not is_text or len(letters) < 8 or letters not in "".join(printed.letters):
        return []
    end = "".join(printed.letters).index(letters) + len(letters)
    starts = [sum(map(len, printed.letters[:number])) for number in range(len(printed.letters) + 1)]
    covered = [
        cell
        for number, cell in enumerate(printed.line.cells)
        if starts[number] < end and starts[number + 1] > end - len(letters)
    ]
    return [TextCell(value, min(cell.left for cell in covered), max(cell.right for cell in covered))]


def _build_box(name: str, line: TextLine, cell: TextCell) -> EvidenceBox:
    return EvidenceBox(name, line.page, cell.left, line.top, cell.right - cell.left, line.height)


def _strip_punctuation(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in plain if sign.isalnum())
