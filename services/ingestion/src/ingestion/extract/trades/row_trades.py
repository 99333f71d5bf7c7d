"""A document whose trades are rows of a table, each with its day: a savings plan, a list of purchases."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.trades.candidates import gather_candidates
from ingestion.extract.trades.columns import (
    Columns,
    RowAmounts,
    goes_on_with_costs,
    list_currency_cells,
    resolve_amounts,
)
from ingestion.extract.trades.currency_names import is_of_other_country
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import CURRENCIES, Number
from ingestion.extract.trades.products import find_product
from ingestion.extract.trades.row_days import find_row_days
from ingestion.extract.trades.rows import (
    ProductRow,
    are_trades,
    build_row,
    drop_repeats,
    drop_total,
    explain_by_row,
    explain_converted_row,
    find_product_rows,
    list_rows_like,
)
from ingestion.extract.trades.section_words import find_currency
from ingestion.extract.trades.sections import list_lines_without_trades
from ingestion.extract.trades.security import ISIN, find_isin, list_isins
from ingestion.extract.trades.settlement_tables import has_settlement_day
from ingestion.extract.trades.shared_facts import SharedFacts
from ingestion.extract.trades.side import find_direction
from ingestion.extract.trades.side_fields import has_coded_side, says_side_of_all
from ingestion.extract.trades.symbols import is_symbol
from ingestion.extract.trades.table_sides import TradeSide, find_sides
from ingestion.extract.trades.taken_back import is_cancellation
from ingestion.extract.trades.trade import TradeReading

_LINES_BELOW = 3
_MAX_SECTION = 40  # rows between the head of a section and one of its own
_SYMBOL = re.compile(r"([A-Z][A-Z0-9.]{0,5})\s")
_ZERO = Decimal("0.00")


def read_row_trades(
    lines: Sequence[ReadLine], shared: SharedFacts, *, is_statement: bool = False
) -> list[TradeReading]:
    """The trades of the rows; none where the rows are parts of one order, or no trades."""
    candidates = gather_candidates(lines)
    rows = _find_rows(lines, shared.columns, {id(number) for number in candidates.quantities})
    of_document, is_certain = find_direction(lines)
    product = find_product(candidates, of_document)
    if product is not None and product.is_labelled and product.quantity not in {row.quantity for row in rows}:
        return []  # the fields of one trade stand elsewhere: the rows are what it cost, or how it was converted
    # A statement lists what was bought and sold, and other things: it says of no row which of them it is.
    is_certain = is_certain and says_side_of_all(lines)
    sides = find_sides(rows, lines, None if is_statement else of_document, is_certain=is_certain)
    if any(has_coded_side(row.line) for row in rows):
        sides = [replace(side, is_certain=False) for side in sides]
    if not are_trades(rows) or all(side.direction is None for side in sides):
        return []
    has_costs = any(number.value for number in (*candidates.fees, *candidates.taxes, *candidates.interests))
    isin = find_isin(lines)
    return [
        _read_row(row, lines, shared, side, isin=isin, has_costs=has_costs)
        for row, side in zip(rows, sides, strict=True)
    ]


def _find_rows(lines: Sequence[ReadLine], columns: Columns, quantities: Collection[int]) -> list[ProductRow]:
    """The rows of the table with most of them, and those that a head or their end tells to be rows of it as well."""
    without_trades = list_lines_without_trades(lines)
    may_trade = [line for line in lines if line.index not in without_trades]
    rows = find_product_rows(may_trade, quantities)
    if any(row.line.dates for row in rows) or not rows:
        known = {row.line.index for row in rows}
        dated = [line for line in may_trade if line.dates and line.index not in known]
        more = {row.line.index: row for row in _list_rows_by_columns(dated, columns)}
        if rows:
            more = {row.line.index: row for row in list_rows_like(rows[0], dated)} | more
        rows = drop_repeats(sorted([*rows, *more.values()], key=lambda row: row.line.index))
    return _drop_settlements(drop_total(rows), lines)


def _list_rows_by_columns(lines: Sequence[ReadLine], columns: Columns) -> Iterator[ProductRow]:
    for line in lines:
        named = columns.rows.get(line.index)
        if named is None:
            continue
        quantity, price = named.list_numbers(Label.QUANTITY)[0], named.list_numbers(Label.PRICE)[0]
        amounts = (*named.list_numbers(Label.GROSS), *named.list_numbers(Label.SETTLED))
        places = {id(number): place for place, number in enumerate(line.numbers)}
        found = (
            build_row(line, (places[id(quantity)], places[id(price)], places[id(amount)])) for amount in amounts[:2]
        )
        yield from islice((row for row in found if row is not None), 1)


def _drop_settlements(rows: Sequence[ProductRow], lines: Sequence[ReadLine]) -> list[ProductRow]:
    """The rows without those that say another one again, with the day on which it is settled."""
    settled = [row for row in rows if has_settlement_day(row.line, lines)]
    traded = {(row.quantity, row.price, row.amount) for row in rows if row not in settled}
    return [row for row in rows if row not in settled or (row.quantity, row.price, row.amount) not in traded]


def _read_row(
    row: ProductRow,
    lines: Sequence[ReadLine],
    shared: SharedFacts,
    side: TradeSide,
    *,
    isin: str | None,
    has_costs: bool,
) -> TradeReading:
    """`isin` is the one of the document, where it names one only."""
    amounts, is_settlement_proven = _find_amounts(row, shared, side.direction, has_costs=has_costs)
    below = lines[row.line.index - lines[0].index + 1 :][:_LINES_BELOW]
    is_settlement_proven &= bool(amounts.fees or amounts.taxes) or not goes_on_with_costs(
        row.line, below, amounts.gross
    )
    own, other = row.amount_number.currency, amounts.settled_number.currency
    foreign = own if own is not None and other is not None and own != other else None
    days = find_row_days(row.line)
    trade = Trade(
        direction=side.direction,
        trade_date=days.traded,
        settlement_date=days.settled,
        quantity=amounts.quantity,
        price=amounts.price_value,
        isin=(isin := _find_row_isin(row) or isin),
        ticker=None if isin else _find_row_ticker(row),
        currency=amounts.currency if foreign else _find_currency(row, amounts, lines, shared, isin),
        settled_amount=amounts.settled,
        gross_amount=amounts.gross,
        fees=amounts.fees,
        taxes=amounts.taxes,
        foreign_currency=foreign,
        foreign_gross_amount=row.amount if foreign else None,
        account=shared.account,
        account_name=shared.account_name,
        is_cancellation=is_cancellation([row.line]),
    )
    names_day = any(place.label is Label.TRADE_DATE for line in lines for place in line.labels)
    return TradeReading(
        trade,
        is_product_proven=True,
        is_settlement_proven=is_settlement_proven,
        is_date_certain=days.are_alone
        and (names_day or days.settled is not None)
        and not has_settlement_day(row.line, lines)
        and row.line.index not in shared.columns.with_other_days,
        is_direction_certain=side.is_certain,
    )


def _find_currency(
    row: ProductRow, amounts: RowAmounts, lines: Sequence[ReadLine], shared: SharedFacts, isin: str | None
) -> str | None:
    """What the row says, else the head of its column, else the heading or the table above, else the document; None
    where the nearest that says it says several, or names in passing one that is not that of the security's country."""
    of_row = {number.currency for number in _list_numbers(row)} | list_currency_cells(row.line)
    of_head = shared.columns.currencies.get(row.line.index, frozenset())
    section = _find_section_currency(row, lines)
    is_doubtful = not shared.is_currency_named and is_of_other_country(isin, shared.currency)
    own = row.amount_number.currency or row.price_number.currency
    for found in (
        {own},
        of_row,
        {amounts.currency},
        {section} if section is not None else of_head,
        of_head,
        {None if is_doubtful else shared.currency},
    ):
        if named := found - {None}:
            return next(iter(named)) if len(named) == 1 else None
    return None


def _list_numbers(row: ProductRow) -> tuple[Number, ...]:
    return row.quantity_number, row.price_number, row.amount_number


def _find_amounts(
    row: ProductRow, shared: SharedFacts, direction: Direction | None, *, has_costs: bool
) -> tuple[RowAmounts, bool]:
    """By the heads of its columns, or by what the row itself goes on with; and whether that explains its costs."""
    columns = shared.columns.rows.get(row.line.index)
    if columns is not None and (amounts := resolve_amounts(columns, direction)) is not None:
        return amounts, True
    sign = direction.sign_of_costs if direction is not None else Direction.BUY.sign_of_costs
    if direction is not None and (found := explain_converted_row(row.line.numbers, row.amount_number, sign)):
        total, converted, charge = found
        return (
            RowAmounts(
                row.quantity,
                row.price_number,
                row.price,
                converted.value,
                charge,
                _ZERO,
                total.value,
                total,
                currency=total.currency,
            ),
            True,
        )
    explained = explain_by_row(row.line.numbers, row.amount, sign) if direction is not None else None
    settled, cost = (explained[0], explained[1]) if explained else (None, _ZERO)
    number = settled or row.amount_number
    value = settled.value if settled else row.amount
    amounts = RowAmounts(
        row.quantity, row.price_number, row.price, row.amount, cost, _ZERO, value, number, currency=None
    )
    is_below_costs = has_costs or row.line.index in shared.columns.with_costs
    return amounts, explained is not None or not (is_below_costs or _goes_on_with_money(row))


def _goes_on_with_money(row: ProductRow) -> bool:
    """Whether amounts that nothing explains stand behind those that multiply: what the trade cost, or a balance."""
    behind = row.line.numbers[max(row.pattern) + 1 :]
    return any(number.is_money and number.value and row.amount not in number.readings for number in behind)


def _find_row_ticker(row: ProductRow) -> str | None:
    """The symbol that a row begins with; a currency is none, nor is the side or another word of a note."""
    match = _SYMBOL.match(row.line.text)
    is_one = match is not None and match[1] not in CURRENCIES and is_symbol(match[1])
    return match[1] if match is not None and is_one else None


def _find_section_currency(row: ProductRow, lines: Sequence[ReadLine]) -> str | None:
    """Of the nearest line above that is a currency, or a heading and a currency: `Stocks USD`. A name may end with one
    too: `Emerging Markets USD`."""
    position = row.line.index - lines[0].index
    for line in reversed(lines[max(0, position - _MAX_SECTION) : position]):
        if (currency := find_currency(line.text)) is not None:
            return currency
    return None


def _find_row_isin(row: ProductRow) -> str | None:
    match = ISIN.search(row.line.text)
    return match[1] if match is not None and match[1] in list_isins([row.line]) else None
