"""The table of doc sources in memory."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from connection_samples import Clock

from mailroom_common.events import DocSource, SyncReason
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    PendingReason,
    SubscriptionStatus,
    build_doc_source_event,
    raise_version,
)
from subscription_manager.domain.subscription_schedule import WebhookURLs
from subscription_manager.ports import (
    LockedConnection,
    MailboxAlreadyConnected,
    PublishedVersion,
)


class FakeConnectionStore:
    """`sync_requests` and `published` are what would go to `sync-requests` and `doc-sources`, in order.

    `before_lock` runs once, before the next lock is given: another writer was first.
    """

    def __init__(self, *connections: Connection, clock: Clock | None = None) -> None:
        self.rows = {connection.id: connection for connection in connections}
        self.sync_requests: list[tuple[str, SyncReason]] = []
        self.published: list[tuple[str, int, DocSource | None]] = []
        self.republished: list[str] = []
        self.link_ends: dict[str, datetime] = {}  # when the newest consent link of a doc source expires
        self.waiting: set[str] = set()  # doc sources with a version that is in the outbox still
        self.before_lock: Callable[[], Awaitable[None]] | None = None
        self._clock = clock or Clock()
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def add_connection(self, connection: Connection, *, request_sync: SyncReason | None = None) -> None:
        self._check_unique(connection)
        self.rows[connection.id] = connection
        self._publish_version(connection)
        if request_sync is not None:
            self.sync_requests.append((connection.id, request_sync))

    async def find_connection(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        row = self.rows.get(doc_source_id)
        if (
            row is None
            or row.state is ConnectionState.DELETED
            or (tenant_id is not None and row.tenant_id != tenant_id)
        ):
            return None
        return row

    async def list_connections(
        self, tenant_id: str, *, address: str | None = None, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Connection]:
        ours = [
            row
            for row in self.rows.values()
            if row.tenant_id == tenant_id
            and row.state is not ConnectionState.DELETED
            and (address is None or (row.address or "").lower() == address.lower())
        ]
        ours.sort(key=_list_order)
        return [row for row in ours if after is None or _list_order(row) > after][:limit]

    @asynccontextmanager
    async def lock_connection(
        self, doc_source_id: str, *, tenant_id: str | None = None
    ) -> AsyncIterator[LockedConnection | None]:
        before, self.before_lock = self.before_lock, None
        if before is not None:
            await before()
        async with self._locks[doc_source_id]:
            row = await self.find_connection(doc_source_id, tenant_id=tenant_id)
            if row is None:
                yield None
                return
            locked = _FakeLockedConnection(row)
            yield locked
            # As a transaction: an error in the block leaves nothing of it.
            if locked.requested or locked.connection != row:
                self._check_unique(locked.connection)
            self.rows[doc_source_id] = locked.connection
            if locked.connection.published_version != row.published_version:
                self._publish_version(locked.connection)
            self.sync_requests += [(doc_source_id, reason) for reason in locked.requested]

    async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        due = [row for row in self.rows.values() if row.next_check_at is not None and row.next_check_at <= now][:limit]
        for row in due:
            self.rows[row.id] = replace(row, next_check_at=now + lease)
        return [row.id for row in due]

    async def find_next_check_time(self) -> datetime | None:
        return min((row.next_check_at for row in self.rows.values() if row.next_check_at is not None), default=None)

    async def find_earliest_expiries(self) -> Mapping[str, datetime]:
        found: dict[str, datetime] = {}
        for row in self.rows.values():
            current = row.subscription if row.state is ConnectionState.ACTIVE else None
            if current is not None and current.status is not SubscriptionStatus.REMOVED:
                found[row.provider] = min(found.get(row.provider, current.expires_at), current.expires_at)
        return found

    async def count_pending(self, tenant_id: str, *, up_to: int) -> int:
        pending = [
            row for row in self.rows.values() if row.tenant_id == tenant_id and row.state is ConnectionState.PENDING
        ]
        return len(pending[:up_to])

    async def list_expired_pending(self, created_before: datetime, now: datetime, limit: int) -> Sequence[str]:
        expired = [
            row
            for row in self.rows.values()
            if row.state is ConnectionState.PENDING
            and row.pending_reason is not PendingReason.CONSENT_LOST
            and row.created_at < created_before
            and self.link_ends.get(row.id, row.created_at) <= now - timedelta(days=2)
        ]
        return [row.id for row in sorted(expired, key=_list_order)][:limit]

    async def request_backstop_syncs(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        due = [
            row
            for row in self.rows.values()
            if row.state is ConnectionState.ACTIVE and row.next_backstop_at is not None and row.next_backstop_at <= now
        ][:limit]
        for row in due:
            self.rows[row.id] = replace(row, next_backstop_at=now + interval * 0.97)
            self.sync_requests.append((row.id, SyncReason.BACKSTOP))
        return len(due)

    async def list_others_of_account(self, connection: Connection) -> Sequence[Connection]:
        return [
            row
            for row in self.rows.values()
            if row.id != connection.id
            and row.provider == connection.provider
            and row.provider_ended_at is None
            and row.state in (ConnectionState.ACTIVE, ConnectionState.PAUSED, ConnectionState.DELETING)
            and (row.account_key == connection.account_key or _is_same_user(row, connection))
        ]

    async def filter_current_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        current = {row.subscription_id for row in self.rows.values() if row.subscription_id is not None}
        return frozenset(current & set(subscription_ids))

    async def schedule_checks_of_misdirected(self, provider: str, urls: WebhookURLs, now: datetime) -> None:
        for row in list(self.rows.values()):
            current = row.subscription
            if current is None or row.provider != provider:
                continue
            if row.state not in (ConnectionState.ACTIVE, ConnectionState.PAUSED):
                continue
            if (current.notification_url, current.lifecycle_url) != (urls.notification, urls.lifecycle):
                self.rows[row.id] = replace(row, next_check_at=now)

    async def list_published_versions(self) -> Sequence[PublishedVersion]:
        return [
            PublishedVersion(
                row.id, row.published_version, row.state is ConnectionState.DELETED, row.id in self.waiting
            )
            for row in self.rows.values()
        ]

    async def find_published_version(self, doc_source_id: str) -> PublishedVersion | None:
        versions = {version.doc_source_id: version for version in await self.list_published_versions()}
        return versions.get(doc_source_id)

    async def republish_doc_source(self, doc_source_id: str) -> None:
        self.republished.append(doc_source_id)

    def only_row(self) -> Connection:
        (row,) = self.rows.values()
        return row

    def _check_unique(self, connection: Connection) -> None:
        if connection.provider_user_id is None or connection.state is ConnectionState.DELETED:
            return
        others = [
            row for row in self.rows.values() if row.id != connection.id and row.state is not ConnectionState.DELETED
        ]
        if any(_unique_key(row) == _unique_key(connection) for row in others):
            raise MailboxAlreadyConnected

    def _publish_version(self, connection: Connection) -> None:
        event = build_doc_source_event(connection, self._clock())
        self.published.append((connection.id, connection.published_version, event))


class _FakeLockedConnection:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.requested: list[SyncReason] = []

    async def save_connection(
        self, connection: Connection, *, request_sync: SyncReason | None = None, above_version: int | None = None
    ) -> Connection:
        connection = raise_version(self.connection, connection, above_version)
        self.connection = connection
        if request_sync is not None:
            self.requested.append(request_sync)
        return connection


def _list_order(row: Connection) -> tuple[datetime, str]:
    return row.created_at, row.id


def _unique_key(row: Connection) -> tuple[object, ...]:
    return row.tenant_id, row.provider, row.provider_user_id, row.profile


def _is_same_user(one: Connection, other: Connection) -> bool:
    return one.provider_user_id is not None and one.provider_user_id == other.provider_user_id
