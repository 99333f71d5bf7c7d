"""A second trade that a note of one tells in a sentence: `Proceeds reinvested: bought 980 at 0.7210, 706.58`."""

from collections.abc import Sequence

from ingestion.domain.trade import Trade
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.rows import find_product_rows
from ingestion.extract.trades.unread_rows import has_day

_MAX_SENTENCE = 300  # letters


def tells_of_other_trade(lines: Sequence[ReadLine], trade: Trade) -> bool:
    """Whether a line says the other side, and a quantity × price = amount that is not this trade's. With a day it may
    be a purchase that a sale took from (`unread_rows`)."""
    return any(
        len(line.numbers) > _MIN_FACTORS
        and len(line.text) <= _MAX_SENTENCE
        and not has_day(line)
        and _says_other_side(line, trade)
        and any(row.quantity != trade.quantity for row in find_product_rows([line]))
        for line in lines
    )


_MIN_FACTORS = 2  # and what they make


def _says_other_side(line: ReadLine, trade: Trade) -> bool:
    sides = {match.lastgroup for match in labels.DIRECTION.finditer(line.text)}
    return trade.direction is not None and bool(sides - {trade.direction.value})
