"""Pending orders as lines of CSV, read as they come: no more of a file is held than its orders and a line."""

import codecs
import csv
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ingestion.domain.pending_order import ORDER_FIELDS

MAX_ROWS = 10_000
MAX_ERRORS = 100
MAX_LINE_CHARACTERS = 4_000

REQUIRED_COLUMNS = ("external_id", "direction", "quantity", "ordered_on")

T = TypeVar("T")


class LineError(NamedTuple):
    """`line` counts from 1, the header's; `column` None where it is of the line as a whole."""

    line: int
    column: str | None
    message: str

    def to_json(self) -> dict[str, Any]:
        """With `loc` and `msg`, as the mistakes of every other request are told."""
        place = [f"line {self.line}", *([] if self.column is None else [self.column])]
        return {"loc": ["body", *place], "msg": self.message, "line": self.line, "column": self.column}


class OrderCSVReader(Generic[T]):
    """`parse_row` makes an order of the values of a line, or a list of columns and what is wrong with them. After
    `MAX_ERRORS` lines are only counted."""

    def __init__(self, parse_row: Callable[[Mapping[str, str | None]], T | list[tuple[str | None, str]]]) -> None:
        self._parse_row = parse_row
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._rest = ""
        self._line = 0
        self._delimiter = ","
        self._header: list[str] | None = None
        self._lines_by_id: dict[str, int] = {}
        self.orders: list[T] = []
        self.errors: list[LineError] = []

    @property
    def is_beyond_limit(self) -> bool:
        """More is not to be read."""
        return len(self.errors) >= MAX_ERRORS or self._header == []

    def feed_bytes(self, chunk: bytes, *, is_last: bool = False) -> None:
        try:
            self._rest += self._decoder.decode(chunk, is_last)
        except UnicodeDecodeError:
            self._stop(LineError(self._line + 1, None, "this is no UTF-8: save the file as CSV UTF-8"))
            return
        *lines, self._rest = self._rest.split("\n")
        if is_last and self._rest:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            if self.is_beyond_limit:
                return
            self._read_line(line.removesuffix("\r"))
        if len(self._rest) > MAX_LINE_CHARACTERS:
            self._stop(LineError(self._line + 1, None, f"a line has {MAX_LINE_CHARACTERS} characters at most"))
        elif is_last and self._header is None and not self.errors:
            self._stop(LineError(1, None, "a header with the names of the columns is needed"))

    def _stop(self, error: LineError) -> None:
        self._rest, self._header = "", []
        self.errors.append(error)

    def _read_line(self, line: str) -> None:
        self._line += 1
        if len(line) > MAX_LINE_CHARACTERS:
            self._stop(LineError(self._line, None, f"a line has {MAX_LINE_CHARACTERS} characters at most"))
        elif self._header is None:
            self._read_header(line)
        elif line.strip():
            self._read_order(line, self._header)

    def _read_header(self, line: str) -> None:
        self._delimiter = ";" if line.count(";") > line.count(",") else ","
        names = [name.strip().lower() for name in self._split(line) or []]
        self._header = names
        mistakes = [LineError(1, name[:50], "there is no such column") for name in names if name not in ORDER_FIELDS]
        mistakes += [LineError(1, name, "the column is missing") for name in REQUIRED_COLUMNS if name not in names]
        mistakes += [LineError(1, name, "the column is there twice") for name in ORDER_FIELDS if names.count(name) > 1]
        for mistake in mistakes[:MAX_ERRORS]:
            self._stop(mistake)

    def _read_order(self, line: str, header: list[str]) -> None:
        values = self._split(line)
        if values is None:
            self.errors.append(LineError(self._line, None, "a quotation mark is not closed, or not at a comma"))
            return
        if len(values) != len(header):
            message = f"it has {len(values)} values, and the header {len(header)}"
            self.errors.append(LineError(self._line, None, message))
            return
        if len(self._lines_by_id) >= MAX_ROWS:
            self._stop(LineError(self._line, None, f"a file has {MAX_ROWS} orders at most"))
            return
        row = {name: value.strip() or None for name, value in zip(header, values, strict=True)}
        self.errors += self._check_row(row)

    def _check_row(self, row: Mapping[str, str | None]) -> Iterator[LineError]:
        parsed = self._parse_row(row)
        if isinstance(parsed, list):
            yield from (LineError(self._line, column, message) for column, message in parsed)
            return
        external_id = str(row["external_id"])
        if external_id in self._lines_by_id:
            yield LineError(self._line, "external_id", f"line {self._lines_by_id[external_id]} has the same")
            return
        self._lines_by_id[external_id] = self._line
        self.orders.append(parsed)

    def _split(self, line: str) -> list[str] | None:
        try:
            return next(csv.reader([line], delimiter=self._delimiter, strict=True), [])
        except csv.Error:
            return None
