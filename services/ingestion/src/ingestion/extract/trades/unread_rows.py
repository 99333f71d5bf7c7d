"""The rows of a document that may be trades and that none of its trades is: none of them may be lost.

A row has a day, and its side in a column or the numbers of a trade; a table may break it into lines, and what overlaps
on the page may have taken away its quantity.
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile

from ingestion.domain.trade import Direction, Trade
from ingestion.extract import values
from ingestion.extract.trades.columns import Columns
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.row_side import SidePlace, find_row_side
from ingestion.extract.trades.rows import find_product_rows
from ingestion.extract.trades.sections import list_lines_without_trades
from ingestion.extract.trades.security import list_isins
from ingestion.extract.trades.settlement_tables import has_settlement_day
from ingestion.extract.trades.trade_dates import SHORT_DATE

_MIN_NUMBERS = 2  # of a row that may be a trade
_MAX_ROW = 200  # letters
_MIN_HEADS = 3  # labels of a table's head
_LINES_OF_ROW = 3


@dataclass(frozen=True, slots=True)
class _Row:
    """`table`: the head that it stands below, as often as that is printed, and whether that names the day of the
    settlement. Not `is_dated`: what stands where other rows have their day is none that is known, `5 Nov`, `"`."""

    line: ReadLine
    numbers: tuple[Number, ...]
    direction: Direction | None
    table: tuple[str, bool]
    multiplies: bool
    is_dated: bool

    @property
    def printed(self) -> frozenset[Decimal]:
        return frozenset(value for number in self.numbers for value in number.readings)


def list_unread_rows(
    lines: Sequence[ReadLine], columns: Columns, trades: Sequence[Trade], *, is_statement: bool
) -> list[ReadLine]:
    """The rows of each table without those that are a trade of their own."""
    without_trades = list_lines_without_trades(lines) if is_statement or len(trades) > 1 else frozenset()
    tables: dict[tuple[str, bool], list[_Row]] = defaultdict(list)
    for row in _list_rows(lines, columns, without_trades):
        tables[row.table].append(row)
    tables = {table: rows for table, rows in tables.items() if any(row.is_dated for row in rows)}
    if len(trades) == 1 and not is_statement:
        # What a note lists without a day is of its one trade.
        tables = {table: [row for row in rows if row.is_dated] for table, rows in tables.items()}
        tables = {table: rows for table, rows in tables.items() if not _are_of_note(rows, trades[0])}
    return [row.line for rows in tables.values() for row in _list_without_trade(rows, trades)]


def _list_rows(lines: Sequence[ReadLine], columns: Columns, without_trades: Container[int]) -> Iterator[_Row]:
    head: ReadLine | None = None
    priced = {row.index for row in list_rows_below_heads(lines)}
    for position, line in enumerate(lines):
        if len(line.labels) >= _MIN_HEADS and not line.numbers and not line.dates:
            head = line
        if line.index in without_trades or len(line.text) > _MAX_ROW:
            continue
        side = find_row_side(line)
        is_sided = side.place is SidePlace.IN_COLUMN
        is_dated = has_day(line)
        if not is_dated and (_goes_on(lines, position) or not _is_row_below(head, line, is_sided=is_sided)):
            continue
        numbers = _list_plain(line)
        if is_sided and len(numbers) < _MIN_NUMBERS:
            numbers += [number for row in _list_lines_of_row(lines, position) for number in _list_plain(row)]
        multiplies = bool(find_product_rows([line]))
        if is_sided:
            is_row = any(number.is_money for number in numbers) or len(numbers) >= _MIN_NUMBERS
        else:
            is_in_table = line.index in columns.rows or (line.index in priced and len(numbers) > _MIN_NUMBERS)
            is_row = len(numbers) >= _MIN_NUMBERS and (is_in_table or multiplies)
        if is_row:
            table = (head.text if head else "", has_settlement_day(line, lines))
            yield _Row(line, tuple(numbers), side.direction if is_sided else None, table, multiplies, is_dated)


def list_rows_below_heads(lines: Sequence[ReadLine]) -> list[ReadLine]:
    """The rows with a day that stand below a head of quantities and prices: whatever they say that was
    done, `ACQ.`, and whatever is called what was paid, `Dare`."""
    rows = []
    is_below = False
    for line in lines:
        if not line.numbers and not line.dates and len(line.labels) > 1:
            is_below = {Label.QUANTITY, Label.PRICE} <= {place.label for place in line.labels}
        elif is_below and has_day(line) and len(line.text) <= _MAX_ROW:
            numbers = _list_plain(line)
            if len(numbers) >= _MIN_NUMBERS and any(number.is_money for number in numbers):
                rows.append(line)
    return rows


def has_day(line: ReadLine) -> bool:
    """Also one whose order of day and month nothing tells."""
    return bool(line.dates) or SHORT_DATE.match(line.text) is not None or values.DATES.search(line.text) is not None


def _list_plain(line: ReadLine) -> list[Number]:
    return [number for number in line.numbers if not number.is_percent]


def _is_row_below(head: ReadLine | None, line: ReadLine, *, is_sided: bool) -> bool:
    """Whether a line without a day is a row: quantity × price = amount, and a side, a security or a cell for each of
    the head's, which a total has not."""
    if head is None or not find_product_rows([line]):
        return False
    return is_sided or bool(list_isins([line])) or len(line.source.cells) == len(head.source.cells)


def _goes_on(lines: Sequence[ReadLine], position: int) -> bool:
    """Whether it is the rest of a row that is broken into lines: above it stands a day, and no numbers."""
    above = (lines[position - back] for back in range(1, min(_LINES_OF_ROW, position + 1)))
    return any(has_day(line) and len(_list_plain(line)) < _MIN_NUMBERS for line in above)


def _list_lines_of_row(lines: Sequence[ReadLine], position: int) -> Iterator[ReadLine]:
    """Those that the row goes on in: no other row, and no field of a note."""
    below = lines[position + 1 : position + _LINES_OF_ROW]
    return takewhile(lambda line: not line.labels and not has_day(line), below)


def _list_without_trade(rows: Sequence[_Row], trades: Sequence[Trade]) -> list[_Row]:
    """Each trade is one row of a table at most."""
    owners: dict[int, int] = {}  # row by trade

    def find_trade(number: int, seen: set[int]) -> bool:
        for index, trade in enumerate(trades):
            if index in seen or not _is_trade(rows[number], trade):
                continue
            seen.add(index)
            if index not in owners or find_trade(owners[index], seen):
                owners[index] = number
                return True
        return False

    return [row for number, row in enumerate(rows) if not find_trade(number, set())]


def _is_trade(row: _Row, trade: Trade) -> bool:
    """Whether it has the trade's quantity and an amount or the price, or its day and an amount, since a trade may go on
    in the lines below, and many trades of a day have one price."""
    if row.direction is not None and trade.direction not in (None, row.direction):
        return False
    amounts = row.printed & {trade.gross_amount, trade.settled_amount}
    if trade.quantity in row.printed and (amounts or trade.price in row.printed):
        return True
    is_of_day = not row.line.dates or any(found.date == trade.trade_date for found in row.line.dates)
    return bool(amounts - {trade.price}) and is_of_day


def _are_of_note(rows: Sequence[_Row], trade: Trade) -> bool:
    """Whether they say of the one trade of a note what it was made of: the parts in which its order was filled, or the
    purchases that a sale took from; or its own fields."""
    values_of_trade = {trade.quantity, trade.price, trade.gross_amount, trade.settled_amount}
    if all(row.line.labels or len(row.numbers) < _MIN_NUMBERS for row in rows):
        money = {number.value for row in rows for number in row.numbers if number.is_money}
        if money <= values_of_trade:
            return True
    if not any(sum(column, Decimal(0)) == trade.quantity for column in _list_columns(rows)):
        return False
    if all(row.direction in (None, trade.direction) for row in rows):
        return True
    days = [found.date for row in rows for found in row.line.dates]
    is_before = trade.trade_date is not None and all(day <= trade.trade_date for day in days)
    return is_before and all(row.direction is Direction.BUY and not row.multiplies for row in rows)


def _list_columns(rows: Sequence[_Row]) -> Iterator[Sequence[Decimal]]:
    for place in range(min(len(row.numbers) for row in rows)):
        yield [row.numbers[place].value for row in rows]
