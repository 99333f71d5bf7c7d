"""Whether a statement sums up what notes say one by one: 200 shares there, 100 and 100 here, of one order.

The ledger compares trades of one quantity only, so both would be booked. Nothing proves that they are one: a person
says so.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from ingestion.domain.trade import ACTIVITY_STATEMENT, Trade
from ingestion.domain.trade_matching import StatedTrade, have_same_account, have_same_security

_MAX_PARTS = 12  # each may or may not belong to the sum
_LEAST_PARTS = 2


def may_be_summed(stated: Sequence[StatedTrade], known: Sequence[StatedTrade]) -> bool:
    """Of trades that a document states, and those of other documents: whether one of them may be in another's sum."""
    return any(_may_be_one_of_sum(own, known) for own in stated if not own.trade.is_cancellation)


def _may_be_one_of_sum(own: StatedTrade, known: Iterable[StatedTrade]) -> bool:
    quantity = own.trade.quantity
    others = [
        other for other in known if _is_statement(other) != _is_statement(own) and _is_alike(own.trade, other.trade)
    ]
    quantities = [other.trade.quantity for other in others if other.trade.quantity is not None]
    if quantity is None or quantity in quantities:
        return False  # the ledger says what they are
    if _is_statement(own):
        return _make_sum([part for part in quantities if part < quantity], quantity)
    return any(part > quantity for part in quantities)  # a statement lists the day, and not this trade alone


def _is_statement(stated: StatedTrade) -> bool:
    return stated.document_type == ACTIVITY_STATEMENT


def _is_alike(one: Trade, other: Trade) -> bool:
    is_same_deal = (one.direction, one.trade_date) == (other.direction, other.trade_date)
    return (
        is_same_deal
        and not other.is_cancellation
        and have_same_security(one, other) is True
        and have_same_account(one, other) is not False
    )


def _make_sum(parts: Sequence[Decimal], total: Decimal) -> bool:
    sums = {(Decimal(0), 0)}
    for part in parts[:_MAX_PARTS]:
        sums |= {(found + part, count + 1) for found, count in sums}
    return any(found == total and count >= _LEAST_PARTS for found, count in sums)
