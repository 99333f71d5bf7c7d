"""The sections of a statement, by their headings: of trades, bought or sold, and of what was no trade.

Rows of dividends, interest, fees, transfers and holdings multiply as trades do: `50 0.85 42.50` are shares, a dividend
for each, and what was paid. So do orders that were never executed, which have a side as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from ingestion.domain.trade import Direction
from ingestion.extract.trades import labels
from ingestion.extract.trades import section_words as words
from ingestion.extract.trades.labels import LABELS_OF_NUMBERS, Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.no_trade_words import LIKE_TRADE
from ingestion.extract.trades.row_side import SidePlace, books_something_else, find_row_side
from ingestion.extract.trades.security import ISIN

_MAX_HEADING = 60  # letters
_MAX_WORDS = 8  # of a heading
_MAX_ABOVE_ROWS = 3  # lines: a heading, the head of a table and one more
_MIN_HEADS = 2  # labels of numbers in the head of a table
_OF_FIELD = LABELS_OF_NUMBERS | {Label.TRADE_DATE, Label.SETTLEMENT_DATE, Label.REFERENCE}
_YEARS = range(1990, 2100)


class SectionKind(Enum):
    UNKNOWN = auto()  # nothing says what its rows are
    TRADES = auto()
    NO_TRADES = auto()
    ORDERS = auto()  # that were not executed, or not yet
    TAKEN_BACK = auto()  # trades that were cancelled, or some that were not done yet
    DOUBTED = auto()  # its heading speaks of income or costs, among other words


@dataclass(frozen=True, slots=True)
class Section:
    """`direction`: what its heading says of all its rows."""

    kind: SectionKind
    direction: Direction | None = None


SIDE_ALONE = re.compile(rf"(?:{labels.DIRECTION.pattern})\W{{0,2}}", re.IGNORECASE)
_UNKNOWN = Section(SectionKind.UNKNOWN)


def find_sections(lines: Sequence[ReadLine]) -> list[Section]:
    """The section of each line, in their order."""
    sections = []
    section = _UNKNOWN
    for position, line in enumerate(lines):
        if is_heading(line) and not is_table_head(line) and not _is_part_of_head(lines, position):
            section = _read_heading(lines, position, section)
        sections.append(section)
    return sections


def list_lines_without_trades(lines: Sequence[ReadLine]) -> frozenset[int]:
    """The `index` of each line that is none of a trade, by its section or by what it says that it books.

    In a section without trades, a line that has a word for a trade of its own is none of them.
    """
    return frozenset(
        line.index
        for line, section in zip(lines, find_sections(lines), strict=True)
        if section.kind is SectionKind.ORDERS
        or (section.kind is SectionKind.NO_TRADES and not _says_trade(line))
        or (_is_other_booking(line, section) and LIKE_TRADE.search(line.text) is None)
    )


def _is_other_booking(line: ReadLine, section: Section) -> bool:
    """Below a heading of purchases a row may begin with the name of a security: `Dividend Growth Fund`."""
    may_be_name = section.direction is not None and "\t" not in line.text
    return bool(line.dates) and not may_be_name and books_something_else(line)


def _says_trade(line: ReadLine) -> bool:
    return find_row_side(line).place >= SidePlace.BESIDE_VALUE or LIKE_TRADE.search(line.text) is not None


def _read_heading(lines: Sequence[ReadLine], position: int, section: Section) -> Section:
    """What the section of these lines is from here on."""
    line = lines[position]
    text = " ".join(line.masked.split())
    below = lines[position + 1 : position + 1 + _MAX_ABOVE_ROWS]
    has_head = any(map(is_table_head, below[:1]))
    if names_part(text):
        return _UNKNOWN if has_head and _names_trade(below[0]) and section.kind is SectionKind.NO_TRADES else section
    if words.ORDERS.fullmatch(text) is not None:
        return Section(SectionKind.ORDERS)
    if words.TAKEN_BACK.fullmatch(text) is not None:
        return Section(SectionKind.TAKEN_BACK)
    if words.WITHOUT_TRADES.fullmatch(text) is not None:
        return Section(SectionKind.NO_TRADES) if _stands_above_rows(lines, position) else _UNKNOWN
    if words.WITH_TRADES.fullmatch(text) is not None:
        return Section(SectionKind.TRADES, _find_side(text))
    if (side := SIDE_ALONE.fullmatch(text)) is not None and _stands_above_rows(lines, position):
        return Section(SectionKind.TRADES, Direction.BUY if side["buy"] else Direction.SELL)
    if words.NAMES_INCOME.search(text) is not None and _stands_above_rows(lines, position):
        return Section(SectionKind.DOUBTED)
    names_trades = words.NAMES_TRADES.search(text) is not None
    if names_trades and words.NOT_DONE.search(text) is not None:
        return section if section.kind is SectionKind.ORDERS else Section(SectionKind.TAKEN_BACK)
    if has_head or section.direction is not None:
        return _UNKNOWN
    is_without = section.kind in (SectionKind.ORDERS, SectionKind.NO_TRADES)
    return Section(SectionKind.DOUBTED) if is_without and names_trades else section


def _find_side(text: str) -> Direction | None:
    if words.PURCHASES.fullmatch(text) is not None:
        return Direction.BUY
    return Direction.SELL if words.SALES.fullmatch(text) is not None else None


def is_heading(line: ReadLine) -> bool:
    """A line of few words, and no numbers but that of the section and of the year; a date behind them is its period."""
    if len(line.text) > _MAX_HEADING or len(line.text.split()) > _MAX_WORDS:
        return False
    if any(number.is_money or number.value not in _YEARS for number in line.numbers if number.start > 0):
        return False
    return not line.dates or re.search(r"[^\W\d_]{3}", line.masked[: line.dates[0].start]) is not None


def _stands_above_rows(lines: Sequence[ReadLine], position: int) -> bool:
    rest = (line for line in lines[position + 1 :] if not _is_subheading(line))
    return any(map(_is_row, islice(rest, _MAX_ABOVE_ROWS)))


def _is_subheading(line: ReadLine) -> bool:
    return is_table_head(line) or (is_heading(line) and names_part(" ".join(line.masked.split())))


def names_part(text: str) -> bool:
    """Of a section: one kind of securities, or one currency."""
    return words.KINDS_OF_SECURITIES.fullmatch(text) is not None or words.CURRENCY.fullmatch(text) is not None


def _is_row(line: ReadLine) -> bool:
    """Of a statement. `Costs` above `4.95 EUR` is the label of an amount, and no section."""
    has_fields = any(place.label in _OF_FIELD for place in line.labels)
    return bool(line.numbers) and not has_fields and (bool(line.dates) or ISIN.search(line.text) is not None)


def is_table_head(line: ReadLine) -> bool:
    return not line.numbers and sum(place.label in LABELS_OF_NUMBERS for place in line.labels) >= _MIN_HEADS


def _names_trade(head: ReadLine) -> bool:
    return any(place.label in (Label.TRADE_DATE, Label.DIRECTION) for place in head.labels)


def _is_part_of_head(lines: Sequence[ReadLine], position: int) -> bool:
    """Whether a line goes on with the head of a table above: `Comm/` and below it `Fee`."""
    for above in reversed(lines[max(0, position - _MAX_ABOVE_ROWS) : position]):
        if above.numbers or above.dates:
            return False
        if is_table_head(above):
            return _goes_on(above, lines[position])
    return False


def _goes_on(head: ReadLine, line: ReadLine) -> bool:
    """By where it stands: not below the beginning of the head, where the next heading would, or in several cells."""
    is_open = head.text.rstrip().endswith(("/", "-", "&"))
    first = head.source.cells[0]
    return is_open or len(line.source.cells) > 1 or line.source.cells[0].left > first.right
