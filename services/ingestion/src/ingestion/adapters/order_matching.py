"""Matching of pending orders and trades in Postgres, security by security, after either of them changed."""

import asyncio
from collections.abc import Mapping, Sequence
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
    sum_executions,
)
from ingestion.domain.pending_order import PendingOrder
from ingestion.domain.trade import Direction, read_stored_trade
from ingestion.domain.trade_ledger import TradeState
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

log = get_logger()

# The newest orders and trades of a security in one direction: older ones stay as they are.
_MAX_ORDERS = 300
_MAX_TRADES = 500
_MAX_ROUNDS = 5

_FIND_REQUEST = """
    select tenant_id, direction, instrument_key from ingestion.order_match_request
    where tenant_id > $1 order by tenant_id, entry_id limit 1
"""
# Under the lock of the ledger, which every requester holds: no request is added between this and the commit.
_DELETE_REQUESTS = """
    delete from ingestion.order_match_request where tenant_id = $1 and direction = $2 and instrument_key = any($3)
"""
# Key by key, each by the index of its place, and no further than to the newest ones: a tenant may have a hundred
# thousand trades of one security.
_PLACES = (1, 2, 3)  # ISIN, WKN, ticker, as far as a trade or an order has them
_FIND_ORDERS = " union ".join(
    f"""
    (select order_id from ingestion.pending_order
     where tenant_id = $1 and direction = $2 and instrument_keys[{place}] = wanted.instrument_key
     order by ordered_on desc, seq desc limit $4)
    """  # noqa: S608  # constants
    for place in _PLACES
)
_FIND_TRADES = " union ".join(
    f"""
    (select trade_id from ingestion.trade
     where tenant_id = $1 and fields ->> 'direction' = $2 and instrument_keys[{place}] = wanted.instrument_key
       and (state = 'counted' or order_match is not null)
     order by trade_date desc nulls last, seq desc limit $4)
    """  # noqa: S608  # constants
    for place in _PLACES
)
_LIST_ORDERS = f"""
    select * from ingestion.pending_order where order_id = any(array(
        select found.order_id from unnest($3::text[]) as wanted(instrument_key)
        cross join lateral ({_FIND_ORDERS}) as found
    ))
    order by ordered_on desc, seq desc limit $4
"""  # noqa: S608  # constants
_LIST_TRADES = f"""
    select * from ingestion.trade where trade_id = any(array(
        select found.trade_id from unnest($3::text[]) as wanted(instrument_key)
        cross join lateral ({_FIND_TRADES}) as found
    ))
    order by trade_date desc nulls last, seq desc limit $4
"""  # noqa: S608  # constants
_EXECUTED_ELSEWHERE = """
    select order_id, sum((fields ->> 'quantity')::numeric) as quantity from ingestion.trade
    where tenant_id = $1 and order_id = any($2) and not trade_id = any($3) group by order_id
"""
_WRITE_TRADE = """
    update ingestion.trade
    set order_match = $2, order_id = $3, order_candidates = $4, version = version + 1, updated_at = clock_timestamp()
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
        self._last_tenant = ""

    async def match_next(self) -> bool:
        wanted = await self._find_request_in_turn()
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

    async def _find_request_in_turn(self) -> Any:
        """Of the next tenant that has one: orders by the ten thousand of one hold up no other's."""
        async with acquire_session(self._pool) as conn:
            for after in dict.fromkeys((self._last_tenant, "")):
                if (wanted := await conn.fetchrow(_FIND_REQUEST, after)) is not None:
                    self._last_tenant = wanted["tenant_id"]
                    return wanted
        return None

    async def _match_requested(self, wanted: Any) -> None:
        tenant_id, direction = wanted["tenant_id"], wanted["direction"]
        async with open_transaction(self._pool) as conn:
            await lock_ledger(conn, tenant_id)
            # Another instance may have matched it while this one waited for the ledger.
            if await conn.execute(_DELETE_REQUESTS, tenant_id, direction, [wanted["instrument_key"]]) == "DELETE 0":
                return
            keys, order_rows, trade_rows = await _collect_security(conn, tenant_id, direction, wanted["instrument_key"])
            await conn.execute(_DELETE_REQUESTS, tenant_id, direction, keys)
            await self._match_security(conn, tenant_id, order_rows, trade_rows)

    async def _match_security(
        self, conn: DatabaseSession, tenant_id: str, order_rows: Sequence[Any], listed: Sequence[Any]
    ) -> None:
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
        executions = sum_executions(orders, trades, matched)
        await conn.executemany(_WRITE_ORDER, [(one.order_id, one.executed, one.state.value) for one in executions])

    def _read_trade(self, row: Any) -> ExecutedTrade:
        return ExecutedTrade(
            trade_id=row["trade_id"],
            trade=read_stored_trade(row["fields"]),
            tolerance=self._tolerances.find_tolerance(row["tenant_id"], row["doc_source_id"]),
            decided_order_id=row["decided_order_id"],
        )


async def _collect_security(
    conn: DatabaseSession, tenant_id: str, direction: str, key: str
) -> tuple[list[str], list[Any], list[Any]]:
    """All keys of a security, and the newest orders and trades that have one of them.

    An order may name a ticker only, which a trade has beside the ISIN of other orders: round by round, until no key is
    new.
    """
    keys = {key}
    for _ in range(_MAX_ROUNDS):
        orders = await conn.fetch(_LIST_ORDERS, tenant_id, direction, sorted(keys), _MAX_ORDERS)
        trades = await conn.fetch(_LIST_TRADES, tenant_id, direction, sorted(keys), _MAX_TRADES)
        found = keys.union(*(row["instrument_keys"] for row in (*orders, *trades)))
        if found == keys:
            break
        keys = found
    return sorted(keys), orders, trades


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
    """Where the trade does not count any more, its link to an order is removed."""
    found = matched.get(trade_id)
    if found is None:
        return trade_id, None, None, None
    candidates = list(found.candidates) if found.match is OrderMatch.AMBIGUOUS else None
    return trade_id, found.match.value, found.order_id, candidates
