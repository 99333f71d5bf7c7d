"""Matching of pending orders and trades in Postgres, security by security, after either of them changed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import asyncpg

from ingestion.adapters.trade_ledger import lock_ledger
from ingestion.domain.order_matching import (
    ExecutedTrade,
    MatchedTrade,
    OrderMatch,
    OrderTolerances,
    match_orders,
)
from ingestion.domain.pending_order import PendingOrder, find_order_state
from ingestion.domain.trade import Direction
from ingestion.domain.trade_ledger import TradeState, read_stored_trade
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

log = get_logger()

# The newest orders and trades of a security in one direction: older ones stay as they are.
_MAX_ORDERS = 300
_MAX_TRADES = 500
_MAX_ROUNDS = 5

_FIND_REQUEST = """
    select tenant_id, direction, instrument_key from ingestion.order_match_request order by entry_id limit 1
"""
# Under the lock of the ledger, which every requester holds: no request is added between this and the commit.
_DELETE_REQUESTS = """
    delete from ingestion.order_match_request where tenant_id = $1 and direction = $2 and instrument_key = any($3)
"""
# An order may name a ticker only, which a trade has beside the ISIN of other orders: round by round, until no key is
# new.
_LIST_KEYS = """
    select distinct unnest(instrument_keys) as instrument_key from (
        select instrument_keys from ingestion.pending_order
        where tenant_id = $1 and direction = $2 and instrument_keys && $3
        union all
        select instrument_keys from ingestion.trade
        where tenant_id = $1 and fields ->> 'direction' = $2 and instrument_keys && $3 and state = 'counted'
    ) as related
"""
_LIST_ORDERS = """
    select * from ingestion.pending_order
    where tenant_id = $1 and direction = $2 and instrument_keys && $3
    order by ordered_on desc, seq desc limit $4
"""
_LIST_TRADES = """
    select * from ingestion.trade
    where tenant_id = $1 and fields ->> 'direction' = $2 and instrument_keys && $3
      and (state = 'counted' or order_match is not null)
    order by trade_date desc nulls last, seq desc limit $4
"""
_EXECUTED_ELSEWHERE = """
    select order_id, sum((fields ->> 'quantity')::numeric) as quantity from ingestion.trade
    where tenant_id = $1 and order_id = any($2) and not trade_id = any($3) group by order_id
"""
_WRITE_TRADE = """
    update ingestion.trade
    set order_match = $2, order_id = $3, order_candidates = $4, version = version + 1, updated_at = now()
    where trade_id = $1 and (order_match, order_id, order_candidates) is distinct from ($2, $3, $4::text[])
"""
_WRITE_ORDER = """
    update ingestion.pending_order set executed_quantity = $2, state = $3, updated_at = now()
    where order_id = $1 and (executed_quantity, state) is distinct from ($2, $3)
"""


class PgOrderMatcher:
    """`OrderMatcher` of ports/housekeeping.py."""

    def __init__(self, pool: asyncpg.Pool, tolerances: OrderTolerances) -> None:
        self._pool = pool
        self._tolerances = tolerances

    async def match_next(self) -> bool:
        async with acquire_session(self._pool) as conn:
            wanted = await conn.fetchrow(_FIND_REQUEST)
        if wanted is None:
            return False
        try:
            await self._match_requested(wanted)
        except Retryable:
            raise
        except Exception:  # the edge of one security: others are matched, and documents are read
            # A bug of ours: what is linked of this security stays as it is until something of it changes.
            log.exception("order_matching_failed", tenant_id=wanted["tenant_id"])
            async with acquire_session(self._pool) as conn:
                await conn.execute(
                    _DELETE_REQUESTS, wanted["tenant_id"], wanted["direction"], [wanted["instrument_key"]]
                )
        return True

    async def _match_requested(self, wanted: Any) -> None:
        tenant_id, direction = wanted["tenant_id"], wanted["direction"]
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            keys = await _collect_keys(conn, tenant_id, direction, wanted["instrument_key"])
            await conn.execute(_DELETE_REQUESTS, tenant_id, direction, keys)
            await self._match_security(conn, tenant_id, direction, keys)

    async def _match_security(self, conn: DatabaseSession, tenant_id: str, direction: str, keys: list[str]) -> None:
        order_rows = await conn.fetch(_LIST_ORDERS, tenant_id, direction, keys, _MAX_ORDERS)
        listed = await conn.fetch(_LIST_TRADES, tenant_id, direction, keys, _MAX_TRADES)
        order_ids = [row["order_id"] for row in order_rows]
        # Those of an order that is older than all that are looked at stay as they are.
        trade_rows = [row for row in listed if row["order_id"] is None or row["order_id"] in set(order_ids)]
        trade_ids = [row["trade_id"] for row in trade_rows]
        elsewhere = await conn.fetch(_EXECUTED_ELSEWHERE, tenant_id, order_ids, trade_ids)
        executed = {row["order_id"]: row["quantity"] or Decimal(0) for row in elsewhere}
        orders = [_read_order(row, executed.get(row["order_id"], Decimal(0))) for row in order_rows]
        trades = [self._read_trade(row) for row in trade_rows if row["state"] == TradeState.COUNTED]
        # A second of work where a security has very many: other documents are read meanwhile.
        matched = await asyncio.to_thread(match_orders, orders, trades)
        await conn.executemany(_WRITE_TRADE, [_build_trade_row(row["trade_id"], matched) for row in trade_rows])
        await conn.executemany(_WRITE_ORDER, list(_build_order_rows(orders, trades, matched)))

    def _read_trade(self, row: Any) -> ExecutedTrade:
        return ExecutedTrade(
            trade_id=row["trade_id"],
            trade=read_stored_trade(row["fields"]),
            tolerance=self._tolerances.find_tolerance(row["tenant_id"], row["doc_source_id"]),
            decided_order_id=row["decided_order_id"],
        )


async def _collect_keys(conn: DatabaseSession, tenant_id: str, direction: str, key: str) -> list[str]:
    keys = {key}
    for _ in range(_MAX_ROUNDS):
        rows = await conn.fetch(_LIST_KEYS, tenant_id, direction, sorted(keys))
        found = keys | {row["instrument_key"] for row in rows}
        if found == keys:
            break
        keys = found
    return sorted(keys)


def _read_order(row: Any, executed: Decimal) -> PendingOrder:
    return PendingOrder(
        order_id=row["order_id"],
        external_id=row["external_id"],
        direction=Direction(row["direction"]),
        quantity=row["quantity"],
        ordered_on=row["ordered_on"],
        valid_until=row["valid_until"],
        isin=row["isin"],
        wkn=row["wkn"],
        ticker=row["ticker"],
        account=row["account"],
        limit_price=row["limit_price"],
        currency=row["currency"],
        executed=executed,
    )


def _build_trade_row(trade_id: str, matched: Mapping[str, MatchedTrade]) -> tuple[Any, ...]:
    """Of a trade that does not count any more nothing is left."""
    found = matched.get(trade_id)
    if found is None:
        return trade_id, None, None, None
    candidates = list(found.candidates) if found.match is OrderMatch.AMBIGUOUS else None
    return trade_id, found.match.value, found.order_id, candidates


def _build_order_rows(
    orders: Sequence[PendingOrder], trades: Sequence[ExecutedTrade], matched: Mapping[str, MatchedTrade]
) -> Iterable[tuple[Any, ...]]:
    by_order: dict[str, list[ExecutedTrade]] = {}
    for trade in trades:
        if (order_id := matched[trade.trade_id].order_id) is not None:
            by_order.setdefault(order_id, []).append(trade)
    for order in orders:
        linked = by_order.get(order.order_id, [])
        executed = order.executed + sum((trade.trade.quantity or Decimal(0) for trade in linked), Decimal(0))
        slack = max((order.quantity * trade.tolerance.quantity_percent / 100 for trade in linked), default=Decimal(0))
        yield order.order_id, executed, find_order_state(order, executed, slack).value
