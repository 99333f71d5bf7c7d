"""A document whose trades are rows of a table, each with its day: a savings plan, a list of purchases."""

import re
from collections.abc import Sequence
from decimal import Decimal

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.trades import labels
from ingestion.extract.trades.candidates import gather_candidates
from ingestion.extract.trades.columns import RowAmounts, resolve_amounts
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import CURRENCIES
from ingestion.extract.trades.products import find_product
from ingestion.extract.trades.rows import ProductRow, are_trades, drop_total, explain_by_row, find_product_rows
from ingestion.extract.trades.sections import list_lines_without_trades
from ingestion.extract.trades.security import ISIN, find_isin, list_isins
from ingestion.extract.trades.side_and_dates import find_direction, is_cancellation
from ingestion.extract.trades.trade import SharedFacts, TradeReading

_MIN_HEADS = 3  # labels of a table's head
_MAX_SECTION = 40  # rows between the head of a section and one of its own
_SYMBOL = re.compile(r"([A-Z][A-Z0-9.]{0,5})\s")
_SECTION = re.compile(r"(?:[^\W\d_]{2,20}\s){0,2}([A-Z]{3})")
_ZERO = Decimal("0.00")


def read_row_trades(lines: Sequence[ReadLine], shared: SharedFacts) -> list[TradeReading]:
    """The trades of the rows; none where the rows are parts of one order, or no trades."""
    candidates = gather_candidates(lines)
    without_trades = list_lines_without_trades(lines)
    may_trade = [line for line in lines if line.index not in without_trades]
    rows = drop_total(find_product_rows(may_trade, {id(number) for number in candidates.quantities}))
    rows = _drop_settlements(rows, lines)
    direction, is_direction_certain = find_direction(lines)
    product = find_product(candidates, direction)
    if product is not None and product.is_labelled and product.quantity not in {row.quantity for row in rows}:
        return []  # the fields of one trade stand elsewhere: the rows are what it cost, or how it was converted
    have_sides = all(labels.DIRECTION.search(row.line.text) for row in rows)
    if not are_trades(rows) or (direction is None and not have_sides and not _have_signs(rows)):
        return []
    has_costs = any(number.value for number in (*candidates.fees, *candidates.taxes, *candidates.interests))
    return [
        _read_row(row, lines, shared, direction, is_direction_certain=is_direction_certain, has_costs=has_costs)
        for row in rows
    ]


def _drop_settlements(rows: Sequence[ProductRow], lines: Sequence[ReadLine]) -> list[ProductRow]:
    """The rows without those that say another one again, with the day on which it is settled."""
    settled = [row for row in rows if _has_settlement_day(row, lines)]
    traded = {(row.quantity, row.price, row.amount) for row in rows if row not in settled}
    return [row for row in rows if row not in settled or (row.quantity, row.price, row.amount) not in traded]


def _has_settlement_day(row: ProductRow, lines: Sequence[ReadLine]) -> bool:
    """Whether the nearest head above with a date says that it is the one of the settlement."""
    position = row.line.index - lines[0].index
    for line in reversed(lines[max(0, position - _MAX_SECTION) : position]):
        named = {place.label for place in line.labels}
        if len(named) >= _MIN_HEADS and not line.numbers and named & {Label.TRADE_DATE, Label.SETTLEMENT_DATE}:
            return Label.TRADE_DATE not in named
    return False


def _read_row(
    row: ProductRow,
    lines: Sequence[ReadLine],
    shared: SharedFacts,
    direction: Direction | None,
    *,
    is_direction_certain: bool,
    has_costs: bool,
) -> TradeReading:
    own = labels.DIRECTION.search(row.line.text)
    if own is not None:
        direction = Direction.BUY if own["buy"] else Direction.SELL
    elif direction is None:
        direction = Direction.BUY if row.amount_number.is_negative else Direction.SELL
    amounts, is_settlement_proven = _find_amounts(row, shared, direction, has_costs=has_costs)
    days = sorted(found.date for found in row.line.dates)
    trade = Trade(
        direction=direction,
        trade_date=days[0],
        settlement_date=days[1] if len(days) > 1 else None,
        quantity=amounts.quantity,
        price=amounts.price_value,
        isin=(isin := _find_row_isin(row, lines)),
        ticker=None if isin else _find_row_ticker(row),
        currency=row.amount_number.currency
        or row.price_number.currency
        or amounts.currency
        or _find_section_currency(row, lines)
        or shared.currency,
        settled_amount=amounts.settled,
        gross_amount=amounts.gross,
        fees=amounts.fees,
        taxes=amounts.taxes,
        account=shared.account,
        account_name=shared.account_name,
        is_cancellation=is_cancellation([row.line]),
    )
    names_day = any(place.label is Label.TRADE_DATE for line in lines for place in line.labels)
    return TradeReading(
        trade,
        is_product_proven=True,
        is_settlement_proven=is_settlement_proven,
        is_date_certain=names_day or len(days) > 1,
        is_direction_certain=is_direction_certain or own is not None,
    )


def _find_amounts(
    row: ProductRow, shared: SharedFacts, direction: Direction, *, has_costs: bool
) -> tuple[RowAmounts, bool]:
    """By the heads of its columns, or by what the row itself goes on with; and whether that explains its costs."""
    columns = shared.columns.rows.get(row.line.index)
    if columns is not None and (amounts := resolve_amounts(columns, direction)) is not None:
        return amounts, True
    explained = explain_by_row(row.line.numbers, row.amount, direction.sign_of_costs)
    settled, cost = (explained[0], explained[1]) if explained else (None, _ZERO)
    number = settled or row.amount_number
    value = settled.value if settled else row.amount
    amounts = RowAmounts(
        row.quantity, row.price_number, row.price, row.amount, cost, _ZERO, value, number, currency=None
    )
    is_below_costs = has_costs or row.line.index in shared.columns.with_costs
    return amounts, explained is not None or not is_below_costs


def _have_signs(rows: Sequence[ProductRow]) -> bool:
    """Whether minus signs tell money that was paid from money that was received."""
    return any(row.amount_number.is_negative for row in rows)


def _find_row_ticker(row: ProductRow) -> str | None:
    """The symbol that a row begins with."""
    return match[1] if (match := _SYMBOL.match(row.line.text)) else None


def _find_section_currency(row: ProductRow, lines: Sequence[ReadLine]) -> str | None:
    """Of the nearest line above that is a currency, or a few words and a currency: `Stocks USD`."""
    position = row.line.index - lines[0].index
    for line in reversed(lines[max(0, position - _MAX_SECTION) : position]):
        if (match := _SECTION.fullmatch(line.text)) and match[1] in CURRENCIES:
            return match[1]
    return None


def _find_row_isin(row: ProductRow, lines: Sequence[ReadLine]) -> str | None:
    """In the row itself, or in the document where that names one only."""
    if (match := ISIN.search(row.line.text)) is not None and match[1] in list_isins([row.line]):
        return match[1]
    return find_isin(lines)
