"""Any order of mail, moves, faults, kills and former owners: in the end each watched mail is collected exactly once."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from fake_mailbox import FakeClock, FakeGmail, FakeMailbox, FakeOutlook, File
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sync_harness import START, Engine, doc_source, open_engine

from mailroom_common.errors import CursorRefused, MailroomError, PageTokenRefused, ProviderUnavailable, Throttled
from mailroom_common.events import SyncReason
from sync_engine.domain.run_outcomes import RunUnfinished
from sync_engine.domain.run_planning import SyncTimings

T = TypeVar("T")

_FOLDERS = st.sampled_from(["f-inbox", "f-invoices", "f-junk"])
_LABELS = st.sampled_from([frozenset({"INBOX"}), frozenset({"Label_1"}), frozenset({"SPAM"})])
_WATCHED = {"f-inbox", "f-invoices"}
_CALLS = ["folders", "list", "delta", "page", "fetch", "open_part", "history", "relist"]
_LATER = st.sampled_from([0.1, 3, 20, 20])  # minutes; after twenty, whatever failed may be tried again
_FAULTS: list[tuple[str, MailroomError]] = [
    ("delta", CursorRefused("410")),
    ("page", PageTokenRefused("410")),
    ("history", CursorRefused("404")),
    *[(call, ProviderUnavailable("503")) for call in _CALLS],
    *[(call, Throttled("429", retry_after_s=5)) for call in _CALLS],
]


class Killed(BaseException):
    """Stands for kill -9 at a call: nothing after it is done, nothing before it is undone."""


class MailboxLife(RuleBasedStateMachine):
    database_url: str
    folder: Path
    provider: str

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        clock = FakeClock()
        self.mailbox: FakeMailbox = (
            FakeOutlook(clock, page_size=2) if self.provider == "outlook" else FakeGmail(clock, page_size=2)
        )
        source = doc_source(self.provider, doc_source_id=str(uuid4()))
        opened = open_engine(self.database_url, self.folder, source, self.mailbox)
        self.engine: Engine = self._await(self.stack.enter_async_context(opened))
        self.worker = self.engine.sync_engine()
        self.number = 0

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    # What people and providers do.

    @rule(how_many=st.integers(1, 3), folder=_FOLDERS, labels=_LABELS, is_old=st.booleans())
    def mail_arrives(self, how_many: int, folder: str, labels: frozenset[str], is_old: bool) -> None:
        received_at = START if not is_old else START.replace(year=2020)
        for _ in range(how_many):
            self.number += 1
            if isinstance(self.mailbox, FakeOutlook):
                self.mailbox.deliver(f"m{self.number}", File(), folder_id=folder, received_at=received_at)
            elif isinstance(self.mailbox, FakeGmail):
                self.mailbox.deliver(f"m{self.number}", File(), labels=labels, received_at=received_at)

    @rule(which=st.integers(0, 99), folder=_FOLDERS, labels=_LABELS, is_lost=st.booleans())
    def mail_is_moved(self, which: int, folder: str, labels: frozenset[str], is_lost: bool) -> None:
        if not self.mailbox.mails:
            return
        message_id = sorted(self.mailbox.mails)[which % len(self.mailbox.mails)]
        if isinstance(self.mailbox, FakeOutlook):
            if is_lost:
                self.mailbox.lose_additions.add(message_id)
            self.mailbox.move(message_id, folder)
        elif isinstance(self.mailbox, FakeGmail):
            self.mailbox.relabel(message_id, labels)

    @rule(fault=st.sampled_from(_FAULTS))
    def provider_will_fail(self, fault: tuple[str, MailroomError]) -> None:
        call, error = fault
        self.mailbox.errors.setdefault(call, []).append(error)

    @rule(lags=st.booleans())
    def deltas_lag(self, lags: bool) -> None:
        if isinstance(self.mailbox, FakeOutlook):
            self.mailbox.lags = lags

    # What workers do.

    @rule(is_short=st.booleans())
    def slices_are_short(self, is_short: bool) -> None:
        self.engine.timings = SyncTimings(slice_duration=timedelta(0)) if is_short else SyncTimings()
        self.worker = self.engine.sync_engine()

    @rule(minutes=_LATER, is_full=st.booleans(), slices=st.integers(1, 8))
    def a_run(self, minutes: float, is_full: bool, slices: int) -> None:
        self._await(self._later(minutes, is_full))
        for _ in range(slices):
            run = self.worker.sync_mailbox(self.engine.source, reasons=frozenset({SyncReason.NOTIFICATION}))
            if not isinstance(self._await(run), RunUnfinished):
                return

    @rule(minutes=_LATER, is_full=st.booleans(), calls=st.integers(1, 6))
    def a_run_that_is_killed(self, minutes: float, is_full: bool, calls: int) -> None:
        left = calls

        async def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed

        async def run() -> None:
            self.mailbox.meanwhile = dict.fromkeys(_CALLS, count)
            try:
                await self.engine.run_sync(SyncReason.NOTIFICATION)
            except Killed:
                return
            finally:
                self.mailbox.meanwhile = {}

        self.mailbox.errors.clear()  # so that it gets as far as it is to get
        self.mail_arrives(2, "f-inbox", frozenset({"INBOX"}), is_old=False)
        self._await(self._later(minutes, is_full))
        self._await(run())

    @rule(minutes=_LATER, is_full=st.booleans())
    def two_workers_at_once(self, minutes: float, is_full: bool) -> None:
        async def both() -> None:
            await asyncio.gather(*(self.engine.run_sync(SyncReason.NOTIFICATION) for _ in range(2)))

        self._await(self._later(minutes, is_full))
        self._await(both())

    async def _later(self, minutes: float, is_full: bool) -> None:
        self.engine.clock.pass_by(minutes=minutes)
        if is_full:
            await self.engine.states.mark_full_due([self.engine.source.doc_source_id])

    @invariant()
    def nothing_is_taken_twice_and_nothing_that_is_not_ours(self) -> None:
        if not hasattr(self, "engine"):
            return
        taken = self._await(self.engine.collected_mails())
        assert len(taken) == len(set(taken))
        old = {
            message_id
            for message_id, mail in self.mailbox.mails.items()
            if mail.summary.received_at and mail.summary.received_at < START
        }
        assert not old & set(taken)

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        try:
            self._all_is_taken_once_the_provider_is_well()
        finally:
            self._await(self.stack.aclose())
            self.loop.close()

    def _all_is_taken_once_the_provider_is_well(self) -> None:
        self.mailbox.errors.clear()
        if isinstance(self.mailbox, FakeOutlook):
            self.mailbox.lags = False
        self.engine.timings = SyncTimings()
        self._await(self.engine.states.mark_full_due([self.engine.source.doc_source_id]))
        for _ in range(3):  # a parked item may come to its turn only after this run began
            self.engine.clock.pass_by(hours=4)
            self._await(self.engine.complete_run(SyncReason.MANUAL))
        ours = {
            message_id
            for message_id, mail in self.mailbox.mails.items()
            if mail.summary.received_at
            and mail.summary.received_at >= START
            and (mail.summary.folder_id in _WATCHED or (mail.summary.labels and "SPAM" not in mail.summary.labels))
        }
        assert ours <= set(self._await(self.engine.collected_mails()))
        assert self._await(self.engine.read_rows("parked_item")) == []


_FEW = settings(
    max_examples=20,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_every_mail_of_an_outlook_mailbox_is_collected_exactly_once(postgres_url: str, tmp_path: Path) -> None:
    class OutlookLife(MailboxLife):
        database_url, folder, provider = postgres_url, tmp_path, "outlook"

    run_state_machine_as_test(OutlookLife, settings=_FEW)


def test_every_mail_of_a_gmail_mailbox_is_collected_exactly_once(postgres_url: str, tmp_path: Path) -> None:
    class GmailLife(MailboxLife):
        database_url, folder, provider = postgres_url, tmp_path, "gmail"

    run_state_machine_as_test(GmailLife, settings=_FEW)
