"""Trades of the ledger as the API asks for them: always of one tenant."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg

from ingestion.adapters.bounded_rows import fetch_bounded
from ingestion.adapters.list_statement import build_list_statement
from ingestion.adapters.trade_ledger import judge_similar_trades, lock_ledger
from ingestion.domain.trade_views import build_trade_decision_view, build_trade_view
from ingestion.ports.reviews import StaleVersion
from ingestion.ports.trades import ForeignCursor, TradeDecision, TradeDecisionRefused, TradeFilter
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

_MAX_STATEMENTS = 200

_LIST = "select *, octet_length(fields::text) as json_bytes from ingestion.trade"
_FIND = "select * from ingestion.trade where trade_id = $1 and tenant_id = $2"
# All statements of a trade, the one that counts first; of a cancellation, of what it takes back.
_STATEMENTS = """
    select * from ingestion.trade
    where tenant_id = $1 and match_key = $2 and (trade_id = $3 or duplicate_of = $3)
    order by duplicate_of nulls first, seq limit $4
"""
_DECISIONS = """
    select * from ingestion.trade_decision where tenant_id = $1 and (trade_id = $2 or other_trade_id = $2)
    order by entry_id desc limit $3
"""
_DECIDE = """
    insert into ingestion.trade_decision (tenant_id, trade_id, other_trade_id, decision, comment, reviewer, api_key_id)
    values ($1, $2, $3, $4, $5, $6, $7)
"""
_RAISE_VERSION = "update ingestion.trade set version = version + 1, updated_at = clock_timestamp() where trade_id = $1"
_LIST_KEYS = "select distinct match_key from ingestion.trade where tenant_id = $1 and trade_id = any($2)"

_SEQ_BITS = 63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MAX_MICROSECONDS = timedelta(days=365_000) // _MICROSECOND
_MAX_DAY = date.max.toordinal()  # as microseconds four seconds of 1970: no change is of those


def _list_order(wanted: TradeFilter) -> tuple[str, ...]:
    """The columns by which the newest trades are first. What has a range is read in its order: those of a day of last
    year lie behind all that were read since, and pages of them would go through those."""
    if wanted.traded_from is not None or wanted.traded_to is not None:
        return "trade_date", "seq"
    return ("seq",) if wanted.changed_since is None else ("updated_at", "seq")


def build_position(wanted: TradeFilter, last: Any) -> int:
    """Where the page after `last` begins, as one number."""
    match _list_order(wanted)[0]:
        case "trade_date":
            first: int = last["trade_date"].toordinal()
        case "updated_at":
            first = (last["updated_at"] - _EPOCH) // _MICROSECOND
        case _:
            first = 0
    return (first << _SEQ_BITS) + int(last["seq"])


def read_position(wanted: TradeFilter, position: int) -> tuple[Any, ...]:
    """The values of the columns of the order.

    Raises:
        ForeignCursor: it is of a list in another order, as earlier releases had it too: what follows it there does not
            follow it here, and of a day in the year 1 nothing does.
    """
    first, seq = position >> _SEQ_BITS, position % (1 << _SEQ_BITS)
    match _list_order(wanted)[0]:
        case "trade_date" if 0 < first <= _MAX_DAY:
            return date.fromordinal(first), seq
        case "updated_at" if _MAX_DAY < first <= _MAX_MICROSECONDS:
            return _EPOCH + first * _MICROSECOND, seq
        case "seq" if first == 0:
            return (seq,)
        case _:
            raise ForeignCursor


class PgTradeLedger:
    """`TradeLedger` of ports/trades.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_trades(
        self, tenant_id: str, wanted: TradeFilter, *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        statement, values = build_list_statement(
            _LIST, tenant_id, _list_conditions(wanted, before), limit + 1, order=_list_order(wanted)
        )
        rows, has_more = await fetch_bounded(self._pool, statement, *values)
        page = rows[:limit]
        has_more = has_more or len(rows) > limit
        following = build_position(wanted, page[-1]) if has_more else None
        return [build_trade_view(dict(row)) for row in page], following

    async def find_trade(self, tenant_id: str, trade_id: str) -> dict[str, Any] | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_FIND, trade_id, tenant_id)
            if row is None:
                return None
            statements = await _list_statements(conn, row)
            decisions = await conn.fetch(_DECISIONS, tenant_id, trade_id, _MAX_STATEMENTS)
        return {
            **build_trade_view(dict(row)),
            "statements": [build_trade_view(dict(statement)) for statement in statements],
            "decisions": [build_trade_decision_view(dict(decision)) for decision in decisions],
        }

    async def decide_trade(self, tenant_id: str, trade_id: str, decision: TradeDecision) -> bool:
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            row = await conn.fetchrow(_FIND, trade_id, tenant_id)
            if row is None:
                return False
            if row["version"] != decision.version:
                raise StaleVersion(row["version"])
            others = await _find_others(conn, row, decision)
            for other_id in others:
                await conn.execute(
                    _DECIDE,
                    tenant_id,
                    trade_id,
                    other_id,
                    "same" if decision.is_same else "distinct",
                    decision.comment,
                    decision.reviewer,
                    decision.api_key_id,
                )
            await conn.execute(_RAISE_VERSION, trade_id)
            keys = await conn.fetch(_LIST_KEYS, tenant_id, [trade_id, *others])
            await judge_similar_trades(conn, tenant_id, [key["match_key"] for key in keys])
            return True


async def _list_statements(conn: DatabaseSession, row: Any) -> list[Any]:
    first = row["duplicate_of"] or row["trade_id"]
    found = await conn.fetch(_STATEMENTS, row["tenant_id"], row["match_key"], first, _MAX_STATEMENTS)
    return list(found)


async def _find_others(conn: DatabaseSession, row: Any, decision: TradeDecision) -> list[str]:
    """The trades that a decision is about.

    Raises:
        TradeDecisionRefused
    """
    if decision.other_trade_id is None:
        return await _find_usual_others(conn, row, decision)
    other = await conn.fetchrow(_FIND, decision.other_trade_id, row["tenant_id"])
    if other is None or other["trade_id"] == row["trade_id"]:
        raise TradeDecisionRefused("The other one that you name is no other trade of yours.")
    # What a corrected note takes back may differ in anything.
    if other["match_key"] != row["match_key"] and other["is_cancellation"] == row["is_cancellation"]:
        raise TradeDecisionRefused(
            "Their direction, quantity or day differ: correct the document that is wrong, and they are compared again."
        )
    return [other["trade_id"]]


async def _find_usual_others(conn: DatabaseSession, row: Any, decision: TradeDecision) -> list[str]:
    counterpart = row["duplicate_of"] or row["cancels"] or row["cancelled_by"]
    if counterpart is None:
        raise TradeDecisionRefused("The ledger names no other trade beside it: name it (other_trade_id; --other).")
    if decision.is_same or row["duplicate_of"] is None:
        return [counterpart]
    # Of all that state it: whichever of them counts one day, this one is another trade.
    statements = {other["trade_id"] for other in await _list_statements(conn, row)}
    return sorted((statements | {counterpart}) - {row["trade_id"]})


def _list_conditions(wanted: TradeFilter, before: int | None) -> Iterator[tuple[str, Any]]:
    yield "document_id = {}", wanted.document_id
    yield "doc_source_id = {}", wanted.doc_source_id
    yield "state = {}", wanted.state
    yield "isin = {}", None if wanted.isin is None else wanted.isin.upper()
    yield "trade_date >= {}", wanted.traded_from
    yield "trade_date <= {}", wanted.traded_to
    yield "updated_at >= {}", wanted.changed_since
    yield "order_id = {}", wanted.order_id
    # Of trades that count; what no order was looked for yet has none.
    yield "state = 'counted' and coalesce(order_match, 'unmatched') = {}", wanted.order_match
    order = _list_order(wanted)
    places = ", ".join("{}" for _ in order)
    yield f"({', '.join(order)}) < ({places})", None if before is None else read_position(wanted, before)
