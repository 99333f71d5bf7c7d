"""Connections in Postgres: every change locks the row, and publishes in the same transaction what others must know.

The locks over all instances are here too: session advisory locks, each on a session of its own.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from pydantic import SecretStr

from mailroom_common.events import SyncReason
from mailroom_common.kafka.headers import VERSION
from mailroom_common.locks import SessionLock, hold_session_lock
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import acquire_session, open_transaction
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topics import DOC_SOURCES, SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL
from subscription_manager.adapters.connection_rows import (
    doc_source_values,
    email_values,
    parse_connection,
    subscription_values,
)
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    build_doc_source_event,
    build_sync_request,
    raise_version,
)
from subscription_manager.domain.subscription_schedule import WebhookURLs
from subscription_manager.ports import LockedConnection, MailboxAlreadyConnected, PublishedVersion

SCHEMA = "subscription_manager"

_LOCK_WAIT_S = 5  # who has it is doing the same work, or it is free within a lease

_SELECT = """
select d.*, e.address, e.aliases, e.connection_status, e.connection_reason, e.current_error, e.last_successful_sync_at,
       e.sync_trouble, e.subscription_trouble,
       s.subscription_id, s.resource, s.notification_url, s.lifecycle_url, s.expires_at, s.status,
       s.created_or_renewed_at, s.client_state_sha256, s.renewal_requested_at, s.renewal_count
from subscription_manager.doc_source d
join subscription_manager.doc_source_email e on e.doc_source_id = d.id
left join subscription_manager.subscription_state s on s.doc_source_id = d.id
"""

# Letters of ASCII alone, whatever the database's locale: that of Turkish has `i` for no `I`. As the index has it.
_IS_ADDRESS = 'lower(e.address collate "C") = lower({}::text collate "C")'

# Each of the two by its index: with `or` between them all doc sources are gone through.
_OTHERS_OF_ACCOUNT = f"""
{_SELECT}
where d.id = any(array(
          select e.doc_source_id from subscription_manager.doc_source_email e where {_IS_ADDRESS.format("$3")}
          union
          select of_user.id from subscription_manager.doc_source of_user
          where of_user.provider = $1 and of_user.provider_user_id = $4))
  and d.provider = $1 and d.id <> $2 and d.provider_ended_at is null and d.state in ('active', 'paused', 'deleting')
"""  # noqa: S608  # constants

# A statement of its own: one that waits for a row's lock reads that row anew and what it joins as it was before.
_LOCK_ROW = "select from subscription_manager.doc_source where id = $1 for update"

_UPSERT_DOC_SOURCE = """
insert into subscription_manager.doc_source
    (id, tenant_id, provider, profile, access, state, published_version, provider_user_id, provider_tenant, folders,
     start_at, grant_generation, client_state_hashes, next_check_at, failed_attempts, next_backstop_at,
     provider_ended_at, sync_rows_deleted_at, created_at, relist_from, relist_number,
     earlier_relists, version_before_deletion, filter)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
on conflict (id) do update set
    state = $6, published_version = $7, provider_user_id = $8, provider_tenant = $9, folders = $10, start_at = $11,
    grant_generation = $12, client_state_hashes = $13, next_check_at = $14, failed_attempts = $15,
    next_backstop_at = $16, provider_ended_at = $17, sync_rows_deleted_at = $18, relist_from = $20, relist_number = $21,
    earlier_relists = $22, version_before_deletion = $23, filter = $24
"""

_UPSERT_EMAIL = """
insert into subscription_manager.doc_source_email
    (doc_source_id, provider, address, aliases, provider_user_id, connection_status, connection_reason, current_error,
     last_successful_sync_at, sync_trouble, subscription_trouble)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (doc_source_id) do update set
    address = $3, aliases = $4, provider_user_id = $5, connection_status = $6, connection_reason = $7,
    current_error = $8, last_successful_sync_at = $9, sync_trouble = $10, subscription_trouble = $11
"""

_UPSERT_SUBSCRIPTION = """
insert into subscription_manager.subscription_state
    (doc_source_id, subscription_id, resource, notification_url, lifecycle_url, expires_at, status,
     client_state_sha256, created_or_renewed_at, renewal_requested_at, renewal_count)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (doc_source_id) do update set
    subscription_id = $2, resource = $3, notification_url = $4, lifecycle_url = $5, expires_at = $6, status = $7,
    client_state_sha256 = $8, created_or_renewed_at = $9, renewal_requested_at = $10, renewal_count = $11
"""

# `skip locked`: two instances that claim at once take different rows instead of waiting for each other.
_CLAIM_DUE_CHECKS = """
update subscription_manager.doc_source set next_check_at = $1::timestamptz + $2::interval
where id in (
    select id from subscription_manager.doc_source where next_check_at <= $1 order by next_check_at limit $3
    for update skip locked
)
returning id
"""

# A little less than the interval, at random: what was connected together is not synced together for ever.
_CLAIM_DUE_BACKSTOPS = """
update subscription_manager.doc_source
set next_backstop_at = $1::timestamptz + $2::interval * (0.95 + random() * 0.05)
where id in (
    select id from subscription_manager.doc_source where state = 'active' and next_backstop_at <= $1
    order by next_backstop_at limit $3 for update skip locked
)
returning id, tenant_id
"""

# A link that was made lately may have been sent to somebody: they are to find what it was made for. One whose consent a
# restore has lost was a mailbox at work: its rows and its cursors are kept until somebody consents again or deletes it.
_LIST_EXPIRED_PENDING = """
select id from subscription_manager.doc_source d
where state = 'pending' and created_at < $1 and not exists (
    select from subscription_manager.oauth_request r
    where r.doc_source_id = d.id and r.expires_at > $2::timestamptz - interval '2 days'
) and not exists (
    select from subscription_manager.doc_source_email e
    where e.doc_source_id = d.id and e.connection_reason = 'consent_lost'
)
order by created_at limit $3
"""

# One that the provider removed is made anew; until then another metric counts the steps that fail.
_EARLIEST_EXPIRIES = """
select d.provider, min(s.expires_at) as expires_at
from subscription_manager.doc_source d join subscription_manager.subscription_state s on s.doc_source_id = d.id
where d.state = 'active' and s.status in ('active', 'expired')
group by d.provider
"""

_SCHEDULE_CHECKS_OF_MISDIRECTED = """
update subscription_manager.doc_source set next_check_at = $2
where provider = $1 and state in ('active', 'paused') and id in (
    select doc_source_id from subscription_manager.subscription_state
    where (notification_url, lifecycle_url) is distinct from ($3, $4)
)
"""


_PUBLISHED_VERSIONS = """
select id, published_version, state, exists (
    select from subscription_manager.outbox o where o.topic = $1 and o.key = d.id::text) as is_waiting
from subscription_manager.doc_source d
"""


class PgConnectionStore:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def add_connection(self, connection: Connection, *, request_sync: SyncReason | None = None) -> None:
        async with open_transaction(self._pool) as conn:
            await self._upsert_rows(conn, connection)
            await self._publish_version(conn, connection)
            if request_sync is not None:
                await self._request_sync(conn, connection.id, connection.tenant_id, request_sync)

    async def find_connection(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        async with acquire_session(self._pool) as conn:
            return await _read_connection(conn, doc_source_id, tenant_id, for_update=False)

    async def list_connections(
        self, tenant_id: str, *, address: str | None = None, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Connection]:
        by_address = "" if address is None else f"and {_IS_ADDRESS.format('$5')} "
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                f"{_SELECT} where d.tenant_id = $1 and d.state <> 'deleted' {by_address}"  # constants
                "and ($2::timestamptz is null or (d.created_at, d.id) > ($2, $3::uuid)) "
                "order by d.created_at, d.id limit $4",
                tenant_id,
                after[0] if after else None,
                after[1] if after else None,
                limit,
                *([] if address is None else [address]),
            )
        return [parse_connection(row) for row in rows]

    @asynccontextmanager
    async def lock_connection(
        self, doc_source_id: str, *, tenant_id: str | None = None
    ) -> AsyncIterator[LockedConnection | None]:
        async with open_transaction(self._pool) as conn:
            connection = await _read_connection(conn, doc_source_id, tenant_id, for_update=True)
            yield None if connection is None else _PgLockedConnection(self, conn, connection)

    async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            return [str(row["id"]) for row in await conn.fetch(_CLAIM_DUE_CHECKS, now, lease, limit)]

    async def find_next_check_time(self) -> datetime | None:
        async with acquire_session(self._pool) as conn:
            next_check_at: datetime | None = await conn.fetchval(
                "select min(next_check_at) from subscription_manager.doc_source"
            )
        return next_check_at

    async def find_earliest_expiries(self) -> Mapping[str, datetime]:
        async with acquire_session(self._pool) as conn:
            return {row["provider"]: row["expires_at"] for row in await conn.fetch(_EARLIEST_EXPIRIES)}

    async def count_pending(self, tenant_id: str, *, up_to: int) -> int:
        async with acquire_session(self._pool) as conn:
            count: int = await conn.fetchval(
                "select count(*) from (select from subscription_manager.doc_source "
                "where tenant_id = $1 and state = 'pending' limit $2) as pending",
                tenant_id,
                up_to,
            )
        return count

    async def list_expired_pending(self, created_before: datetime, now: datetime, limit: int) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            return [str(row["id"]) for row in await conn.fetch(_LIST_EXPIRED_PENDING, created_before, now, limit)]

    async def request_backstop_syncs(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        # Claim and request in one transaction: a crash between them would lose a backstop for a whole interval.
        async with open_transaction(self._pool) as conn:
            claimed = await conn.fetch(_CLAIM_DUE_BACKSTOPS, now, interval, limit)
            for row in claimed:
                await self._request_sync(conn, str(row["id"]), row["tenant_id"], SyncReason.BACKSTOP)
        return len(claimed)

    async def list_others_of_account(self, connection: Connection) -> Sequence[Connection]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                _OTHERS_OF_ACCOUNT, connection.provider, connection.id, connection.address, connection.provider_user_id
            )
        return [parse_connection(row) for row in rows]

    async def filter_current_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select subscription_id from subscription_manager.subscription_state where subscription_id = any($1)",
                list(subscription_ids),
            )
        return frozenset(row["subscription_id"] for row in rows)

    async def schedule_checks_of_misdirected(self, provider: str, urls: WebhookURLs, now: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_SCHEDULE_CHECKS_OF_MISDIRECTED, provider, now, urls.notification, urls.lifecycle)

    async def list_published_versions(self) -> Sequence[PublishedVersion]:
        async with acquire_session(self._pool) as conn:
            return [_parse_version(row) for row in await conn.fetch(_PUBLISHED_VERSIONS, DOC_SOURCES.name)]

    async def find_published_version(self, doc_source_id: str) -> PublishedVersion | None:
        if not _is_uuid(doc_source_id):
            return None
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(f"{_PUBLISHED_VERSIONS} where d.id = $2", DOC_SOURCES.name, doc_source_id)
        return None if row is None else _parse_version(row)

    async def republish_doc_source(self, doc_source_id: str) -> None:
        async with open_transaction(self._pool) as conn:
            # As each writer to the outbox: the row's lock first, so that versions enter the outbox in their order.
            await conn.execute(_LOCK_ROW, doc_source_id)
            row = await conn.fetchrow(f"{_SELECT} where d.id = $1", doc_source_id)
            if row is not None:
                await self._publish_version(conn, parse_connection(row))

    async def save_locked(
        self,
        conn: PoolConnectionProxy,
        before: Connection,
        after: Connection,
        request_sync: SyncReason | None,
        above_version: int | None,
    ) -> Connection:
        """Within the transaction that holds the row's lock."""
        stored = raise_version(before, after, above_version)
        await self._upsert_rows(conn, stored)
        if stored.published_version != before.published_version:
            await self._publish_version(conn, stored)
        if request_sync is not None:
            await self._request_sync(conn, stored.id, stored.tenant_id, request_sync)
        return stored

    async def _upsert_rows(self, conn: PoolConnectionProxy, connection: Connection) -> None:
        try:
            await conn.execute(_UPSERT_DOC_SOURCE, *doc_source_values(connection))
        except asyncpg.UniqueViolationError as error:
            # The only other unique column is the id, on which this statement updates.
            raise MailboxAlreadyConnected from error
        await conn.execute(_UPSERT_EMAIL, *email_values(connection))
        if connection.subscription is None:
            await conn.execute(
                "delete from subscription_manager.subscription_state where doc_source_id = $1", connection.id
            )
        else:
            await conn.execute(_UPSERT_SUBSCRIPTION, *subscription_values(connection.id, connection.subscription))

    async def _publish_version(self, conn: PoolConnectionProxy, connection: Connection) -> None:
        # The version is in a header too: a tombstone has no value to carry it.
        headers = {VERSION: str(connection.published_version)}
        event = build_doc_source_event(connection, self._clock())
        await self._outbox.append_record(
            conn, DOC_SOURCES, connection.id, event, aggregate=connection.id, headers=headers
        )

    async def _request_sync(
        self, conn: PoolConnectionProxy, doc_source_id: str, tenant_id: str, reason: SyncReason
    ) -> None:
        request = build_sync_request(doc_source_id, tenant_id, reason, self._clock())
        # A run that may take long has a lane of its own, so that it does not delay other mailboxes.
        topic = SYNC_REQUESTS_BACKFILL if reason is SyncReason.REPLAY else SYNC_REQUESTS
        await self._outbox.append_record(conn, topic, doc_source_id, request, aggregate=doc_source_id)


class _PgLockedConnection:
    def __init__(self, store: PgConnectionStore, conn: PoolConnectionProxy, connection: Connection) -> None:
        self._store = store
        self._conn = conn
        self.connection = connection

    async def save_connection(
        self, connection: Connection, *, request_sync: SyncReason | None = None, above_version: int | None = None
    ) -> Connection:
        before = self.connection
        self.connection = await self._store.save_locked(self._conn, before, connection, request_sync, above_version)
        return self.connection


class PgConnectionLocks:
    def __init__(self, database_url: SecretStr, tokens: TokenStore) -> None:
        self._url = database_url
        self._tokens = tokens

    @asynccontextmanager
    async def lock_doc_source(self, doc_source_id: str) -> AsyncIterator[SessionLock]:
        async with hold_session_lock(
            self._url, "creator", doc_source_id, application_name="doc-source-lock", wait_s=_LOCK_WAIT_S
        ) as lock:
            yield lock

    def lock_account(self, provider: str, account_key: str) -> AbstractAsyncContextManager[SessionLock]:
        return self._tokens.hold_account_lock(provider, account_key)


async def _read_connection(
    conn: PoolConnectionProxy, doc_source_id: str, tenant_id: str | None, *, for_update: bool
) -> Connection | None:
    if not _is_uuid(doc_source_id):
        return None
    if for_update:
        await conn.execute(_LOCK_ROW, doc_source_id)
    row = await conn.fetchrow(
        f"{_SELECT} where d.id = $1 and d.state <> 'deleted' and ($2::text is null or d.tenant_id = $2)",
        doc_source_id,
        tenant_id,
    )
    return None if row is None else parse_connection(row)


def _parse_version(row: asyncpg.Record) -> PublishedVersion:
    is_deleted = row["state"] == ConnectionState.DELETED
    return PublishedVersion(str(row["id"]), row["published_version"], is_deleted, row["is_waiting"])


def _is_uuid(text: str) -> bool:
    """Ids come from URL paths and from record keys: what is no UUID names none of our rows."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
