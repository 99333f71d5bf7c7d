"""What tens of thousands of changes at once cost: `make bulk-test`, no part of `make test`; it prints its figures.

The whole sync engine on a real Postgres, and a mailbox in memory that counts its calls and keeps to the provider's
quota. Runs are asked for until one completes, as the worker does; what a run has to wait for is passed over.
"""

import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest
from fake_mailbox import FakeClock, FakeGmail, FakeOutlook, File
from sync_harness import START, Engine, doc_source, open_engine

from mailroom_common.errors import CursorRefused
from mailroom_common.events import MailKind, Profile, SyncReason
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted

pytestmark = pytest.mark.timeout(3600)

REMOVED = int(os.environ.get("MAILROOM_TEST_REMOVED", "50000"))
RELABELLED = int(os.environ.get("MAILROOM_TEST_RELABELLED", "10000"))
_STAYING = 500
_PAGE_SIZE = 500
_CONCURRENT_MESSAGES = 3  # of one run
# What earlier runs have reported of mails that are not in the mailbox any more.
_INSERT_OBSERVED = """
insert into sync_engine.message (
    doc_source_id, message_id, tenant_id, state, folder_id, folder, version, received_at, subject, sender_address,
    last_seen_at)
select $1, 'gone-' || number, $2, 'observed', $3, $3, '1', $4::timestamptz, 'Invoice ' || number,
       'billing@supplier.example', $4::timestamptz
from generate_series(1, $5::int) number
"""
# By what one message costs of the quota of its mailbox: of Graph's 10,000 calls in ten minutes, of Gmail's 6,000 units.
_UNITS_PER_MINUTE = {"outlook": (1000, 1), "gmail": (6000, 20)}


class PassingClock(FakeClock):
    """Goes on while the engine works, so that the slices of a run end."""

    def __init__(self) -> None:
        super().__init__()
        self._began = monotonic()

    def __call__(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self._began)

    def pass_to(self, at: datetime) -> None:
        self.now += max(at - self(), timedelta())


@asynccontextmanager
async def open_mailbox(
    provider: str, profile: Profile, postgres_url: str, folder: Path
) -> AsyncIterator[tuple[Engine, PassingClock]]:
    clock = PassingClock()
    mailbox = (FakeOutlook if provider == "outlook" else FakeGmail)(clock, page_size=_PAGE_SIZE)
    async with open_engine(postgres_url, folder, doc_source(provider, profile), mailbox) as engine:
        yield engine, clock


async def sync_until_complete(engine: Engine, clock: PassingClock) -> tuple[int, float]:
    """How many runs a backstop takes, and how many seconds they worked."""
    worker = engine.sync_engine()
    clock.pass_by(minutes=11)  # a full run is due
    began = monotonic()
    for number in range(1, 5000):
        outcome = await worker.sync_mailbox(engine.source, reasons=frozenset({SyncReason.BACKSTOP}))
        if isinstance(outcome, RunCompleted):
            return number, monotonic() - began
        assert not isinstance(outcome, NotSyncable), outcome
        clock.pass_to(outcome.not_before + timedelta(seconds=1))
    raise AssertionError("the mailbox does not come to an end")


@pytest.mark.parametrize("provider", ["outlook", "gmail"])
async def test_each_of_many_removals_is_confirmed_and_reported_once_after_a_refused_cursor(
    provider: str, postgres_url: str, tmp_path: Path
) -> None:
    async with open_mailbox(provider, Profile.OBSERVATION, postgres_url, tmp_path / "blobs") as (engine, clock):
        mailbox = engine.mailbox
        assert isinstance(mailbox, FakeOutlook | FakeGmail)
        await sync_until_complete(engine, clock)
        for number in range(_STAYING):
            mailbox.deliver(f"stays-{number:03}")
        await sync_until_complete(engine, clock)
        folder_id = "f-inbox" if provider == "outlook" else "INBOX"
        await engine.pool.execute(
            _INSERT_OBSERVED, engine.source.doc_source_id, engine.source.tenant_id, folder_id, clock(), REMOVED
        )
        gone = [f"gone-{number}" for number in range(1, REMOVED + 1)]
        mailbox.calls.clear()
        mailbox.errors["delta" if provider == "outlook" else "history"] = [CursorRefused("the position is too old")]
        per_minute, units = _UNITS_PER_MINUTE[provider]
        mailbox.limit_units(per_minute, {"fetch": units})
        started_at = clock()
        runs, worked_s = await sync_until_complete(engine, clock)
        passed = clock() - started_at
        reported = await engine.pool.fetch(
            "select kind, message_id from sync_engine.mail_event where doc_source_id = $1", engine.source.doc_source_id
        )
        removed = Counter(row["message_id"] for row in reported if row["kind"] == MailKind.REMOVED)
        print(
            f"\n{provider}: {len(removed):,} removals, {mailbox.calls['fetch']:,} messages asked for, {runs} runs, "
            f"{worked_s:.0f} s of work, {passed.total_seconds() / 60:.0f} min by the quota"
        )
        assert removed == Counter(gone)
        # A re-list of Gmail has ids only: those that stay are asked for too, and again where the quota ended amid them.
        others = 0 if provider == "outlook" else _STAYING + runs * _CONCURRENT_MESSAGES
        assert len(gone) <= mailbox.units_spent / units <= len(gone) + others, "each was asked for once"


async def test_labels_of_old_mail_that_change_by_the_thousand_cost_pages_of_the_history(
    postgres_url: str, tmp_path: Path
) -> None:
    async with open_mailbox("gmail", Profile.INVOICE, postgres_url, tmp_path / "blobs") as (engine, clock):
        gmail = engine.mailbox
        assert isinstance(gmail, FakeGmail)
        old = [f"old-{number:05}" for number in range(RELABELLED)]
        for message_id in old:
            gmail.deliver(message_id, File(), received_at=START - timedelta(days=1), in_history=False)
        await sync_until_complete(engine, clock)
        for round_name, labels, fetches in (
            ("a star", {"INBOX", "STARRED"}, 0),
            ("to the trash", {"TRASH"}, 0),
            ("back from the trash", {"INBOX"}, RELABELLED),
            ("to the trash again", {"TRASH"}, 0),
            ("back again", {"INBOX"}, 0),
        ):
            gmail.calls.clear()
            for message_id in old:
                gmail.relabel(message_id, frozenset(labels))
            runs, worked_s = await sync_until_complete(engine, clock)
            print(
                f"\n{RELABELLED:,} old mails, {round_name}: {dict(gmail.calls)}, {runs} runs, {worked_s:.1f} s of work"
            )
            assert gmail.calls["fetch"] == fetches
            assert gmail.calls["history"] <= RELABELLED / _PAGE_SIZE + runs
        assert await engine.collected_mails() == []
