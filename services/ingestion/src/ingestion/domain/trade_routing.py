"""Where the trades of a document go: confirmed, or to a person with the reason."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import Trade


def find_trade_review_reason(
    fields: Mapping[str, Any], doubts: Sequence[str], unread: Sequence[ReviewReason]
) -> ReviewReason | None:
    """Confirmed only if each trade is whole and adds up, and the document names no security that none of them is in.

    `unread` is why the file may hold more than was read: another trade, say.
    """
    trades = [Trade.from_json(trade) for trade in fields["trades"]]
    if unread:
        return unread[0]
    made = [trade for trade in trades if not trade.is_cancellation]
    # A corrected note does not tell the amounts of the one that it takes back.
    if not trades or any(trade.list_missing_fields() for trade in made or trades):
        return ReviewReason.FIELDS_MISSING
    if len(made) < len(trades) or "corrected" in doubts:
        return ReviewReason.TRADE_CANCELLED
    if doubts:
        return ReviewReason.TRADES_NOT_READ
    if any(trade.adds_up() is False for trade in trades):
        return ReviewReason.TOTALS_DO_NOT_ADD_UP
    return None
