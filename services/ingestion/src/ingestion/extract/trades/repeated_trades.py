"""Whether a document says all of its trades again: a copy of the note behind it, or a list by day and by security."""

from collections import Counter
from collections.abc import Sequence

from ingestion.domain.trade import Trade


def says_all_again(trades: Sequence[Trade], *, is_statement: bool) -> bool:
    """Partial executions may be alike as well: in a statement all rows, where it lists one kind of them."""
    counts = Counter(map(_list_what_is_said, trades))
    return len(counts) > is_statement and min(counts.values()) > 1


def _list_what_is_said(trade: Trade) -> tuple[object, ...]:
    security = trade.isin or trade.wkn or trade.ticker or trade.security_name
    return security, trade.direction, trade.quantity, trade.price, trade.trade_date, trade.settled_amount
