"""Two readings of one trade, of which one is surer: which one is taken, and which doubts stay.

A part of a note leaves lines out, and numbers that are grouped otherwise leave amounts out: so what raised a doubt may
not be in it. That a reading has no doubt is no reason to take it. A part is read for what was done, which its first
line says, and numbers are read again where they did not hold together.
"""

from collections.abc import Sequence
from dataclasses import replace

from ingestion.domain.trade import Trade
from ingestion.extract.trades.trade import TradeReading


def choose_single(whole: TradeReading, parts: Sequence[TradeReading]) -> TradeReading:
    """One trade: as the whole note has it, with the side that a part says more surely. What else a part has is taken
    only to show it to a person."""
    surest = max([whole, *parts], key=lambda found: (found.confidence, -len(found.trade.list_missing_fields())))
    if surest is whole:
        return whole
    if _get_numbers(surest.trade) == _get_numbers(whole.trade):
        trade = replace(whole.trade, direction=surest.trade.direction)
        return replace(whole, trade=trade, is_direction_certain=surest.is_direction_certain)
    return replace(surest, is_settlement_proven=False)


def holds_together(readings: Sequence[TradeReading]) -> bool:
    """Whether the numbers of each are those of a trade: then they are grouped as they were written."""
    return bool(readings) and all(
        found.is_product_proven and not found.trade.list_missing_fields() for found in readings
    )


def _get_numbers(trade: Trade) -> tuple[object, ...]:
    return trade.trade_date, trade.quantity, trade.price, trade.currency, trade.settled_amount, trade.gross_amount
