"""The trades of a document as a person corrects them, and the evidence of what was changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from ingestion.domain.currencies import LAST_YEARS, has_too_many_decimals, was_replaced_before
from ingestion.domain.trade import TRADE_FIELDS, Direction, Trade, read_stored_trade
from ingestion.domain.trade_matching import find_wkn

_MULTIPLIED = ("quantity", "price", "gross_amount", "foreign_gross_amount")
_SETTLED = (*_MULTIPLIED, "direction", "fees", "taxes", "accrued_interest", "settled_amount")
_NEVER_NEGATIVE = ("price", "gross_amount", "foreign_gross_amount")  # which way a trade went, its direction says
_LARGEST_COSTS = Decimal("0.3")  # of the gross amount, where a note's costs are not known
# Securities that are issued later are settled months after they were bought; beyond that a digit is wrong.
_LONGEST_SETTLEMENT = timedelta(days=366)


class TradeChange(NamedTuple):
    """`field` is `trades.0.price`, or `trades.0` for a trade that was added or taken away."""

    field: str
    read: Any
    former: Any
    given: Any


def list_trade_changes(
    given: Sequence[Mapping[str, Any]], former: Mapping[str, Any], read: Mapping[str, Any]
) -> list[TradeChange]:
    """`given` are all trades of the document from now on, place by place instead of the former ones."""
    return list(_compare_places(given, former.get("trades") or [], read.get("trades") or []))


def _compare_places(
    given: Sequence[Mapping[str, Any]], former: Sequence[Mapping[str, Any]], read: Sequence[Mapping[str, Any]]
) -> Iterator[TradeChange]:
    for place in range(max(len(given), len(former))):
        now, before, first = _get_trade(given, place), _get_trade(former, place), _get_trade(read, place)
        name = f"trades.{place}"
        if now is None or before is None:
            yield TradeChange(name, first, before, now)
            continue
        for field in TRADE_FIELDS:
            if now[field] != before.get(field):
                yield TradeChange(
                    f"{name}.{field}", None if first is None else first.get(field), before.get(field), now[field]
                )


def _get_trade(trades: Sequence[Mapping[str, Any]], place: int) -> Mapping[str, Any] | None:
    return trades[place] if place < len(trades) else None


def find_contradiction(trades: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> str | None:
    """What no trade is, with its place and what to do about it: two days, two numbers of a security, or a day and a
    currency that exclude each other, and parts of a cent. Not what `known` trades say, which a reader read or a person
    has let stand."""
    of_days = {_list_days(trade) for trade in known}
    of_securities = {_list_securities(trade) for trade in known}
    of_settlements = {_list_settlement(trade) for trade in known}
    of_currencies = {_list_currencies(trade) for trade in known}
    for place, written in enumerate(trades):
        trade = Trade.from_json(written)
        if _list_days(written) not in of_days and _has_impossible_settlement(trade):
            return (
                f"trades.{place}: the settlement_date {trade.settlement_date} is before the trade_date"
                f" {trade.trade_date}, or over a year after it: give the one that is wrong, or an empty settlement_date"
                " where the paper says so."
            )
        if _list_securities(written) not in of_securities and _has_other_wkn(trade):
            return (
                f"trades.{place}: the wkn {trade.wkn} is not that of the isin {trade.isin}: give the one that is wrong,"
                " or an empty wkn where the paper says so."
            )
        if _list_settlement(written) not in of_settlements and _has_part_of_cent(trade):
            return (
                f"trades.{place}: the settled_amount {trade.settled_amount} has more decimals than money has: decimals"
                " have a point and thousands nothing, as 1234.56."
            )
        if _list_currencies(written) not in of_currencies and (replaced := _find_replaced_currency(trade)) is not None:
            day = "trade_date" if trade.trade_date is not None else "settlement_date"
            return (
                f"trades.{place}: {replaced} was replaced by {LAST_YEARS[replaced]}, and the {day} is"
                f" {getattr(trade, day)}: give the one that is wrong."
            )
    return None


def _list_settlement(trade: Mapping[str, Any]) -> tuple[Any, ...]:
    return trade.get("settled_amount"), trade.get("currency")


def _has_part_of_cent(trade: Trade) -> bool:
    return trade.settled_amount is not None and has_too_many_decimals(trade.settled_amount, trade.currency)


def _list_currencies(trade: Mapping[str, Any]) -> tuple[Any, ...]:
    return trade.get("currency"), trade.get("foreign_currency"), *_list_days(trade)


def _find_replaced_currency(trade: Trade) -> str | None:
    """A currency that nobody traded in any more on the day of the trade."""
    day = trade.trade_date or trade.settlement_date
    currencies = (trade.currency, trade.foreign_currency)
    return next((code for code in currencies if code is not None and was_replaced_before(code, day)), None)


def _list_days(trade: Mapping[str, Any]) -> tuple[Any, ...]:
    return trade.get("trade_date"), trade.get("settlement_date")


def _list_securities(trade: Mapping[str, Any]) -> tuple[Any, ...]:
    return trade.get("isin"), trade.get("wkn")


def _has_impossible_settlement(trade: Trade) -> bool:
    if trade.trade_date is None or trade.settlement_date is None:
        return False
    return not timedelta(0) <= trade.settlement_date - trade.trade_date <= _LONGEST_SETTLEMENT


def _has_other_wkn(trade: Trade) -> bool:
    of_isin = find_wkn(replace(trade, wkn=None))
    return of_isin is not None and trade.wkn is not None and of_isin != trade.wkn.upper()


def has_slip_of_hand(trades: Sequence[Mapping[str, Any]], accepted: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a trade with numbers that none of `accepted` has does not multiply, is settled for what its price does
    not come to, or has an amount with the sign of no amount.

    Of those that were read a reader has said how sure it was, of those that were completed a person or the rules: an
    option's quantity is of contracts, say.
    """
    multiplied = {_list_values(trade, _MULTIPLIED) for trade in accepted}
    settled = {_list_values(trade, _SETTLED) for trade in accepted}
    signed = {(name, trade.get(name)) for trade in accepted for name in (*_NEVER_NEGATIVE, "settled_amount")}
    for written in trades:
        trade = Trade.from_json(written)
        if _list_values(written, _MULTIPLIED) not in multiplied and trade.multiplies() is False:
            return True
        if _list_values(written, _SETTLED) not in settled and _is_settled_far_off(trade):
            return True
        if any((name, written.get(name)) not in signed for name in _list_wrong_signs(trade)):
            return True
    return False


def _list_values(trade: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(trade.get(name) for name in names)


def _is_settled_far_off(trade: Trade) -> bool:
    """Of a trade without a gross amount, which would be compared with what was settled and with the price."""
    if trade.gross_amount is not None or trade.direction is None or trade.settled_amount is None:
        return False
    before_costs = abs(trade.settled_amount) - (trade.accrued_interest or Decimal(0))
    if trade.fees is None and trade.taxes is None:
        return not _may_differ_by_costs(trade, before_costs)
    gross = before_costs - trade.direction.sign_of_costs * trade.sum_costs()
    return replace(trade, gross_amount=gross).multiplies() is False


def _may_differ_by_costs(trade: Trade, settled: Decimal) -> bool:
    """Whether costs that nobody knows may lie between quantity × price, in per cent too, and what was settled."""
    if trade.direction is None or trade.quantity is None or trade.price is None:
        return True
    if replace(trade, gross_amount=settled).multiplies() is not False:
        return True
    products = [trade.quantity * trade.price / part for part in (1, 100)]
    costs = [(trade.direction.sign_of_costs * (settled - product), product) for product in products]
    return any(0 <= cost <= _LARGEST_COSTS * product for cost, product in costs)


def _list_wrong_signs(trade: Trade) -> list[str]:
    wrong = [name for name in _NEVER_NEGATIVE if (amount := getattr(trade, name)) is not None and amount < 0]
    # Where costs are more than what was sold, the rest is paid.
    is_sale = trade.direction is Direction.SELL and trade.gross_amount is not None
    is_left_to_pay = is_sale and trade.sum_costs() > (trade.gross_amount or Decimal(0))
    if trade.settled_amount is not None and trade.settled_amount < 0 and not is_left_to_pay:
        wrong.append("settled_amount")
    return wrong


def write_trades(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As a reader writes them, so that what was read and what was given compare."""
    return [read_stored_trade(trade).to_json() for trade in given]
