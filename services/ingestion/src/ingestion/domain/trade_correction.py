"""The trades of a document as a person corrects them, and the evidence of what was changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ingestion.domain.trade import TRADE_FIELDS, Trade, read_stored_trade

_MULTIPLIED = ("quantity", "price", "gross_amount", "foreign_gross_amount")


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


def has_slip_of_hand(trades: Sequence[Mapping[str, Any]], accepted: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a trade with numbers that none of `accepted` has does not multiply.

    Of those that were read a reader has said how sure it was, of those that were completed a person or the rules: an
    option's quantity is of contracts, say.
    """
    known = {_list_multiplied(trade) for trade in accepted}
    return any(
        _list_multiplied(trade) not in known and Trade.from_json(trade).multiplies() is False for trade in trades
    )


def _list_multiplied(trade: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(trade.get(name) for name in _MULTIPLIED)


def write_trades(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As a reader writes them, so that what was read and what was given compare."""
    return [read_stored_trade(trade).to_json() for trade in given]
