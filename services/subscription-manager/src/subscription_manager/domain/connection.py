"""A connection: one doc source with its mailbox, its health, and its subscription at the provider.

Everything here is a value; what happens to a connection is a function from one value to the next (`transitions.py`).
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from mailroom_common.events import (
    Access,
    ClientState,
    DocSource,
    DocSourceState,
    Profile,
    Relist,
    SourceFilter,
    SyncReason,
    SyncRequest,
    derive_event_id,
)
from mailroom_common.providers.types import Mailbox


class ConnectionState(StrEnum):
    """As `DocSourceState`, and `deleted` for the soft-deleted row."""

    PENDING = "pending"  # not consented to yet
    ACTIVE = "active"  # is synced
    PAUSED = "paused"  # kept connected but not synced
    DELETING = "deleting"  # being ended at the provider and removed here
    DELETED = "deleted"


class ConnectionStatus(StrEnum):
    """Health of a connection; None before consent."""

    ACTIVE = "active"  # works
    TOKEN_REFRESH_FAILED = "token_refresh_failed"  # noqa: S105  # a status, not a secret
    SUBSCRIPTION_EXPIRED = "subscription_expired"  # no subscription at the provider; mail comes with the backstop only
    PROVIDER_ERROR = "provider_error"  # the provider refuses or does not find the mailbox, or keeps failing


class TroubleReason(StrEnum):
    """Why the status of a connection is not `active`: its `connection_reason`."""

    TOKEN_REFUSED = "token_refused"  # noqa: S105  # the provider refuses the grant: consent again
    MAILBOX_GONE = "mailbox_gone"  # the account has no mailbox any more
    ACCESS_DENIED = "access_denied"  # a scope, a policy or the administrator keeps us from reading
    SUBSCRIPTION_REFUSED = "subscription_refused"  # it may be read, but not watched
    SUBSCRIPTION_PENDING = "subscription_pending"  # no attempt to create a subscription has succeeded for minutes
    RENEWAL_FAILED = "renewal_failed"  # the subscription ran out before a renewal succeeded
    PROVIDER_FAILING = "provider_failing"  # syncs fail, make no progress, or find less than they were set up for


class PendingReason(StrEnum):
    """Why a doc source is still `pending`: its `connection_reason`."""

    AUTHORIZATION_PENDING = "authorization_pending"  # nobody has consented by its link yet
    CONSENT_DECLINED = "consent_declined"  # the person said no at the provider
    CONSENT_REJECTED = "consent_rejected"  # the provider's answer was not as required: perhaps a permission is missing
    OTHER_MAILBOX = "other_mailbox"  # another mailbox signed in than its `address` names
    ADDRESS_UNVERIFIED = "address_unverified"  # its `address` is one that only the account's own tenant vouches for
    FOLDERS_MISSING = "folders_missing"  # the mailbox has no folder of a name in `folders`; `current_error` names it
    FOLDERS_REFUSED = "folders_refused"  # the provider does not show the folders of the mailbox
    CONSENT_LOST = "consent_lost"  # the database was restored to a time before its consent: consent again
    ALREADY_CONNECTED = "already_connected"  # the mailbox has a doc source of this profile already


class SubscriptionStatus(StrEnum):
    ACTIVE = "active"  # the provider sends notifications
    EXPIRED = "expired"  # its time ran out before it was renewed
    REMOVED = "removed"  # the provider ended it


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What does not work, and since when; `error` says what to do. With the status `active` it is not lasting yet."""

    status: ConnectionStatus
    reason: TroubleReason
    error: str
    since: datetime


# The worst first. A refused grant or mailbox is why nothing else works, and where nothing is pushed the mail is late.
_READING_REFUSED = (TroubleReason.TOKEN_REFUSED, TroubleReason.MAILBOX_GONE, TroubleReason.ACCESS_DENIED)
_STATUS_ORDER = (
    ConnectionStatus.TOKEN_REFRESH_FAILED,
    ConnectionStatus.SUBSCRIPTION_EXPIRED,
    ConnectionStatus.PROVIDER_ERROR,
    ConnectionStatus.ACTIVE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentSubscription:
    """`created_or_renewed_at` is the last renewal, or the creation before the first one."""

    subscription_id: str
    resource: str
    expires_at: datetime
    created_or_renewed_at: datetime
    notification_url: str | None = None
    lifecycle_url: str | None = None
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    client_state_sha256: str | None = None
    renewal_requested_at: datetime | None = None
    renewal_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    id: str
    tenant_id: str
    provider: str
    profile: Profile
    access: Access
    state: ConnectionState
    created_at: datetime
    published_version: int = 1
    address: str | None = None
    aliases: tuple[str, ...] = ()
    provider_user_id: str | None = None
    provider_tenant: str | None = None
    folders: tuple[str, ...] = ()
    filter: SourceFilter = field(default_factory=SourceFilter)
    start_at: datetime | None = None
    grant_generation: int = 0
    relist_from: datetime | None = None
    relist_number: int = 0
    earlier_relists: tuple[Relist, ...] = ()
    pending_reason: PendingReason | None = None
    pending_error: str | None = None
    # Apart, since each has its own end: a sync that succeeds says nothing of the subscription (ADR 59).
    sync_trouble: Trouble | None = None
    subscription_trouble: Trouble | None = None
    last_successful_sync_at: datetime | None = None
    client_states: tuple[ClientState, ...] = ()
    subscription: CurrentSubscription | None = None
    next_check_at: datetime | None = None
    failed_attempts: int = 0
    next_backstop_at: datetime | None = None
    provider_ended_at: datetime | None = None
    sync_rows_deleted_at: datetime | None = None
    version_before_deletion: int = 0

    @property
    def connection_status(self) -> ConnectionStatus | None:
        if not self._is_connected:
            return None
        troubles = self._list_troubles()
        return troubles[0].status if troubles else ConnectionStatus.ACTIVE

    @property
    def connection_reason(self) -> str | None:
        """Why it is not `active`."""
        if not self._is_connected:
            return None if self.pending_reason is None else self.pending_reason.value
        troubles = self._list_troubles()
        is_lasting = bool(troubles) and troubles[0].status is not ConnectionStatus.ACTIVE
        return troubles[0].reason.value if is_lasting else None

    @property
    def current_error(self) -> str | None:
        if not self._is_connected:
            return self.pending_error
        # Both, where they differ: each has something to be done about it.
        errors = dict.fromkeys(trouble.error for trouble in self._list_troubles())
        return "; also: ".join(errors) or None

    @property
    def _is_connected(self) -> bool:
        """Before a consent, and after a deletion, there is no connection whose health could be told."""
        return (
            self.state not in (ConnectionState.PENDING, ConnectionState.DELETED) and self.provider_user_id is not None
        )

    def _list_troubles(self) -> list[Trouble]:
        troubles = [trouble for trouble in (self.sync_trouble, self.subscription_trouble) if trouble is not None]
        return sorted(troubles, key=_rank_trouble)

    def has_subscription(self, now: datetime) -> bool:
        """Whether the provider sends notifications now."""
        current = self.subscription
        return current is not None and current.status is SubscriptionStatus.ACTIVE and current.expires_at > now

    def build_mailbox(self) -> Mailbox:
        """Whom a call to the provider is for. Only a connection that was consented to has a mailbox."""
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

    @property
    def account_key(self) -> str:
        """Names the account over all tenants, however it was connected: application access knows no user id."""
        return (self.address or self.id).lower()

    @property
    def subscription_id(self) -> str | None:
        return None if self.subscription is None else self.subscription.subscription_id

    @property
    def is_subscription_removed(self) -> bool:
        return self.subscription is not None and self.subscription.status is SubscriptionStatus.REMOVED


def _rank_trouble(trouble: Trouble) -> tuple[bool, int]:
    return trouble.reason not in _READING_REFUSED, _STATUS_ORDER.index(trouble.status)


def build_user_key(user_id: str) -> str:
    """Names the account where its user is known and its address is not. It never equals the key of an address, since
    both locks are held at once."""
    return f"user:{user_id}"


def build_doc_source_event(connection: Connection, occurred_at: datetime) -> DocSource | None:
    """What `doc-sources` says of it: None, a tombstone, for a soft-deleted row."""
    if connection.state is ConnectionState.DELETED:
        return None
    return DocSource(
        # Derived and not random: a version that is published twice is one event to its readers.
        event_id=derive_event_id("doc-sources", connection.id, connection.published_version),
        occurred_at=occurred_at,
        tenant_id=connection.tenant_id,
        doc_source_id=connection.id,
        version=connection.published_version,
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
        filter=connection.filter,
        client_states=list(connection.client_states),
        subscription_id=connection.subscription_id,
        grant_generation=connection.grant_generation,
        relist_from=connection.relist_from,
        relist_number=connection.relist_number,
        earlier_relists=list(connection.earlier_relists),
    )


def needs_new_version(before: Connection, after: Connection) -> bool:
    """Whether what `doc-sources` says of it changes."""
    return _published_content(before) != _published_content(after)


def raise_version(before: Connection, after: Connection, above_version: int | None) -> Connection:
    """`after` as it is stored: published with a new version when what is published changes, or where a version that
    the topic has already (`above_version`) is to be exceeded."""
    if above_version is None and not needs_new_version(before, after):
        return after
    # From `before` and not from `after`: its row is locked, so this is the newest version that the table has.
    return replace(after, published_version=max(before.published_version, above_version or 0) + 1)


def _published_content(connection: Connection) -> DocSource | None:
    return build_doc_source_event(replace(connection, published_version=0), connection.created_at)


def build_sync_request(doc_source_id: str, tenant_id: str, reason: SyncReason, requested_at: datetime) -> SyncRequest:
    return SyncRequest(
        event_id=derive_event_id("sync-requests", doc_source_id, reason, requested_at.isoformat()),
        occurred_at=requested_at,
        tenant_id=tenant_id,
        doc_source_id=doc_source_id,
        reasons=[reason],
        first_requested_at=requested_at,
    )


def hash_consent_scope(connection: Connection) -> str:
    """Of what the person who consents hands over: whose mailbox, for what, from when, and which folders.

    Changes with whatever the consent page says: an operator may correct a doc source while somebody looks at it.
    """
    start_at = None if connection.start_at is None else connection.start_at.isoformat()
    scope = (connection.address, connection.profile.value, start_at, *connection.folders)
    return sha256(repr(scope).encode()).hexdigest()
