"""A connection: one doc source with its mailbox, how it is, and its subscription at the provider.

Everything here is a value; what happens to a connection is a function from one to the next (`transitions.py`).
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from mailroom_common.events import (
    Access,
    ClientState,
    DocSource,
    DocSourceState,
    Profile,
    Provider,
    SyncReason,
    SyncRequest,
    derive_event_id,
)
from mailroom_common.providers.types import Mailbox


class State(StrEnum):
    """As `DocSourceState`, and `gone` for the grave of a deleted one."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    DELETING = "deleting"
    GONE = "gone"


class Status(StrEnum):
    """How a connection is; None before consent."""

    ACTIVE = "active"
    TOKEN_REFRESH_FAILED = "token_refresh_failed"  # noqa: S105  # a word of ours, not a secret
    SUBSCRIPTION_EXPIRED = "subscription_expired"
    PROVIDER_ERROR = "provider_error"


class SubscriptionStatus(StrEnum):
    ACTIVE = "active"
    EXPIRED = "expired"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentSubscription:
    """`touched_at` is its creation or last renewal; `renew_asked_at` the provider's wish, not yet answered."""

    subscription_id: str
    resource: str
    expires_at: datetime
    touched_at: datetime
    notification_url: str | None = None
    lifecycle_url: str | None = None
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    client_state_sha256: str | None = None
    renew_asked_at: datetime | None = None
    renewals: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    id: str
    tenant_id: str
    provider: Provider
    profile: Profile
    access: Access
    state: State
    created_at: datetime
    version: int = 1
    address: str | None = None
    aliases: tuple[str, ...] = ()
    provider_user_id: str | None = None
    provider_tenant: str | None = None
    folders: tuple[str, ...] = ()
    start_at: datetime | None = None
    grant_generation: int = 0
    status: Status | None = None
    reason: str | None = None
    last_error: str | None = None
    last_successful_sync_at: datetime | None = None
    client_states: tuple[ClientState, ...] = ()
    subscription: CurrentSubscription | None = field(default=None)
    attention_at: datetime | None = None
    attempts: int = 0
    backstop_at: datetime | None = None
    ended_at: datetime | None = None
    forgotten_at: datetime | None = None

    def mailbox(self) -> Mailbox:
        """Whom a call to the provider is for. Only a connection that was consented to has one."""
        if self.address is None:
            raise ValueError(f"doc source {self.id} has no mailbox yet")
        return Mailbox(
            doc_source_id=self.id,
            provider=self.provider,
            access=self.access,
            profile=self.profile,
            address=self.address,
            provider_user_id=self.provider_user_id,
            provider_tenant=self.provider_tenant,
            grant_generation=self.grant_generation,
        )

    def account_key(self) -> str:
        """Names the account over all tenants, however it was connected: delegation knows no user id."""
        return (self.address or self.id).lower()


def user_key(user_id: str) -> str:
    """Names the account where its user is known and no address. It never is an address's key: both are held at once."""
    return f"user:{user_id}"


def as_event(connection: Connection, occurred_at: datetime) -> DocSource | None:
    """What `doc-sources` says of it: None, a tombstone, for a grave."""
    if connection.state is State.GONE:
        return None
    return DocSource(
        event_id=derive_event_id("doc-sources", connection.id, connection.version),
        occurred_at=occurred_at,
        tenant_id=connection.tenant_id,
        doc_source_id=connection.id,
        version=connection.version,
        provider=connection.provider,
        profile=connection.profile,
        access=connection.access,
        address=connection.address,
        aliases=list(connection.aliases),
        provider_user_id=connection.provider_user_id,
        provider_tenant=connection.provider_tenant,
        state=DocSourceState(connection.state.value),
        folders=list(connection.folders),
        start_at=connection.start_at,
        client_states=list(connection.client_states),
        subscription_id=None if connection.subscription is None else connection.subscription.subscription_id,
        grant_generation=connection.grant_generation,
    )


def is_news(before: Connection, after: Connection) -> bool:
    """Whether `doc-sources` has to say something else now, and so needs a new version."""
    return _shown(before) != _shown(after)


def _shown(connection: Connection) -> DocSource | None:
    return as_event(replace(connection, version=0), connection.created_at)


def sync_request(doc_source_id: str, tenant_id: str, reason: SyncReason, asked_at: datetime) -> SyncRequest:
    return SyncRequest(
        event_id=derive_event_id("sync-requests", doc_source_id, reason, asked_at.isoformat()),
        occurred_at=asked_at,
        tenant_id=tenant_id,
        doc_source_id=doc_source_id,
        reasons=[reason],
        first_requested_at=asked_at,
    )
