"""A seeded mix of faults over 20 mailboxes while processes are killed and paused: what is stored is what was delivered.

`make fault-mix SEED=7 SECONDS=180`; no part of `make test`. The plan (what happens when, to which mailbox or process)
follows from the seed; when each of it meets the site does not, so a failure may need several runs of its seed.
"""

import asyncio
import hashlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import psutil
import pytest
import pytest_asyncio
from mail_ledger.mail_flow import Mailbox
from mail_ledger.site_differences import are_none, find_differences, print_differences, wait_until
from site_syncs import in_background, sync_now_and_then
from whole_site import PROVIDERS, Site, mail, pdf, whole_site

SEED = int(os.environ.get("FAULT_MIX_SEED") or random.SystemRandom().randrange(10**6))
SECONDS = float(os.environ.get("FAULT_MIX_SECONDS") or 180)
MAILBOXES = 20
SETTLES_WITHIN_S = 120
SYNC_INTERVAL_S = 10
MAIL_INTERVAL_S, FAULT_INTERVAL_S, ACTION_INTERVAL_S, SIGNAL_INTERVAL_S = 0.75, 3.0, 6.0, 12.0
LONGEST_FAULT_S, LONGEST_PAUSE_S = 20.0, 20.0
REPEATED_SHARE, SECOND_FILE_SHARE = 0.1, 0.15
PROCESSES = ("sync_engine_worker", "sync_engine_coalescer", "ingestion_worker")
FOLDERS = ("archive", "inbox", "Inbox/Invoices")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(SECONDS + 600)]

Switch = tuple[str, dict[str, object]]
Act = Callable[[], Coroutine[None, None, None]]
SWITCHES: tuple[Callable[[random.Random], Switch], ...] = (
    lambda chance: ("notifications", {"mode": "off", "share": chance.choice((0.3, 1.0))}),
    lambda chance: ("notifications", {"mode": "duplicated", "copies": chance.randint(2, 6)}),
    lambda chance: ("notifications", {"mode": chance.choice(("delayed", "reordered", "mixed")), "delay_s": 3}),
    lambda chance: ("delta_lag", {"lag_s": chance.uniform(1, 8)}),
    lambda chance: ("delta_shape", {"replayed_changes": chance.randint(0, 5), "repeat_items": True, "empty_pages": 1}),
    lambda chance: ("cursor_refused", {"where": chance.choice(("start", "middle"))}),
    lambda chance: ("unavailable", {"status": 429, "retry_after": chance.choice(("1", "0.7")), "share": 0.2}),
    lambda chance: ("unavailable", {"status": chance.choice((500, 502, 503, 504)), "retry_after": None, "share": 0.2}),
    lambda chance: ("item_fails", {"where": chance.choice(("message", "part", "list", "delta")), "times": 3}),
    lambda chance: ("item_fails", {"where": "part", "break_after_bytes": chance.randint(0, 900), "times": 3}),
    lambda chance: ("message_delayed", {"after_s": chance.uniform(1, 6), "is_listed": chance.random() < 0.5}),
    lambda _: ("access_denied", {"times": 1}),
    lambda chance: (
        "odd_bytes",
        {"kind": chance.choice(("lone_surrogate", "bad_utf8", "control", "bom")), "text": "In"},
    ),
    lambda _: ("gmail_quota", {"shape": "403_userRateLimitExceeded", "times": 1}),
    lambda _: ("exact_quotas", {"gmail_user_units": 300, "gmail_window_s": 5, "graph_calls": 25, "graph_window_s": 5}),
    lambda _: ("refresh", {"mode": "rotates"}),
    lambda _: ("watch", {"mode": "refused"}),
    lambda _: ("subscription_limits", {"granted_s": 20}),
)


@dataclass(slots=True)
class FaultMix:
    """`contents_by_mail` is the SHA-256 of a mail's source to those of its attachments."""

    site: Site
    mailboxes: list[Mailbox]
    chance: random.Random
    contents_by_mail: dict[str, tuple[str, ...]] = field(default_factory=dict)
    delivered: list[tuple[Mailbox, str]] = field(default_factory=list)
    latest: dict[str, bytes] = field(default_factory=dict)
    under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def play(self) -> None:
        began_s = time.monotonic()
        for at_s, act in self._plan():
            await asyncio.sleep(max(0.0, began_s + at_s - time.monotonic()))
            task = asyncio.create_task(act())
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)
        await asyncio.gather(*self.under_way)

    def _plan(self) -> Iterator[tuple[float, Act]]:
        """Four sequences of moments, in the order of time."""
        makers = {
            self._plan_mail: MAIL_INTERVAL_S,
            self._plan_fault: FAULT_INTERVAL_S,
            self._plan_action: ACTION_INTERVAL_S,
            self._plan_signal: SIGNAL_INTERVAL_S,
        }
        moments = [
            (number * interval_s, order, make)
            for order, (make, interval_s) in enumerate(makers.items())
            for number in range(1, int(SECONDS / interval_s))
        ]
        for number, (at_s, _, make) in enumerate(sorted(moments, key=lambda moment: moment[:2])):
            yield at_s, make(number)

    def _plan_mail(self, number: int) -> Act:
        mailbox = self.chance.choice(self.mailboxes)
        contents = [pdf(f"{SEED}-{number}")]
        if mailbox.address in self.latest and self.chance.random() < REPEATED_SHARE:
            contents = [self.latest[mailbox.address]]
        if self.chance.random() < SECOND_FILE_SHARE:
            contents.append(pdf(f"{SEED}-{number}-second"))
        self.latest[mailbox.address] = contents[0]
        source = mail(*contents, subject=f"Invoice {number}")
        hashes = tuple(hashlib.sha256(content).hexdigest() for content in contents)
        self.contents_by_mail[hashlib.sha256(source).hexdigest()] = hashes

        async def deliver() -> None:
            (message_id,) = await self.site.control.deliver_mail(source, mailbox.address, provider=mailbox.provider)
            self.delivered.append((mailbox, message_id))

        return deliver

    def _plan_fault(self, number: int) -> Act:
        mailbox = self.chance.choice(self.mailboxes)
        name, parameters = self.chance.choice(SWITCHES)(self.chance)
        lasts_s = self.chance.uniform(2, LONGEST_FAULT_S)

        async def switch_on_and_off() -> None:
            print(f"· {number}: {name} {parameters} at {mailbox.address} for {lasts_s:.0f} s", flush=True)
            await self.site.control.set_fault(name, mailbox=mailbox.address, **parameters)
            await asyncio.sleep(lasts_s)
            await self.site.control.clear_faults(name, mailbox=mailbox.address)

        return switch_on_and_off

    def _plan_action(self, _: int) -> Act:
        control, mailbox = self.site.control, self.chance.choice(self.mailboxes)
        folder = self.chance.choice(FOLDERS)
        index = self.chance.random()

        async def move_one() -> None:
            if self.delivered:
                moved, message_id = self.delivered[int(index * len(self.delivered))]
                await control.move_message(moved.address, message_id, folder)

        async def expire_tokens() -> None:
            await control.expire_tokens(mailbox.address)

        async def send_missed() -> None:
            await control.send_lifecycle_event("missed", address=mailbox.address)

        async def remove_subscription() -> None:
            await control.send_lifecycle_event("subscriptionRemoved", address=mailbox.address)

        async def refuse_cursors() -> None:
            await control.refuse_cursors(mailbox.address)

        actions = (move_one, move_one, expire_tokens, send_missed, remove_subscription, refuse_cursors)
        return self.chance.choice(actions)

    def _plan_signal(self, number: int) -> Act:
        name = self.chance.choice(PROCESSES)
        pause_s = self.chance.choice((0.0, self.chance.uniform(1, LONGEST_PAUSE_S)))

        async def kill_or_pause() -> None:
            with suppress(psutil.NoSuchProcess):  # it is just being started again
                process = psutil.Process(self.site.running.endpoints.pids[name])
                print(f"· {number}: {name} is {f'paused for {pause_s:.0f} s' if pause_s else 'killed'}", flush=True)
                process.send_signal(signal.SIGSTOP if pause_s else signal.SIGKILL)
                await asyncio.sleep(pause_s)
                if pause_s:
                    process.send_signal(signal.SIGCONT)

        return kill_or_pause


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with whole_site(tmp_path_factory.mktemp("mix") / "home") as running:
        yield running


async def test_a_mix_of_faults_loses_and_doubles_nothing(site: Site) -> None:
    print(f"\n· seed {SEED}: make fault-mix SEED={SEED} SECONDS={SECONDS:.0f}", flush=True)
    mailboxes = [await connect_mailbox(site, PROVIDERS[number % 2], number) for number in range(MAILBOXES)]
    mix = FaultMix(site, mailboxes, random.Random(SEED))
    sources = [mailbox.doc_source_id for mailbox in mailboxes]
    async with in_background(sync_now_and_then(site, lambda: sources, SYNC_INTERVAL_S)):
        await mix.play()
        await site.control.clear_faults()
        await site.control.retry_pushes_now()

        differences = await wait_until(
            are_none,
            lambda: find_differences(site.control, site.api, mailboxes, mix.contents_by_mail),
            SETTLES_WITHIN_S,
            pause_s=3,
        )
    print_differences(differences)
    print(f"· seed {SEED}: {len(mix.delivered)} mails, {len(differences)} differences", flush=True)
    assert len(mix.delivered) == len(mix.contents_by_mail)
    assert not differences, f"seed {SEED}"


async def connect_mailbox(site: Site, provider: str, number: int) -> Mailbox:
    address = f"mix-{number}@{provider}.test"
    await site.control.find_or_create_mailbox(provider, address)
    _, source = await site.connect(provider, address)
    return Mailbox(provider, address, source)
