"""The world of subscription-manager in memory: tables, flows, grants, locks, and a provider that takes notes."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from mailroom_common.errors import ItemGone, Unavailable
from mailroom_common.events import Access, DocSource, Profile, Provider, SyncReason
from mailroom_common.providers.ports import ProviderTraits
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox, Subscription, SubscriptionRequest
from mailroom_common.tokens.store import StoredGrant, StoredTokens
from subscription_manager.app import PROVIDERS
from subscription_manager.domain.attention import OurURLs
from subscription_manager.domain.connection import Connection, State, Status, as_event, is_news
from subscription_manager.ports import AlreadyConnected, Change, Flow, Published, Ticket

URLS = OurURLs("https://mailroom.example/webhooks/outlook", "https://mailroom.example/webhooks/outlook/lifecycle")
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def a_connection(**changed: object) -> Connection:
    """An active Outlook doc source without a subscription."""
    made = Connection(
        id="11111111-1111-4111-8111-111111111111",
        tenant_id="acme",
        provider=Provider.OUTLOOK,
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=State.ACTIVE,
        created_at=NOW - timedelta(days=1),
        address="ada@contoso.example",
        provider_user_id="user-1",
        grant_generation=1,
        status=Status.ACTIVE,
        attention_at=NOW,
        backstop_at=NOW + timedelta(minutes=10),
    )
    return replace(made, **changed)  # type: ignore[arg-type]  # a test names fields freely


class Clock:
    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by


class FakeConnections:
    """`asked` and `told` are what would go to `sync-requests` and `doc-sources`, in order.

    `before_change` runs once, before the next change has the row: another was first.
    """

    def __init__(self, *connections: Connection, clock: Clock | None = None) -> None:
        self.rows = {connection.id: connection for connection in connections}
        self.asked: list[tuple[str, SyncReason]] = []
        self.told: list[tuple[str, int, DocSource | None]] = []
        self.repeated: list[str] = []
        self.before_change: Callable[[], Awaitable[None]] | None = None
        self._clock = clock or Clock()
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def add(self, connection: Connection, *, ask: SyncReason | None = None) -> None:
        self._check_unique(connection)
        self.rows[connection.id] = connection
        self._tell(connection)
        if ask is not None:
            self.asked.append((connection.id, ask))

    async def find(self, doc_source_id: str, *, tenant_id: str | None = None) -> Connection | None:
        found = self.rows.get(doc_source_id)
        if found is None or found.state is State.GONE or (tenant_id is not None and found.tenant_id != tenant_id):
            return None
        return found

    async def page(self, tenant_id: str, *, after: tuple[datetime, str] | None, limit: int) -> Sequence[Connection]:
        ours = [row for row in self.rows.values() if row.tenant_id == tenant_id and row.state is not State.GONE]
        ours.sort(key=_place)
        return [row for row in ours if after is None or _place(row) > after][:limit]

    @asynccontextmanager
    async def change(self, doc_source_id: str, *, tenant_id: str | None = None) -> AsyncIterator[Change | None]:
        before, self.before_change = self.before_change, None
        if before is not None:
            await before()
        async with self._locks[doc_source_id]:
            found = await self.find(doc_source_id, tenant_id=tenant_id)
            if found is None:
                yield None
                return
            change = _FakeChange(found)
            yield change
            # As a transaction: an error in the block leaves nothing of it.
            if change.asked or change.connection != found:
                self._check_unique(change.connection)
            self.rows[doc_source_id] = change.connection
            if change.connection.version != found.version:
                self._tell(change.connection)
            self.asked += [(doc_source_id, reason) for reason in change.asked]

    async def claim_attention(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        due = [row for row in self.rows.values() if row.attention_at is not None and row.attention_at <= now][:limit]
        for row in due:
            self.rows[row.id] = replace(row, attention_at=now + lease)
        return [row.id for row in due]

    async def ask_for_backstops(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        due = [
            row
            for row in self.rows.values()
            if row.state is State.ACTIVE and row.backstop_at is not None and row.backstop_at <= now
        ][:limit]
        for row in due:
            self.rows[row.id] = replace(row, backstop_at=now + interval * 0.97)
            self.asked.append((row.id, SyncReason.BACKSTOP))
        return len(due)

    async def others_of_account(self, connection: Connection) -> Sequence[Connection]:
        return [
            row
            for row in self.rows.values()
            if row.id != connection.id
            and row.provider is connection.provider
            and row.ended_at is None
            and row.state in (State.ACTIVE, State.PAUSED, State.DELETING)
            and (row.account_key() == connection.account_key() or _same_user(row, connection))
        ]

    async def known_subscriptions(self, subscription_ids: Collection[str]) -> frozenset[str]:
        current = {row.subscription.subscription_id for row in self.rows.values() if row.subscription is not None}
        return frozenset(current & set(subscription_ids))

    async def look_at_misdirected(self, now: datetime, *, notification_url: str, lifecycle_url: str) -> None:
        for row in list(self.rows.values()):
            current = row.subscription
            if current is None or row.provider is not Provider.OUTLOOK or row.state not in (State.ACTIVE, State.PAUSED):
                continue
            if (current.notification_url, current.lifecycle_url) != (notification_url, lifecycle_url):
                self.rows[row.id] = replace(row, attention_at=now)

    async def published(self) -> Sequence[Published]:
        return [Published(row.id, row.version, row.state is State.GONE) for row in self.rows.values()]

    async def publish_again(self, doc_source_id: str) -> None:
        self.repeated.append(doc_source_id)

    def only(self) -> Connection:
        (row,) = self.rows.values()
        return row

    def _check_unique(self, new: Connection) -> None:
        if new.provider_user_id is None or new.state is State.GONE:
            return
        others = [row for row in self.rows.values() if row.id != new.id and row.state is not State.GONE]
        if any(_identity(row) == _identity(new) for row in others):
            raise AlreadyConnected

    def _tell(self, connection: Connection) -> None:
        self.told.append((connection.id, connection.version, as_event(connection, self._clock())))


class _FakeChange:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.asked: list[SyncReason] = []

    async def save(self, connection: Connection, *, ask: SyncReason | None = None) -> Connection:
        if is_news(self.connection, connection):
            connection = replace(connection, version=self.connection.version + 1)
        self.connection = connection
        if ask is not None:
            self.asked.append(ask)
        return connection


def _place(row: Connection) -> tuple[datetime, str]:
    return row.created_at, row.id


def _identity(row: Connection) -> tuple[object, ...]:
    return row.tenant_id, row.provider, row.provider_user_id, row.profile


def _same_user(one: Connection, other: Connection) -> bool:
    return one.provider_user_id is not None and one.provider_user_id == other.provider_user_id


class FakeFlows:
    def __init__(self) -> None:
        self.tickets: dict[bytes, Ticket] = {}
        self.flows: dict[bytes, Flow] = {}

    async def add_ticket(self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime) -> None:
        self.tickets[ticket_sha256] = Ticket(ticket_id, doc_source_id, expires_at, is_used=False)

    async def ticket(self, ticket_sha256: bytes) -> Ticket | None:
        return self.tickets.get(ticket_sha256)

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
        (digest, ticket), *_ = [(d, t) for d, t in self.tickets.items() if t.id == ticket_id]
        if ticket.is_used or ticket.expires_at <= now:
            return False
        self.tickets[digest] = replace(ticket, is_used=True)
        self.flows[state_sha256] = Flow(
            ticket_id, ticket.doc_source_id, cookie_sha256, sealed, flow_expires_at, is_finished=False
        )
        return True

    async def flow(self, state_sha256: bytes) -> Flow | None:
        return self.flows.get(state_sha256)

    async def finish(self, flow_id: str, now: datetime) -> bool:
        (digest, flow), *_ = [(d, f) for d, f in self.flows.items() if f.id == flow_id]
        if flow.is_finished:
            return False
        self.flows[digest] = replace(flow, is_finished=True)
        return True


class FakeGrants:
    def __init__(self) -> None:
        self.stored: dict[str, StoredGrant] = {}
        self.forgotten: list[str] = []
        self._generations: dict[str, int] = defaultdict(int)

    async def put_grant(
        self, doc_source_id: str, provider: Provider, account_id: str, tokens: StoredTokens, scopes: frozenset[str]
    ) -> int:
        self._generations[doc_source_id] += 1
        generation = self._generations[doc_source_id]
        self.stored[doc_source_id] = StoredGrant(
            doc_source_id, provider, account_id, tokens, generation, scopes, NOW, None
        )
        return generation

    async def read(self, doc_source_id: str) -> StoredGrant | None:
        return self.stored.get(doc_source_id)

    async def forget(self, doc_source_id: str) -> None:
        self.forgotten.append(doc_source_id)
        self.stored.pop(doc_source_id, None)


class FakeHeld:
    def __init__(self) -> None:
        self.is_lost = False

    def require_held(self) -> None:
        if self.is_lost:
            raise Unavailable("the lock is lost")


class FakeLocks:
    """`order` is who came in, in order; `held` is the last lock given."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.order: list[str] = []
        self.held = FakeHeld()

    @asynccontextmanager
    async def creator(self, doc_source_id: str) -> AsyncIterator[FakeHeld]:
        async with self._locks[f"creator:{doc_source_id}"]:
            self.order.append(f"creator:{doc_source_id}")
            yield self.held

    @asynccontextmanager
    async def account(self, provider: Provider, account_key: str) -> AsyncIterator[FakeHeld]:
        async with self._locks[f"account:{provider}:{account_key}"]:
            self.order.append(f"account:{provider}:{account_key}")
            yield FakeHeld()


@dataclass
class FakeProvider:
    """Mail and consent side of one provider. `notes` is every call, in order; `fail` raises instead of answering.

    `before` runs in the middle of a call, where the world may change.
    """

    provider: Provider = Provider.OUTLOOK
    clock: Callable[[], datetime] = field(default_factory=Clock)
    life: timedelta | None = None  # what it grants, when not what was asked
    notes: list[str] = field(default_factory=list)
    living: dict[str, Subscription] = field(default_factory=dict)
    client_states: dict[str, str] = field(default_factory=dict)
    fail: dict[str, Exception] = field(default_factory=dict)
    before: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    account: Account = field(default_factory=lambda: Account("user-1", "ada@contoso.example"))
    refresh_token: str | None = "refresh-canary"
    exchanged: list[dict[str, str | None]] = field(default_factory=list)
    names_owner: bool = True
    folders: Sequence[Folder] = ()
    page_origin: str = "https://login.example"

    @property
    def traits(self) -> ProviderTraits:
        return {package.traits.name: package.traits for package in PROVIDERS}[self.provider]

    async def create_subscription(self, mailbox: Mailbox, request: SubscriptionRequest) -> Subscription:
        await self._called("create", mailbox.doc_source_id)
        is_watch = self.provider is Provider.GMAIL
        name = "projects/p/topics/t" if is_watch else f"sub-{len(self.notes)}"
        made = Subscription(
            name,
            "me/messages",
            request.expires_at if self.life is None else self.clock() + self.life,
            notification_url=None if is_watch else request.notification_url,
            lifecycle_url=None if is_watch else request.lifecycle_url,
            doc_source_id=mailbox.doc_source_id if self.names_owner and not is_watch else None,
        )
        self.living[name] = made
        self.client_states[name] = request.client_state
        return made

    async def renew_subscription(self, mailbox: Mailbox, subscription_id: str, expires_at: datetime) -> Subscription:
        await self._called("renew", subscription_id)
        if subscription_id not in self.living:
            raise ItemGone("no such subscription")
        self.living[subscription_id] = replace(
            self.living[subscription_id],
            expires_at=expires_at if self.life is None else self.clock() + self.life,
        )
        return self.living[subscription_id]

    async def get_subscription(self, mailbox: Mailbox, subscription_id: str) -> Subscription | None:
        await self._called("get", subscription_id)
        return self.living.get(subscription_id)

    async def end_subscription(self, mailbox: Mailbox, subscription_id: str) -> None:
        await self._called("end", subscription_id)
        self.living.pop(subscription_id, None)

    async def list_subscriptions(self, mailbox: Mailbox) -> Sequence[Subscription]:
        await self._called("list", mailbox.address)
        return list(self.living.values())

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
        await self._called("authorize", redirect_uri)
        return f"https://login.example/authorize?state={state}&nonce={nonce}&code_challenge={code_challenge}"

    async def exchange_code(
        self, tenant: str | None, *, profile: Profile, code: str, redirect_uri: str, code_verifier: str, nonce: str
    ) -> Grant:
        await self._called("exchange", redirect_uri)
        self.exchanged.append({"code": code, "verifier": code_verifier, "nonce": nonce, "redirect": redirect_uri})
        return Grant("access-canary", self.refresh_token, self.clock() + timedelta(hours=1), frozenset({"Mail.Read"}))

    async def identify_account(self, grant: Grant) -> Account:
        await self._called("identify", "")
        return self.account

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        await self._called("list_folders", mailbox.address)
        return self.folders

    async def revoke_grant(self, refresh_token: str) -> None:
        await self._called("revoke", refresh_token)

    async def _called(self, name: str, about: str) -> None:
        self.notes.append(f"{name} {about}".strip())
        if name in self.before:
            await self.before[name]()
        if name in self.fail:
            raise self.fail[name]
