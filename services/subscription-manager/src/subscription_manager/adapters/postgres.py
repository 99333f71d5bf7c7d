"""Connections in Postgres: every change locks the row, and publishes in the same transaction what others must know."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from mailroom_common.events import SyncReason
from mailroom_common.kafka.headers import VERSION
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import acquire_session, open_transaction
from mailroom_common.topics import DOC_SOURCES, SYNC_REQUESTS
from subscription_manager.adapters.rows import (
    connection_of,
    doc_source_values,
    email_values,
    subscription_values,
)
from subscription_manager.domain.connection import Connection, State, as_event, is_news, sync_request
from subscription_manager.ports import AlreadyConnected, Change, Published

SCHEMA = "subscription_manager"

_SELECT = """
select d.*, e.address, e.aliases, e.connection_status, e.connection_reason, e.last_error, e.last_successful_sync_at,
       s.subscription_id, s.resource, s.notification_url, s.lifecycle_url, s.expires_at, s.status, s.touched_at,
       s.client_state_sha256, s.renew_asked_at, s.renewals
from subscription_manager.doc_source d
join subscription_manager.doc_source_email e on e.doc_source_id = d.id
left join subscription_manager.subscription_state s on s.doc_source_id = d.id
"""

# A statement of its own: one that waits for a row's lock reads that row anew and what it joins as it was before.
_LOCK = "select from subscription_manager.doc_source where id = $1 for update"

_INSERT_DOC_SOURCE = """
insert into subscription_manager.doc_source
    (id, tenant_id, provider, profile, access, state, version, provider_user_id, provider_tenant, folders, start_at,
     grant_generation, client_states, attention_at, attempts, backstop_at, ended_at, forgotten_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
on conflict (id) do update set
    state = $6, version = $7, provider_user_id = $8, provider_tenant = $9, folders = $10, start_at = $11,
    grant_generation = $12, client_states = $13, attention_at = $14, attempts = $15, backstop_at = $16,
    ended_at = $17, forgotten_at = $18
"""

_INSERT_EMAIL = """
insert into subscription_manager.doc_source_email
    (doc_source_id, provider, address, aliases, provider_user_id, connection_status, connection_reason, last_error,
     last_successful_sync_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (doc_source_id) do update set
    address = $3, aliases = $4, provider_user_id = $5, connection_status = $6, connection_reason = $7, last_error = $8,
    last_successful_sync_at = $9
"""

_INSERT_SUBSCRIPTION = """
insert into subscription_manager.subscription_state
    (doc_source_id, subscription_id, resource, notification_url, lifecycle_url, expires_at, status,
     client_state_sha256, touched_at, renew_asked_at, renewals)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (doc_source_id) do update set
    subscription_id = $2, resource = $3, notification_url = $4, lifecycle_url = $5, expires_at = $6, status = $7,
    client_state_sha256 = $8, touched_at = $9, renew_asked_at = $10, renewals = $11
"""

_CLAIM_ATTENTION = """
update subscription_manager.doc_source set attention_at = $1::timestamptz + $2::interval
where id in (
    select id from subscription_manager.doc_source where attention_at <= $1 order by attention_at limit $3
    for update skip locked
)
returning id
"""

_CLAIM_BACKSTOPS = """
update subscription_manager.doc_source
set backstop_at = $1::timestamptz + $2::interval * (0.95 + random() * 0.05)
where id in (
    select id from subscription_manager.doc_source where state = 'active' and backstop_at <= $1
    order by backstop_at limit $3 for update skip locked
)
returning id, tenant_id
"""

_LOOK_AT_MISDIRECTED = """
update subscription_manager.doc_source set attention_at = $1
where provider = 'outlook' and state in ('active', 'paused') and id in (
    select doc_source_id from subscription_manager.subscription_state
    where (notification_url, lifecycle_url) is distinct from ($2, $3)
)
"""


class PgConnections:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def add(self, new: Connection, *, ask: SyncReason | None = None) -> None:
        async with open_transaction(self._pool) as conn:
            await self._store(conn, new)
            await self._publish(conn, new)
            if ask is not None:
                await self._ask(conn, new.id, new.tenant_id, ask)

    async def find(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        async with acquire_session(self._pool) as conn:
            return await _read(conn, doc_source_id, tenant_id, for_update=False)

    async def page(self, tenant_id: str, *, after: tuple[datetime, str] | None, limit: int) -> Sequence[Connection]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                f"{_SELECT} where d.tenant_id = $1 and d.state <> 'gone' "  # a constant
                "and ($2::timestamptz is null or (d.created_at, d.id) > ($2, $3::uuid)) "
                "order by d.created_at, d.id limit $4",
                tenant_id,
                after[0] if after else None,
                after[1] if after else None,
                limit,
            )
        return [connection_of(row) for row in rows]

    @asynccontextmanager
    async def change(self, doc_source_id: str, *, tenant_id: str | None = None) -> AsyncIterator[Change | None]:
        async with open_transaction(self._pool) as conn:
            found = await _read(conn, doc_source_id, tenant_id, for_update=True)
            yield None if found is None else _PgChange(self, conn, found)

    async def claim_attention(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            return [str(row["id"]) for row in await conn.fetch(_CLAIM_ATTENTION, now, lease, limit)]

    async def ask_for_backstops(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        async with open_transaction(self._pool) as conn:
            claimed = await conn.fetch(_CLAIM_BACKSTOPS, now, interval, limit)
            for row in claimed:
                await self._ask(conn, str(row["id"]), row["tenant_id"], SyncReason.BACKSTOP)
        return len(claimed)

    async def others_of_account(self, of: Connection) -> Sequence[Connection]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                f"{_SELECT} where d.provider = $1 and d.id <> $2 and d.ended_at is null "  # a constant
                "and d.state in ('active', 'paused', 'deleting') "
                "and (lower(e.address) = lower($3) or d.provider_user_id = $4)",
                of.provider.value,
                of.id,
                of.address,
                of.provider_user_id,
            )
        return [connection_of(row) for row in rows]

    async def known_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select subscription_id from subscription_manager.subscription_state where subscription_id = any($1)",
                list(subscription_ids),
            )
        return frozenset(row["subscription_id"] for row in rows)

    async def look_at_misdirected(self, now: datetime, *, notification_url: str, lifecycle_url: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_LOOK_AT_MISDIRECTED, now, notification_url, lifecycle_url)

    async def published(self) -> Sequence[Published]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select id, version, state from subscription_manager.doc_source d where not exists ("
                "select from subscription_manager.outbox o where o.topic = $1 and o.key = d.id::text)",
                DOC_SOURCES.name,
            )
        return [Published(str(row["id"]), row["version"], row["state"] == State.GONE) for row in rows]

    async def publish_again(self, doc_source_id: str) -> None:
        async with open_transaction(self._pool) as conn:
            await conn.execute(_LOCK, doc_source_id)
            row = await conn.fetchrow(f"{_SELECT} where d.id = $1", doc_source_id)
            if row is not None:
                await self._publish(conn, connection_of(row))

    async def save(
        self, conn: PoolConnectionProxy, before: Connection, after: Connection, ask: SyncReason | None
    ) -> Connection:
        """Within the transaction of a change."""
        stored = replace(after, version=before.version + 1) if is_news(before, after) else after
        await self._store(conn, stored)
        if stored.version != before.version:
            await self._publish(conn, stored)
        if ask is not None:
            await self._ask(conn, stored.id, stored.tenant_id, ask)
        return stored

    async def _store(self, conn: PoolConnectionProxy, new: Connection) -> None:
        try:
            await conn.execute(_INSERT_DOC_SOURCE, *doc_source_values(new))
        except asyncpg.UniqueViolationError as error:
            raise AlreadyConnected from error
        await conn.execute(_INSERT_EMAIL, *email_values(new))
        if new.subscription is None:
            await conn.execute("delete from subscription_manager.subscription_state where doc_source_id = $1", new.id)
        else:
            await conn.execute(_INSERT_SUBSCRIPTION, *subscription_values(new.id, new.subscription))

    async def _publish(self, conn: PoolConnectionProxy, shown: Connection) -> None:
        # The version is in a header too: a tombstone has no value to carry it.
        headers = {VERSION: str(shown.version)}
        event = as_event(shown, self._clock())
        await self._outbox.append_record(conn, DOC_SOURCES, shown.id, event, aggregate=shown.id, headers=headers)

    async def _ask(self, conn: PoolConnectionProxy, doc_source_id: str, tenant_id: str, reason: SyncReason) -> None:
        request = sync_request(doc_source_id, tenant_id, reason, self._clock())
        await self._outbox.append_record(conn, SYNC_REQUESTS, doc_source_id, request, aggregate=doc_source_id)


class _PgChange:
    def __init__(self, connections: PgConnections, conn: PoolConnectionProxy, found: Connection) -> None:
        self._connections = connections
        self._conn = conn
        self.connection = found

    async def save(self, connection: Connection, *, ask: SyncReason | None = None) -> Connection:
        self.connection = await self._connections.save(self._conn, self.connection, connection, ask)
        return self.connection


async def _read(
    conn: PoolConnectionProxy, doc_source_id: str, tenant_id: str | None, *, for_update: bool
) -> Connection | None:
    if not _is_id(doc_source_id):
        return None
    if for_update:
        await conn.execute(_LOCK, doc_source_id)
    row = await conn.fetchrow(
        f"{_SELECT} where d.id = $1 and d.state <> 'gone' and ($2::text is null or d.tenant_id = $2)",
        doc_source_id,
        tenant_id,
    )
    return None if row is None else connection_of(row)


def _is_id(text: str) -> bool:
    """Ids come from paths and from records' keys: what is no UUID names none of ours."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
