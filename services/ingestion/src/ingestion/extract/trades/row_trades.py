"""A document whose trades are rows of a table, each with its day: a savings plan, a list of purchases."""

from collections.abc import Sequence
from decimal import Decimal

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.trades import labels
from ingestion.extract.trades.candidates import gather_candidates
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.rows import ProductRow, drop_total, explain_by_row, find_product_rows, has_several_days
from ingestion.extract.trades.security import ISIN, find_isin, list_isins
from ingestion.extract.trades.side_and_dates import find_direction, is_cancellation
from ingestion.extract.trades.trade import SharedFacts, TradeReading

_ZERO = Decimal("0.00")


def read_row_trades(lines: Sequence[ReadLine], shared: SharedFacts) -> list[TradeReading]:
    """The trades of the rows; none where the rows are parts of one order, or no trades."""
    candidates = gather_candidates(lines)
    rows = drop_total(find_product_rows(lines, {id(number) for number in candidates.quantities}))
    direction, is_direction_certain = find_direction(lines)
    if not has_several_days(rows) or direction is None:
        return []
    has_costs = any(number.value for number in (*candidates.fees, *candidates.taxes, *candidates.interests))
    return [
        _read_row(row, lines, shared, direction, is_direction_certain=is_direction_certain, has_costs=has_costs)
        for row in rows
    ]


def _read_row(
    row: ProductRow,
    lines: Sequence[ReadLine],
    shared: SharedFacts,
    direction: Direction,
    *,
    is_direction_certain: bool,
    has_costs: bool,
) -> TradeReading:
    own = labels.DIRECTION.search(row.line.text)
    if own is not None:
        direction = Direction.BUY if own["buy"] else Direction.SELL
    explained = explain_by_row(row.line.numbers, row.amount, direction.sign_of_costs)
    settled, cost = (explained[0].value, explained[1]) if explained else (row.amount, _ZERO)
    days = sorted(found.date for found in row.line.dates)
    trade = Trade(
        direction=direction,
        trade_date=days[0],
        settlement_date=days[1] if len(days) > 1 else None,
        quantity=row.quantity,
        price=row.price,
        isin=_find_row_isin(row, lines),
        currency=row.amount_number.currency or row.price_number.currency or shared.currency,
        settled_amount=settled,
        gross_amount=row.amount,
        fees=cost,
        taxes=_ZERO,
        account=shared.account,
        account_name=shared.account_name,
        is_cancellation=is_cancellation([row.line]),
    )
    names_day = any(place.label is Label.TRADE_DATE for line in lines for place in line.labels)
    return TradeReading(
        trade,
        is_product_proven=True,
        is_settlement_proven=explained is not None or not has_costs,
        is_date_certain=names_day or len(days) > 1,
        is_direction_certain=is_direction_certain or own is not None,
    )


def _find_row_isin(row: ProductRow, lines: Sequence[ReadLine]) -> str | None:
    """In the row itself, or in the document where that names one only."""
    if (match := ISIN.search(row.line.text)) is not None and match[1] in list_isins([row.line]):
        return match[1]
    return find_isin(lines)
