"""What the handlers ask of the world."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from mailroom_common.events import Provider, SyncReason
from mailroom_common.tokens.store import StoredGrant, StoredTokens
from subscription_manager.domain.connection import Connection


class AlreadyConnected(Exception):
    """The tenant has a doc source of this provider user and profile already."""


@dataclass(frozen=True, slots=True)
class Published:
    """What `doc-sources` has been told of a doc source, by our table."""

    doc_source_id: str
    version: int
    is_gone: bool


class Change(Protocol):
    """One connection with its row locked, in a transaction that ends with the block."""

    @property
    def connection(self) -> Connection: ...

    async def save(self, connection: Connection, *, ask: SyncReason | None = None) -> Connection:
        """Store it; what `doc-sources` shows of it changed: its version rises and is published. `ask` asks for a sync.

        Raises:
            AlreadyConnected: as of its unique constraint.
        """
        ...


class Connections(Protocol):
    async def add(self, connection: Connection, *, ask: SyncReason | None = None) -> None:
        """Raises AlreadyConnected."""
        ...

    async def find(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        """None too when it is another tenant's, or gone."""
        ...

    async def page(self, tenant_id: str, *, after: tuple[datetime, str] | None, limit: int) -> Sequence[Connection]:
        """By creation, the oldest first, from behind `after` (created_at, id)."""
        ...

    def change(self, doc_source_id: str, *, tenant_id: str | None = None) -> AbstractAsyncContextManager[Change | None]:
        """None where `find` finds none."""
        ...

    async def claim_attention(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        """Those that are due, once each over all instances: they are due again after the lease, unless saved before."""
        ...

    async def ask_for_backstops(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        """Ask for a sync of each active one whose time has come, and return how many there were."""
        ...

    async def others_of_account(self, connection: Connection) -> Sequence[Connection]:
        """Of every tenant: other doc sources of this mailbox that the provider still serves."""
        ...

    async def known_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        """Those that are the current one of some doc source."""
        ...

    async def look_at_misdirected(self, now: datetime, *, notification_url: str, lifecycle_url: str) -> None:
        """Make those due whose subscription calls another address than these."""
        ...

    async def published(self) -> Sequence[Published]:
        """Of every doc source, graves too, whose newest version is not waiting in the outbox."""
        ...

    async def publish_again(self, doc_source_id: str) -> None: ...


class AnnouncesNow(Protocol):
    async def announce(self, connection: Connection) -> None:
        """Returns when Kafka has acknowledged this version in `doc-sources`. Raises Unavailable."""
        ...


class Held(Protocol):
    def require_held(self) -> None:
        """Raises Unavailable when another may hold the lock by now."""
        ...


class Locks(Protocol):
    """Over all instances. Both raise Unavailable when the lock cannot be had in time."""

    def creator(self, doc_source_id: str) -> AbstractAsyncContextManager[Held]:
        """One at a time creates or ends at the provider for a doc source."""
        ...

    def account(self, provider: Provider, account_key: str) -> AbstractAsyncContextManager[Held]:
        """What belongs to the account and not to one doc source: Gmail's watch, a revoke, the list of subscriptions."""
        ...


class Grants(Protocol):
    """`TokenStore` of mailroom_common."""

    async def put_grant(
        self,
        doc_source_id: str,
        provider: Provider,
        provider_user_id: str,
        tokens: StoredTokens,
        scopes: frozenset[str],
    ) -> int: ...

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None: ...

    async def forget_grant(self, doc_source_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ticket:
    """A link that was handed out. `id` is the flow's that it opens."""

    id: str
    doc_source_id: str
    expires_at: datetime
    is_used: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """A browser that was sent to the provider and is to come back with the same cookie."""

    id: str
    doc_source_id: str
    cookie_sha256: bytes
    sealed: str = field(repr=False)
    expires_at: datetime
    is_finished: bool


class Flows(Protocol):
    """Secrets reach it as SHA-256 or sealed."""

    async def add_ticket(
        self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime
    ) -> None: ...

    async def ticket(self, ticket_sha256: bytes) -> Ticket | None: ...

    async def use_ticket(
        self,
        ticket_id: str,
        now: datetime,
        *,
        state_sha256: bytes,
        cookie_sha256: bytes,
        sealed: str,
        flow_expires_at: datetime,
    ) -> bool:
        """False when somebody used it first, or it is too late."""
        ...

    async def flow(self, state_sha256: bytes) -> Flow | None: ...

    async def finish(self, flow_id: str, now: datetime) -> bool:
        """False when it was finished already."""
        ...


class Wakes(Protocol):
    def set(self) -> None:
        """Something is due: look now rather than at the next round. An `asyncio.Event`."""
        ...
