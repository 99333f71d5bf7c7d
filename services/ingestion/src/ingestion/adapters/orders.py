"""Pending orders in Postgres: always of one tenant, each once by the id that its sender gave it."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import asyncpg

from ingestion.adapters.list_statement import build_list_statement
from ingestion.adapters.trade_ledger import lock_ledger, request_matching
from ingestion.domain.pending_order import ORDER_FIELDS, OrderTerms, build_order_view
from ingestion.domain.trade_matching import list_instrument_keys
from ingestion.ports.orders import OrderFilter, StoredOrders
from ingestion.ports.reviews import StaleVersion
from ingestion.ports.trades import TradeDecisionRefused
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

_BATCH = 500
_MAX_TRADES = 100

_VALUES = ORDER_FIELDS[1:]  # what may change of an order: all but the id that its sender gave it
_LIST = "select * from ingestion.pending_order"
_LIST_KNOWN = "select * from ingestion.pending_order where tenant_id = $1 and external_id = any($2)"
_INSERT = """
    insert into ingestion.pending_order (order_id, tenant_id, external_id, instrument_keys, direction, quantity, isin,
                                         wkn, ticker, account, limit_price, currency, ordered_on, valid_until)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
_UPDATE = """
    update ingestion.pending_order
    set instrument_keys = $2, direction = $3, quantity = $4, isin = $5, wkn = $6, ticker = $7, account = $8,
        limit_price = $9, currency = $10, ordered_on = $11, valid_until = $12, updated_at = now()
    where order_id = $1
"""
_FIND = "select * from ingestion.pending_order where order_id = $1 and tenant_id = $2"
_FIND_BY_EXTERNAL_ID = "select * from ingestion.pending_order where external_id = $1 and tenant_id = $2"
_LIST_TRADE_IDS = "select trade_id from ingestion.trade where order_id = $1 and tenant_id = $2 order by seq limit $3"
_DELETE = "delete from ingestion.pending_order where order_id = $1"
# Also where a person named it: there is nothing left that the trade could be of.
_UNLINK_TRADES = """
    update ingestion.trade
    set order_match = 'unmatched', order_id = null, decided_order_id = null, version = version + 1,
        updated_at = clock_timestamp()
    where tenant_id = $2 and (order_id = any($1) or decided_order_id = any($1))
"""
_FIND_TRADE = "select * from ingestion.trade where trade_id = $1 and tenant_id = $2"
_LINK_TRADE = """
    update ingestion.trade
    set decided_order_id = $2, order_id = coalesce($2, order_id),
        order_match = case when $2::text is null then order_match else 'decided' end,
        order_candidates = null, version = version + 1, updated_at = clock_timestamp()
    where trade_id = $1
"""


class PgPendingOrders:
    """`PendingOrders` of ports/orders.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def store_orders(self, tenant_id: str, orders: Sequence[OrderTerms]) -> StoredOrders:
        created = updated = 0
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            for start in range(0, len(orders), _BATCH):
                new, changed = await _store_batch(conn, tenant_id, orders[start : start + _BATCH])
                created, updated = created + new, updated + changed
        return StoredOrders(created, updated, len(orders) - created - updated)

    async def list_orders(
        self, tenant_id: str, wanted: OrderFilter, *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        statement, values = build_list_statement(_LIST, tenant_id, _list_conditions(wanted, before), limit + 1)
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(statement, *values)
        page = rows[:limit]
        return [build_order_view(dict(row)) for row in page], page[-1]["seq"] if len(rows) > limit else None

    async def find_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None:
        """With the trades that executed it."""
        return await self._find(_FIND, order_id, tenant_id)

    async def find_external(self, tenant_id: str, external_id: str) -> dict[str, Any] | None:
        return await self._find(_FIND_BY_EXTERNAL_ID, external_id, tenant_id)

    async def _find(self, statement: str, name: str, tenant_id: str) -> dict[str, Any] | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(statement, name, tenant_id)
            if row is None:
                return None
            trades = await conn.fetch(_LIST_TRADE_IDS, row["order_id"], tenant_id, _MAX_TRADES)
        return {**build_order_view(dict(row)), "trades": [trade["trade_id"] for trade in trades]}

    async def delete_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None:
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            row = await conn.fetchrow(_FIND, order_id, tenant_id)
            if row is None:
                return None
            trades = await conn.fetch(_LIST_TRADE_IDS, order_id, tenant_id, _MAX_TRADES)
            # Before the last order of a tenant is deleted: without any order no matching is requested.
            await request_matching(conn, tenant_id, {(row["direction"], key) for key in row["instrument_keys"]})
            await conn.execute(_UNLINK_TRADES, [order_id], tenant_id)
            await conn.execute(_DELETE, order_id)
            return {**build_order_view(dict(row)), "trades": [trade["trade_id"] for trade in trades]}

    async def link_trade(self, tenant_id: str, trade_id: str, order_id: str | None, *, version: int) -> bool:
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            trade = await conn.fetchrow(_FIND_TRADE, trade_id, tenant_id)
            if trade is None:
                return False
            if trade["version"] != version:
                raise StaleVersion(trade["version"])
            await _require_order(conn, tenant_id, trade, order_id)
            await conn.execute(_LINK_TRADE, trade_id, order_id)
            direction = trade["fields"]["direction"]
            await request_matching(conn, tenant_id, {(direction, key) for key in trade["instrument_keys"]})
            return True


async def _store_batch(conn: DatabaseSession, tenant_id: str, orders: Sequence[OrderTerms]) -> tuple[int, int]:
    """How many were new, and how many were changed."""
    rows = await conn.fetch(_LIST_KNOWN, tenant_id, [order.external_id for order in orders])
    known = {row["external_id"]: row for row in rows}
    new = [order for order in orders if order.external_id not in known]
    changed = [
        (known[order.external_id], order)
        for order in orders
        if order.external_id in known and _list_values(order) != _list_known(known[order.external_id])
    ]
    await conn.executemany(_INSERT, [_build_new_row(tenant_id, order) for order in new])
    await conn.executemany(
        _UPDATE, [(row["order_id"], _list_keys(order), *_list_values(order)) for row, order in changed]
    )
    # Of another security now: it has no trades until it is matched again.
    moved = [
        row["order_id"]
        for row, order in changed
        if (row["direction"], row["instrument_keys"]) != (order.direction.value, _list_keys(order))
    ]
    if moved:
        await conn.execute(_UNLINK_TRADES, moved, tenant_id)
    stored = [*new, *(order for _, order in changed)]
    securities = {(order.direction.value, key) for order in stored for key in _list_keys(order)}
    securities |= {(row["direction"], key) for row, _ in changed for key in row["instrument_keys"]}
    await request_matching(conn, tenant_id, securities)
    return len(new), len(changed)


async def _require_order(conn: DatabaseSession, tenant_id: str, trade: Any, order_id: str | None) -> None:
    """
    Raises:
        TradeDecisionRefused
    """
    if order_id is None:
        return
    order = await conn.fetchrow(_FIND, order_id, tenant_id)
    if order is None:
        raise TradeDecisionRefused("There is no such pending order.")
    is_shared = set(order["instrument_keys"]) & set(trade["instrument_keys"])
    if order["direction"] != trade["fields"]["direction"] or not is_shared:
        raise TradeDecisionRefused("The order is of another direction or security than the trade.")
    if trade["state"] != "counted":
        raise TradeDecisionRefused("Only a trade that counts has an order.")


def _list_keys(order: OrderTerms) -> list[str]:
    return list_instrument_keys(order.as_trade)


def _list_values(order: OrderTerms) -> list[Any]:
    return [order.direction.value, *(getattr(order, name) for name in _VALUES[1:])]


def _list_known(row: Any) -> list[Any]:
    return [row[name] for name in _VALUES]


def _build_new_row(tenant_id: str, order: OrderTerms) -> tuple[Any, ...]:
    return (str(uuid4()), tenant_id, order.external_id, _list_keys(order), *_list_values(order))


def _list_conditions(wanted: OrderFilter, before: int | None) -> Iterator[tuple[str, Any]]:
    yield "state = {}", wanted.state
    yield "external_id = {}", wanted.external_id
    yield "instrument_keys && array['isin:' || {}::text]", wanted.isin
    yield "seq < {}", before
