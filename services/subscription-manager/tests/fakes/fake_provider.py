"""A provider that records its calls: its subscriptions, its consent and its folders."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from connection_samples import OUTLOOK, Clock

from mailroom_common.errors import ItemGone
from mailroom_common.events import Profile
from mailroom_common.providers.ports import ProviderTraits
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox, Subscription, SubscriptionRequest


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
