"""The Protocols that the handlers ask for."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from mailroom_common.events import SyncReason
from mailroom_common.tokens.store import StoredGrant, StoredTokens
from subscription_manager.domain.connection import Connection
from subscription_manager.domain.subscription_schedule import WebhookURLs


class MailboxAlreadyConnected(Exception):
    """The tenant has a doc source of this provider user and profile already."""


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """The newest version of a doc source that `doc-sources` should hold, by our table. `is_waiting`: it is in the
    outbox still."""

    doc_source_id: str
    version: int
    is_deleted: bool
    is_waiting: bool = False


class LockedConnection(Protocol):
    """One connection with its row locked, in a transaction that ends with the block."""

    @property
    def connection(self) -> Connection: ...

    async def save_connection(
        self, connection: Connection, *, request_sync: SyncReason | None = None, above_version: int | None = None
    ) -> Connection:
        """Store it, and return it as stored: when what `doc-sources` says of it changes, its version rises and is
        published. `request_sync` is the reason of a sync request, None for no request; `above_version` has it
        published in any case, with a version above that one.

        Raises:
            MailboxAlreadyConnected: by the unique constraint.
        """
        ...


class ConnectionStore(Protocol):
    async def add_connection(self, connection: Connection, *, request_sync: SyncReason | None = None) -> None:
        """Raises MailboxAlreadyConnected."""
        ...

    async def find_connection(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        """None too when it is another tenant's, or soft-deleted."""
        ...

    async def list_connections(
        self, tenant_id: str, *, address: str | None = None, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Connection]:
        """By creation, the oldest first, those behind `after` (created_at, id). `address` in letters of either case."""
        ...

    def lock_connection(
        self, doc_source_id: str, *, tenant_id: str | None = None
    ) -> AbstractAsyncContextManager[LockedConnection | None]:
        """None where `find_connection` finds none."""
        ...

    async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        """The doc sources whose check is due, each to one caller over all instances: it is due again after the lease,
        unless it is saved before."""
        ...

    async def find_next_check_time(self) -> datetime | None:
        """When the next check is due, None when none is scheduled."""
        ...

    async def find_earliest_expiries(self) -> Mapping[str, datetime]:
        """For each provider when the first subscription of an active doc source ends, or has ended."""
        ...

    async def count_pending(self, tenant_id: str, *, up_to: int) -> int: ...

    async def list_expired_pending(self, created_before: datetime, now: datetime, limit: int) -> Sequence[str]:
        """Pending doc sources that are so old and whose last link has ended two days ago at least, the oldest first."""
        ...

    async def request_backstop_syncs(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        """Request a sync of each active doc source whose backstop is due, and return how many there were."""
        ...

    async def list_others_of_account(self, connection: Connection) -> Sequence[Connection]:
        """Of every tenant: other doc sources of this mailbox that the provider still serves."""
        ...

    async def filter_current_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        """Those that are the current one of some doc source."""
        ...

    async def schedule_checks_of_misdirected(self, provider: str, urls: WebhookURLs, now: datetime) -> None:
        """Make a check due for each subscription of the provider that calls other URLs than these."""
        ...

    async def list_published_versions(self) -> Sequence[PublishedVersion]:
        """Of every doc source, soft-deleted ones too."""
        ...

    async def find_published_version(self, doc_source_id: str) -> PublishedVersion | None:
        """Of a soft-deleted one too; None for an id that never was one of ours."""
        ...

    async def republish_doc_source(self, doc_source_id: str) -> None: ...


class DocSourcePublisher(Protocol):
    async def publish_and_wait(self, connection: Connection) -> None:
        """Returns when Kafka has acknowledged this version in `doc-sources`. Raises Unavailable."""
        ...


class LockHandle(Protocol):
    def require_held(self) -> None:
        """Raises Unavailable when another may hold the lock by now."""
        ...


class SubscriptionMaintainer(Protocol):
    """How subscriptions live at one provider, by its traits: each doc source has its own, or the account shares one."""

    @property
    def is_shared(self) -> bool:
        """One serves all doc sources of the account, and ends with the last of them."""
        ...

    async def create_subscription(self, connection: Connection, lock: LockHandle) -> None: ...

    async def renew_subscription(self, connection: Connection, lock: LockHandle) -> None: ...

    async def end_subscription(self, connection: Connection) -> None:
        """Tolerates that it is gone."""
        ...


class ConnectionLocks(Protocol):
    """Over all instances. Both raise Unavailable when the lock cannot be had in time."""

    def lock_doc_source(self, doc_source_id: str) -> AbstractAsyncContextManager[LockHandle]:
        """One at a time creates or ends at the provider for a doc source."""
        ...

    def lock_account(self, provider: str, account_key: str) -> AbstractAsyncContextManager[LockHandle]:
        """For what belongs to the account and not to one doc source: a shared subscription, a revocation, the list of
        subscriptions."""
        ...


class GrantStore(Protocol):
    """`TokenStore` of mailroom_common."""

    async def put_grant(
        self, doc_source_id: str, provider: str, provider_user_id: str, tokens: StoredTokens, scopes: frozenset[str]
    ) -> int: ...

    async def raise_generation(self, doc_source_id: str, *, above: int) -> int: ...

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None: ...

    async def forget_grant(self, doc_source_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ConsentTicket:
    """A link that was handed out. `id` is that of the consent flow that it opens."""

    id: str
    doc_source_id: str
    expires_at: datetime
    is_used: bool


@dataclass(frozen=True, slots=True)
class ConsentFlow:
    """A browser that was sent to the provider and is to come back with the same cookie."""

    id: str
    doc_source_id: str
    cookie_sha256: bytes
    sealed_flow_secrets: str = field(repr=False)
    expires_at: datetime
    finished_at: datetime | None  # when the first answer came
    sealed_outcome: str | None = field(default=None, repr=False)


class ConsentFlowStore(Protocol):
    """Secrets reach it hashed (SHA-256) or sealed."""

    async def add_ticket(
        self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime
    ) -> None: ...

    async def find_ticket(self, ticket_sha256: bytes) -> ConsentTicket | None: ...

    async def redeem_ticket(
        self,
        ticket_id: str,
        now: datetime,
        *,
        state_sha256: bytes,
        cookie_sha256: bytes,
        sealed_flow_secrets: str,
        flow_expires_at: datetime,
    ) -> bool:
        """False when it was redeemed before, or has expired."""
        ...

    async def find_flow(self, state_sha256: bytes) -> ConsentFlow | None: ...

    async def finish_flow(self, flow_id: str, now: datetime) -> bool:
        """False when it was finished already."""
        ...

    async def store_outcome(self, flow_id: str, sealed_outcome: str) -> None: ...


class WakeSignal(Protocol):
    def set(self) -> None:
        """A check is due: look now rather than at the time that was planned. An `asyncio.Event`."""
        ...
