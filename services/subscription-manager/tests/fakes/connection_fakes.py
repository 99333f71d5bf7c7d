"""What subscription-manager's handlers need, in memory: tables, consent flows, grants, locks, and a provider that
records its calls."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from mailroom_common.errors import ItemGone, Unavailable
from mailroom_common.events import Access, DocSource, Profile, SyncReason
from mailroom_common.providers.ports import ProviderTraits
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox, Subscription, SubscriptionRequest
from mailroom_common.tokens.sealing import CannotUnseal
from mailroom_common.tokens.store import StoredGrant, StoredTokens
from subscription_manager.app import PROVIDERS
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    CurrentSubscription,
    PendingReason,
    SubscriptionStatus,
    Trouble,
    TroubleReason,
    build_doc_source_event,
    raise_version,
)
from subscription_manager.domain.subscription_schedule import WebhookURLs, build_webhook_urls
from subscription_manager.handlers.advance_subscription import AdvanceSubscription
from subscription_manager.handlers.create_doc_source import ConnectionDurations
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.maintain_shared_subscription import SharedSubscriptionMaintainer
from subscription_manager.handlers.maintain_source_subscription import SourceSubscriptionMaintainer
from subscription_manager.ports import (
    ConsentFlow,
    ConsentTicket,
    LockedConnection,
    MailboxAlreadyConnected,
    PublishedVersion,
    SubscriptionMaintainer,
)

PUBLIC_URL = "https://mailroom.example"
URLS = build_webhook_urls(PUBLIC_URL, "outlook")
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ID = "11111111-1111-4111-8111-111111111111"
OTHER_ID = "22222222-2222-4222-8222-222222222222"

OUTLOOK, GMAIL = (package.traits for package in PROVIDERS)
TRAITS = {traits.name: traits for traits in (OUTLOOK, GMAIL)}

DURATIONS = ConnectionDurations(
    backstop_interval=timedelta(minutes=15),
    start_margin=timedelta(minutes=1),
    ticket_lifetime=timedelta(hours=1),
    flow_lifetime=timedelta(minutes=10),
)


def make_connection(**changed: object) -> Connection:
    """An active Outlook doc source without a subscription."""
    connection = Connection(
        id=ID,
        tenant_id="acme",
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=ConnectionState.ACTIVE,
        created_at=NOW - timedelta(days=1),
        address="ada@contoso.example",
        provider_user_id="user-1",
        grant_generation=1,
        next_check_at=NOW,
        next_backstop_at=NOW + timedelta(minutes=10),
    )
    return replace(connection, **changed)  # type: ignore[arg-type]  # a test names fields freely


def make_trouble(status: ConnectionStatus, reason: TroubleReason, error: str = "x", **changed: object) -> Trouble:
    trouble = Trouble(status=status, reason=reason, error=error, since=NOW)
    return replace(trouble, **changed)  # type: ignore[arg-type]  # a test names fields freely


TOKEN_TROUBLE = make_trouble(ConnectionStatus.TOKEN_REFRESH_FAILED, TroubleReason.TOKEN_REFUSED)


def make_subscription(**changed: object) -> CurrentSubscription:
    """One that was created half a day ago and lives for six days more."""
    subscription = CurrentSubscription(
        subscription_id="sub-old",
        resource="me/messages",
        expires_at=NOW + timedelta(days=6),
        created_or_renewed_at=NOW - timedelta(hours=12),
        notification_url=URLS.notification,
        lifecycle_url=URLS.lifecycle,
        client_state_sha256="old",
    )
    return replace(subscription, **changed)  # type: ignore[arg-type]  # a test names fields freely


def make_provider_subscription(current: CurrentSubscription, owner: str | None = ID) -> Subscription:
    """As the provider holds it; `owner` is the doc source that its client state names."""
    return Subscription(
        current.subscription_id,
        current.resource,
        current.expires_at,
        current.notification_url,
        current.lifecycle_url,
        doc_source_id=owner,
    )


class Clock:
    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by


class WakeCounter:
    """A `WakeSignal` that counts."""

    def __init__(self) -> None:
        self.count = 0

    def set(self) -> None:
        self.count += 1


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
        self, tenant_id: str, *, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Connection]:
        ours = [
            row for row in self.rows.values() if row.tenant_id == tenant_id and row.state is not ConnectionState.DELETED
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


class FakeConsentFlowStore:
    def __init__(self) -> None:
        self.tickets: dict[bytes, ConsentTicket] = {}
        self.flows: dict[bytes, ConsentFlow] = {}

    async def add_ticket(self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime) -> None:
        self.tickets[ticket_sha256] = ConsentTicket(ticket_id, doc_source_id, expires_at, is_used=False)

    async def find_ticket(self, ticket_sha256: bytes) -> ConsentTicket | None:
        return self.tickets.get(ticket_sha256)

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
        (digest, ticket), *_ = [(d, t) for d, t in self.tickets.items() if t.id == ticket_id]
        if ticket.is_used or ticket.expires_at <= now:
            return False
        self.tickets[digest] = replace(ticket, is_used=True)
        self.flows[state_sha256] = ConsentFlow(
            ticket_id, ticket.doc_source_id, cookie_sha256, sealed_flow_secrets, flow_expires_at, finished_at=None
        )
        return True

    async def find_flow(self, state_sha256: bytes) -> ConsentFlow | None:
        return self.flows.get(state_sha256)

    async def finish_flow(self, flow_id: str, now: datetime) -> bool:
        (digest, flow), *_ = [(d, f) for d, f in self.flows.items() if f.id == flow_id]
        if flow.finished_at is not None:
            return False
        self.flows[digest] = replace(flow, finished_at=now)
        return True

    async def store_outcome(self, flow_id: str, sealed_outcome: str) -> None:
        (digest, flow), *_ = [(d, f) for d, f in self.flows.items() if f.id == flow_id]
        self.flows[digest] = replace(flow, sealed_outcome=sealed_outcome)


class FakeGrantStore:
    def __init__(self) -> None:
        self.stored: dict[str, StoredGrant] = {}
        self.forgotten: list[str] = []
        self.sealed_with_retired_key: set[str] = set()
        self._generations: dict[str, int] = defaultdict(int)

    async def put_grant(
        self, doc_source_id: str, provider: str, provider_user_id: str, tokens: StoredTokens, scopes: frozenset[str]
    ) -> int:
        self._generations[doc_source_id] += 1
        generation = self._generations[doc_source_id]
        self.stored[doc_source_id] = StoredGrant(
            doc_source_id, provider, provider_user_id, tokens, generation, scopes, NOW, None
        )
        return generation

    async def raise_generation(self, doc_source_id: str, *, above: int) -> int:
        if doc_source_id not in self.stored:
            return above
        generation = max(self._generations[doc_source_id], above + 1)
        self._generations[doc_source_id] = generation
        self.stored[doc_source_id] = replace(self.stored[doc_source_id], grant_generation=generation)
        return generation

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None:
        if doc_source_id in self.sealed_with_retired_key:
            raise CannotUnseal("a secret is sealed with key old, which MAILROOM_TOKEN_KEYS does not have")
        return self.stored.get(doc_source_id)

    async def forget_grant(self, doc_source_id: str) -> None:
        self.forgotten.append(doc_source_id)
        self.sealed_with_retired_key.discard(doc_source_id)
        self.stored.pop(doc_source_id, None)

    async def add_tokens(self, doc_source_id: str, provider: str = "outlook", provider_user_id: str = "user-1") -> None:
        """A grant whose refresh token names the doc source."""
        tokens = StoredTokens(f"access-{doc_source_id}", f"refresh-{doc_source_id}", NOW + timedelta(hours=1))
        await self.put_grant(doc_source_id, provider, provider_user_id, tokens, frozenset())


class FakeLockHandle:
    def __init__(self) -> None:
        self.is_lost = False

    def require_held(self) -> None:
        if self.is_lost:
            raise Unavailable("the lock is lost")


class FakeConnectionLocks:
    """`order` is the locks in the order in which they were given; `handle` is that of each doc source's lock."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.order: list[str] = []
        self.handle = FakeLockHandle()

    @asynccontextmanager
    async def lock_doc_source(self, doc_source_id: str) -> AsyncIterator[FakeLockHandle]:
        async with self._locks[f"doc_source:{doc_source_id}"]:
            self.order.append(f"doc_source:{doc_source_id}")
            yield self.handle

    @asynccontextmanager
    async def lock_account(self, provider: str, account_key: str) -> AsyncIterator[FakeLockHandle]:
        async with self._locks[f"account:{provider}:{account_key}"]:
            self.order.append(f"account:{provider}:{account_key}")
            yield FakeLockHandle()


@dataclass
class FakeProvider:
    """Mail, push and consent side of one provider. `calls` is every call, in order; `errors` raises instead of an
    answer.

    `during` runs in the middle of a call, where something else may happen.
    """

    traits: ProviderTraits = OUTLOOK
    clock: Callable[[], datetime] = field(default_factory=Clock)
    granted_lifetime: timedelta | None = None  # when it is not what was asked for
    calls: list[str] = field(default_factory=list)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    client_states: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    during: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    account: Account = field(
        default_factory=lambda: Account(
            "user-1", "ada@contoso.example", verified_addresses=("ada@contoso.example", "A.Lovelace@contoso.example")
        )
    )
    refresh_token: str | None = "refresh-canary"
    exchanged: list[dict[str, str | None]] = field(default_factory=list)
    consent_arguments: list[tuple[str | None, str | None]] = field(default_factory=list)  # tenant and login hint
    asked_after: datetime | None = None  # of the last list of subscriptions
    folders: Sequence[Folder] = ()
    page_origin: str = "https://login.example"

    @property
    def is_shared(self) -> bool:
        return self.traits.push is not None and self.traits.push.is_shared_by_account

    async def create_subscription(self, mailbox: Mailbox, request: SubscriptionRequest) -> Subscription:
        await self._record_call("create", mailbox.doc_source_id)
        subscription_id = "projects/p/topics/t" if self.is_shared else f"sub-{len(self.calls)}"
        created = Subscription(
            subscription_id,
            "me/messages",
            request.expires_at if self.granted_lifetime is None else self.clock() + self.granted_lifetime,
            notification_url=None if self.is_shared else request.notification_url,
            lifecycle_url=None if self.is_shared else request.lifecycle_url,
            doc_source_id=None if self.is_shared else mailbox.doc_source_id,
        )
        self.subscriptions[subscription_id] = created
        self.client_states[subscription_id] = request.client_state
        return created

    async def renew_subscription(self, mailbox: Mailbox, subscription_id: str, expires_at: datetime) -> Subscription:
        await self._record_call("renew", subscription_id)
        if subscription_id not in self.subscriptions:
            raise ItemGone("no such subscription")
        self.subscriptions[subscription_id] = replace(
            self.subscriptions[subscription_id],
            expires_at=expires_at if self.granted_lifetime is None else self.clock() + self.granted_lifetime,
        )
        return self.subscriptions[subscription_id]

    async def get_subscription(self, mailbox: Mailbox, subscription_id: str) -> Subscription | None:
        await self._record_call("get", subscription_id)
        return self.subscriptions.get(subscription_id)

    async def end_subscription(self, mailbox: Mailbox, subscription_id: str) -> None:
        await self._record_call("end", subscription_id)
        self.subscriptions.pop(subscription_id, None)

    async def list_subscriptions(
        self, mailbox: Mailbox, *, asked_after: datetime | None = None
    ) -> Sequence[Subscription]:
        self.asked_after = asked_after
        await self._record_call("list", mailbox.address)
        return list(self.subscriptions.values())

    async def build_authorize_url(
        self,
        tenant: str | None,
        *,
        profile: Profile,
        redirect_uri: str,
        state: str,
        nonce: str,
        code_challenge: str,
        login_hint: str | None,
    ) -> str:
        await self._record_call("authorize", redirect_uri)
        self.consent_arguments.append((tenant, login_hint))
        return f"https://login.example/authorize?state={state}&nonce={nonce}&code_challenge={code_challenge}"

    async def exchange_code(
        self, tenant: str | None, *, profile: Profile, code: str, redirect_uri: str, code_verifier: str, nonce: str
    ) -> Grant:
        await self._record_call("exchange", redirect_uri)
        self.consent_arguments.append((tenant, None))
        self.exchanged.append({"code": code, "verifier": code_verifier, "nonce": nonce, "redirect": redirect_uri})
        return Grant("access-canary", self.refresh_token, self.clock() + timedelta(hours=1), frozenset({"Mail.Read"}))

    async def identify_account(self, tenant: str | None, grant: Grant) -> Account:
        await self._record_call("identify", "")
        return self.account

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        await self._record_call("list_folders", mailbox.address)
        return self.folders

    async def revoke_grant(self, refresh_token: str) -> None:
        await self._record_call("revoke", refresh_token)

    def find_calls(self, *names: str) -> list[str]:
        return [call for call in self.calls if call.split()[0] in names]

    async def _record_call(self, name: str, about: str) -> None:
        self.calls.append(f"{name} {about}".strip())
        if name in self.during:
            await self.during[name]()
        if name in self.errors:
            raise self.errors[name]


@dataclass
class FakeFolderLister:
    """The `FolderLister` of mailboxes with application access."""

    folders: Sequence[Folder] = ()
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        self.asked.append(mailbox.address)
        if self.error is not None:
            raise self.error
        return self.folders


class FakeDocSourcePublisher:
    """Records into the provider's list of calls, so that the order of both can be seen."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls
        self.published: list[Connection] = []
        self.error: Exception | None = None

    async def publish_and_wait(self, connection: Connection) -> None:
        if self.error is not None:
            raise self.error
        self.published.append(connection)
        self._calls.append("publish")


class SubscriptionSetup:
    """The handlers that advance and end subscriptions, composed as `app.py` does, over one fake provider."""

    def __init__(self, *connections: Connection, traits: ProviderTraits = OUTLOOK) -> None:
        self.clock = Clock()
        self.connections = FakeConnectionStore(*connections, clock=self.clock)
        self.locks = FakeConnectionLocks()
        self.provider = FakeProvider(traits, clock=self.clock)
        self.grants = FakeGrantStore()
        self.publisher = FakeDocSourcePublisher(self.provider.calls)
        maintainers = self._build_maintainers(traits)
        consents = {traits.name: self.provider}
        self.end = EndConnection(self.connections, self.locks, maintainers, consents, self.grants, self.clock)
        self.advance = AdvanceSubscription(
            self.connections,
            self.locks,
            {**TRAITS, traits.name: traits},
            maintainers,
            self.end,
            PUBLIC_URL,
            self.clock,
        )

    async def advance_subscription(self, doc_source_id: str = ID) -> Connection:
        await self.advance.advance_subscription(doc_source_id)
        return self.connections.rows[doc_source_id]

    async def change_row(self, change: Callable[[Connection], Connection], doc_source_id: str = ID) -> None:
        """As another instance or the API does."""
        self.connections.rows[doc_source_id] = change(self.connections.rows[doc_source_id])

    async def delete_row(self) -> None:
        await self.change_row(lambda row: transitions.begin_deletion(row, NOW))

    async def record_new_consent(self) -> None:
        await self.change_row(
            lambda row: transitions.record_consent(
                row,
                self.provider.account,
                generation=row.grant_generation + 1,
                now=NOW,
                start_at=NOW,
                next_backstop_at=NOW,
            )
        )

    def _build_maintainers(self, traits: ProviderTraits) -> dict[str, SubscriptionMaintainer]:
        if traits.push is None:
            return {}
        urls = build_webhook_urls(PUBLIC_URL, traits.name)
        if traits.push.is_shared_by_account:
            return {
                traits.name: SharedSubscriptionMaintainer(
                    self.provider, traits.push, self.connections, self.locks, urls, self.clock
                )
            }
        return {
            traits.name: SourceSubscriptionMaintainer(
                self.provider, traits.push, self.connections, self.locks, self.publisher, urls, self.clock
            )
        }


def make_setup_due_for_renewal() -> SubscriptionSetup:
    """Its subscription is in its last day."""
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(subscription=soon))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(soon)
    return setup
