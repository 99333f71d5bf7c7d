"""Every fault of the providers at once on one site, a mailbox each: what is stored is what was delivered, each once.

A mailbox takes its first mail, then the fault is switched on, more mail comes, and the fault stays: only where mail
cannot come beside it does it end, once the provider has answered as it should. All mailboxes are asked for a sync now
and then, as by the backstop. At the end the sandbox's ledger is held against messages and documents.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from mail_ledger.comparison import Difference
from mail_ledger.mail_flow import Mailbox
from mail_ledger.site_differences import are_none, find_differences, wait_until
from site_syncs import in_background, sync_now_and_then
from whole_site import FINAL, PROVIDERS, Site, eventually, mail, pdf, whole_site

from mailroom_sandbox.site.demo.browser import Browser

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

SETTLES_WITHIN_S = 150
SYNC_INTERVAL_S = 8
LOOK_INTERVAL_S = 1
STRUCK = "Struck"  # the subject of the mail that faults of single messages are about
OUTLOOK, GMAIL = ("outlook",), ("gmail",)


@dataclass(frozen=True, slots=True)
class PlayedMailbox:
    """A mailbox with its fault, and the mails that came to it."""

    mailbox: Mailbox
    deliver: Callable[[str], Awaitable[None]]


Action = Callable[[Site, PlayedMailbox], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """`switches` by name, with their parameters. `status` is an answer that the provider gives while they are on."""

    name: str
    providers: tuple[str, ...] = PROVIDERS
    switches: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    is_on_at_consent: bool = False
    status: int | None = None
    lets_mail_through: bool = True
    act: Action | None = None


def case(name: str, providers: tuple[str, ...] = PROVIDERS, /, **switches: Mapping[str, object]) -> FaultCase:
    return FaultCase(name=name, providers=providers, switches=switches)


async def send_lifecycle_events(site: Site, played: PlayedMailbox) -> None:
    await wait_for_subscription(site, played.mailbox)
    for event in ("missed", "reauthorizationRequired", "subscriptionRemoved"):
        await site.control.send_lifecycle_event(event, address=played.mailbox.address)
        await played.deliver(f"after {event}")


async def drop_subscription(site: Site, played: PlayedMailbox) -> None:
    await wait_for_subscription(site, played.mailbox)
    users = {one["address"]: one["user_id"] for one in await site.control.list_mailboxes()}
    for subscription in await site.control.list_subscriptions():
        if subscription["user_id"] == users[played.mailbox.address]:
            await site.control.drop_subscription(subscription["subscription_id"])


async def expire_tokens(site: Site, played: PlayedMailbox) -> None:
    for number in range(2):
        await site.control.expire_tokens(played.mailbox.address)
        await played.deliver(f"token {number}")


async def refuse_cursors(site: Site, played: PlayedMailbox) -> None:
    await site.control.refuse_cursors(played.mailbox.address)


async def disable_and_enable(site: Site, played: PlayedMailbox) -> None:
    address = played.mailbox.address
    await site.control.disable_mailbox(address, "MailboxNotEnabledForRESTAPI")
    await played.deliver("while disabled")
    await wait_until_the_refusal_is_told(site, played)
    await site.control.disable_mailbox(address, None)


async def revoke_and_consent_again(site: Site, played: PlayedMailbox) -> None:
    address, source = played.mailbox.address, played.mailbox.doc_source_id
    await site.control.revoke_grants(address)
    await site.control.expire_tokens(address)
    await played.deliver("while revoked")

    async def is_told() -> bool:
        described = await site.api.get_json(f"/doc-sources/{source}")
        return bool(described["connection_status"] == "token_refresh_failed")

    await eventually(is_told)
    link = (await site.api.post_json(f"/doc-sources/{source}/authorize"))["authorize_url"]
    async with Browser(site.trusted) as browser:
        providers = await browser.submit_form(await browser.open_page(link))
        await browser.submit_form(providers, account=address, decision="accept")


async def wait_until_the_refusal_is_told(site: Site, played: PlayedMailbox) -> None:
    """A mailbox that can be read and not be watched is not shown as healthy."""

    async def is_told() -> bool:
        described = await site.api.get_json(f"/doc-sources/{played.mailbox.doc_source_id}")
        return bool(described["connection_status"] != "active" and described["current_error"])

    await eventually(is_told)


CASES = (
    case("duplicated", notifications={"mode": "duplicated", "copies": 5}),
    case("reordered", notifications={"mode": "reordered", "delay_s": 2}),
    case("delayed", OUTLOOK, notifications={"mode": "delayed", "delay_s": 3}),
    case("mixed", notifications={"mode": "mixed", "delay_s": 2}),
    case("dropped", GMAIL, notifications={"mode": "off", "share": 0.5}),
    case("unannounced", notifications={"mode": "off"}),
    case("lagging", delta_lag={"lag_s": 4}),
    case("odd-rounds", delta_shape={"replayed_changes": 3, "repeat_items": True, "empty_pages": 2}),
    case("refused-start", cursor_refused={"where": "start"}),
    case("refused-middle", cursor_refused={"where": "middle"}, delta_shape={"empty_pages": 1}),
    case("half-a-character", odd_bytes={"kind": "lone_surrogate", "text": STRUCK}),
    case("bad-utf8", OUTLOOK, odd_bytes={"kind": "bad_utf8", "text": STRUCK}),
    case("control-character", GMAIL, odd_bytes={"kind": "control", "text": STRUCK}),
    case("byte-order-mark", OUTLOOK, odd_bytes={"kind": "bom", "text": STRUCK}),
    case("readable-later", message_delayed={"items": STRUCK, "after_s": 6}),
    case("listed-later", OUTLOOK, message_delayed={"items": STRUCK, "after_s": 6, "is_listed": False}),
    case("gone-at-once", message_delayed={"items": STRUCK, "mode": "gone"}),
    case(
        "own-quotas",
        exact_quotas={"gmail_user_units": 150, "gmail_window_s": 5, "graph_calls": 15, "graph_window_s": 5},
    ),
    FaultCase(
        name="decimal-wait",
        switches={"unavailable": {"status": 429, "retry_after": "1.5", "times": 3}},
        status=429,
    ),
    FaultCase(
        name="no-wait",
        providers=OUTLOOK,
        switches={"unavailable": {"status": 429, "retry_after": None, "times": 1}},
        status=429,
    ),
    FaultCase(
        name="now-and-then",
        switches={"unavailable": {"status": 429, "retry_after": "1", "share": 0.1}},
    ),
    FaultCase(
        name="service-unavailable",
        providers=GMAIL,
        switches={"unavailable": {"status": 503, "retry_after": "2", "times": 2}},
        status=503,
    ),
    FaultCase(
        name="gateway-page",
        switches={"unavailable": {"status": 504, "retry_after": None, "times": 1}},
        status=504,
    ),
    FaultCase(
        name="rate-429",
        providers=GMAIL,
        switches={"gmail_quota": {"shape": "429_rateLimitExceeded", "times": 1}},
        status=429,
    ),
    FaultCase(
        name="rate-403",
        providers=GMAIL,
        switches={"gmail_quota": {"shape": "403_userRateLimitExceeded", "times": 1}},
        status=403,
    ),
    FaultCase(
        name="failing-message",
        switches={"item_fails": {"items": STRUCK, "where": ["message", "part"]}},
        status=500,
        lets_mail_through=False,
    ),
    # Its folder is read by list while the delta fails over it.
    FaultCase(
        name="failing-delta",
        providers=OUTLOOK,
        switches={"item_fails": {"items": STRUCK, "where": "delta"}},
        status=500,
    ),
    FaultCase(
        name="failing-part",
        switches={"item_fails": {"items": STRUCK, "where": "part", "status": 504}},
        status=504,
        lets_mail_through=False,
    ),
    FaultCase(
        name="broken-part",
        providers=OUTLOOK,
        switches={"item_fails": {"items": STRUCK, "where": "part", "break_after_bytes": 100, "times": 2}},
    ),
    FaultCase(
        name="protected-item",
        switches={"access_denied": {"items": STRUCK}},
        status=403,
        lets_mail_through=False,
    ),
    FaultCase(
        name="slow-handshake", providers=OUTLOOK, switches={"handshake": {"mode": "slow"}}, is_on_at_consent=True
    ),
    FaultCase(
        name="refused-handshake",
        providers=OUTLOOK,
        switches={"handshake": {"mode": "refused"}},
        is_on_at_consent=True,
        status=400,
    ),
    FaultCase(name="announced-early", providers=OUTLOOK, switches={"early_announcement": {}}, is_on_at_consent=True),
    FaultCase(name="short-lived", switches={"subscription_limits": {"granted_s": 20}}, is_on_at_consent=True),
    FaultCase(
        name="not-to-be-had",
        switches={"watch": {"mode": "refused"}},
        is_on_at_consent=True,
        status=403,
        act=wait_until_the_refusal_is_told,
    ),
    FaultCase(
        name="no-expiration", providers=GMAIL, switches={"watch": {"mode": "no_expiration"}}, is_on_at_consent=True
    ),
    FaultCase(name="rotating", providers=OUTLOOK, switches={"refresh": {"mode": "rotates"}}, act=expire_tokens),
    FaultCase(name="expired", providers=GMAIL, act=expire_tokens),
    FaultCase(name="revoked", act=revoke_and_consent_again),
    FaultCase(name="disabled", providers=OUTLOOK, act=disable_and_enable),
    FaultCase(name="refused-for-good", act=refuse_cursors),
    FaultCase(name="lifecycle", providers=OUTLOOK, act=send_lifecycle_events),
    FaultCase(name="vanished", providers=OUTLOOK, act=drop_subscription),
)


@dataclass(slots=True)
class FaultRun:
    """All cases on one site; `contents_by_mail` is the SHA-256 of a mail's source to those of its attachments.

    `documents` counts by doc source, `answers` are the providers' by mailbox: looked at for all cases together.
    """

    site: Site
    mailboxes: dict[str, Mailbox] = field(default_factory=dict)
    contents_by_mail: dict[str, tuple[str, ...]] = field(default_factory=dict)
    documents: Counter[str] = field(default_factory=Counter)
    answers: set[tuple[str, int]] = field(default_factory=set)
    connecting: asyncio.Lock = field(default_factory=asyncio.Lock)
    looked_at: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def play(self, fault: FaultCase, provider: str) -> None:
        played = await self._connect(fault, provider)
        address = played.mailbox.address
        if fault.is_on_at_consent:
            await played.deliver("First")
        else:
            await self._take_first_mail(played)
            await self._switch_on(fault, address)
        if fault.act is not None:
            await fault.act(self.site, played)
        for subject in (STRUCK, "Beside"):
            await played.deliver(subject)
        if fault.status is not None:
            await self._wait_until(lambda: (address, fault.status) in self.answers)
        if not fault.lets_mail_through:
            # The mail that came with the one that fails is a document while it still does.
            await self._wait_until(lambda: self.documents[played.mailbox.doc_source_id] >= 2)
            await self.site.control.clear_faults(mailbox=address)

    async def find_differences(self) -> list[Difference]:
        mailboxes = list(self.mailboxes.values())
        return await find_differences(self.site.control, self.site.api, mailboxes, self.contents_by_mail)

    def list_doc_sources(self) -> list[str]:
        return [mailbox.doc_source_id for mailbox in self.mailboxes.values()]

    async def look_at_the_site(self) -> None:
        after = 0
        while True:
            documents = await self.site.api.list_items("/documents")
            self.documents = Counter(one["doc_source_id"] for one in documents if one["status"] in FINAL)
            for call in await self.site.control.list_calls(after=after):
                after = call["seq"]
                self.answers.add((str(call["mailbox"]), call["status"]))
            async with self.looked_at:
                self.looked_at.notify_all()
            await asyncio.sleep(LOOK_INTERVAL_S)

    async def _connect(self, fault: FaultCase, provider: str) -> PlayedMailbox:
        """One after the other: a mailbox has no address before its consent, by which to tell two apart."""
        address = f"{fault.name}@{provider}.test"
        await self.site.control.find_or_create_mailbox(provider, address)
        if fault.is_on_at_consent:
            await self._switch_on(fault, address)
        async with self.connecting:
            _, source = await self.site.connect(provider, address)
        mailbox = self.mailboxes[address] = Mailbox(provider, address, source)

        async def deliver(subject: str) -> None:
            folder = "junkemail" if subject == "in junk" else None
            content = pdf(f"{subject} {address}")
            message = mail(content, subject=subject)
            self.contents_by_mail[hashlib.sha256(message).hexdigest()] = (hashlib.sha256(content).hexdigest(),)
            await self.site.control.deliver_mail(message, address, folder=folder)

        return PlayedMailbox(mailbox, deliver)

    async def _switch_on(self, fault: FaultCase, address: str) -> None:
        for name, parameters in fault.switches.items():
            await self.site.control.set_fault(name, mailbox=address, **parameters)

    async def _take_first_mail(self, played: PlayedMailbox) -> None:
        await played.deliver("First")
        await self._wait_until(lambda: self.documents[played.mailbox.doc_source_id] >= 1)

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(SETTLES_WITHIN_S), self.looked_at:
            await self.looked_at.wait_for(holds)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with whole_site(tmp_path_factory.mktemp("faults") / "home") as running:
        yield running


async def test_what_is_stored_under_every_fault_at_once_is_what_was_delivered(site: Site) -> None:
    run = FaultRun(site)
    syncing = sync_now_and_then(site, run.list_doc_sources, SYNC_INTERVAL_S)
    async with in_background(syncing), in_background(run.look_at_the_site()):
        played = await asyncio.gather(
            *(run.play(fault, provider) for fault in CASES for provider in fault.providers), return_exceptions=True
        )
        differences = await wait_until(are_none, run.find_differences, SETTLES_WITHIN_S, pause_s=2)
    failed = [error for error in played if isinstance(error, BaseException)]
    assert not failed, failed
    names = {mailbox.doc_source_id: mailbox.address for mailbox in run.mailboxes.values()}
    assert Counter((names[one.doc_source_id], one.kind) for one in differences) == Counter(), differences


async def wait_for_subscription(site: Site, mailbox: Mailbox) -> None:
    async def is_there() -> bool:
        source = await site.api.get_json(f"/doc-sources/{mailbox.doc_source_id}")
        return source["subscription_expires_at"] is not None

    await eventually(is_there)
