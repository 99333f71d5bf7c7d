"""A second trade that a note of one tells in a sentence: `Proceeds reinvested: bought 980 at 0.7210, 706.58`."""

from collections.abc import Sequence

from ingestion.domain.trade import Trade
from ingestion.extract.trades import labels
from ingestion.extract.trades.candidates import list_said_trades
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.rows import ProductRow, find_product_rows
from ingestion.extract.trades.unread_rows import has_day

_MAX_SENTENCE = 300  # letters


def tells_of_other_trade(lines: Sequence[ReadLine], trade: Trade) -> bool:
    """Whether a line says a side, and a quantity and a price that are not this trade's. With a day it may be a purchase
    that a sale took from (`unread_rows`)."""
    return any(
        len(line.text) <= _MAX_SENTENCE and not has_day(line) and _tells_of_other(line, trade)
        for line in lines
        if len(line.numbers) > 1
    )


def _tells_of_other(line: ReadLine, trade: Trade) -> bool:
    sides = {match.lastgroup for match in labels.DIRECTION.finditer(line.text)}
    if trade.direction is None or not sides:
        return False
    rows = find_product_rows([line])
    if sides - {trade.direction.value}:
        return any(row.quantity != trade.quantity for row in rows) or any(
            trade.quantity not in quantity.readings and price.value for quantity, price in list_said_trades([line])
        )
    return any(_is_other(row, trade) for row in rows)


def _is_other(row: ProductRow, trade: Trade) -> bool:
    """Of the same side: not a part of the trade, for its price."""
    return row.quantity != trade.quantity and row.price != trade.price and row.amount != trade.gross_amount
