"""Unknown mails of a page are looked up together where that costs less; what the list does not tell is left out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

import pytest
from fake_mailbox import NOON, FakeClock, FakeGmail, FakeMailbox, FakeOutlook, File
from sync_harness import START, doc_source

from mailroom_common.errors import (
    AccessDenied,
    CallDeferred,
    ItemGone,
    MailroomError,
    ProviderUnavailable,
    Rejected,
    Throttled,
    TokenRefused,
)
from mailroom_common.events import Profile, SyncReason
from mailroom_common.providers.types import Change, ChangeKind, MessageSummary, SummaryPage
from sync_engine.domain.message_records import KnownMessage, MessageState, SyncState
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.domain.watched_folders import FolderWatch
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.look_up_messages import LookUpMessages, PageLookUp
from sync_engine.handlers.message_batches import MessageRef, ProcessedBatch
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.process_changes import ProcessChanges
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.handlers.unfinished_pages import PageProgress
from sync_engine.ports import Messages

WATCH = FolderWatch({})


@dataclass
class KnownIds:
    """`Messages` that answers which are known."""

    ids: set[str] = field(default_factory=set)

    async def find_known(self, _doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, KnownMessage]:
        return {
            key: KnownMessage(key, MessageState.CLOSED, "f-inbox", "judged") for key in message_ids if key in self.ids
        }

    async def find_passed_over(self, *_: object) -> frozenset[str]:
        return frozenset()


class Bench:
    def __init__(self, mailbox: FakeMailbox, profile: Profile = Profile.INVOICE) -> None:
        self.mailbox = mailbox
        self.known = KnownIds()
        self.now_s = 1000.0
        self.look_ups = LookUpMessages(cast("Messages", self.known), lambda: self.now_s)
        source = doc_source(profile=profile)
        self.run = SyncRun(
            source=source,
            mailbox=build_mailbox(source),
            provider=mailbox,
            reasons=frozenset({SyncReason.CONNECT}),
            state=SyncState(source_state="active"),
            started_at=NOON,
            timings=SyncTimings(),
        )

    async def list_page(self) -> Sequence[Change]:
        page = await self.mailbox.list_changes(self.run.mailbox, "f-inbox", START, position=None, page_token=None)
        self.mailbox.calls.clear()
        return page.changes

    async def look_up(self, changes: Sequence[Change], hints: Mapping[str, MessageSummary] | None = None) -> list[str]:
        return sorted(await self.find_summaries(changes, hints))

    async def find_summaries(
        self, changes: Sequence[Change], hints: Mapping[str, MessageSummary] | None = None
    ) -> dict[str, MessageSummary]:
        return await self.open_page(changes, hints).find_summaries(changes)

    def open_page(self, changes: Sequence[Change], hints: Mapping[str, MessageSummary] | None = None) -> PageLookUp:
        progress = PageProgress((), WATCH, "f-inbox")
        return self.look_ups.open_page(self.run, "f-inbox", changes, progress, hints or {})


@pytest.fixture
def outlook() -> FakeOutlook:
    mailbox = FakeOutlook(FakeClock(), page_size=100)
    mailbox.expands_parts = True
    return mailbox


@pytest.fixture
def bench(outlook: FakeOutlook) -> Bench:
    return Bench(outlook)


def deliver(outlook: FakeOutlook, count: int, *, prefix: str = "m", at: datetime = NOON, step_s: float = 1.0) -> None:
    for number in range(count):
        received_at = at + timedelta(seconds=number * step_s)
        outlook.deliver(f"{prefix}{number}", File(), received_at=received_at)


async def test_several_mails_are_looked_up_by_one_call_with_their_parts(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 10)
    found = await bench.find_summaries(await bench.list_page())
    assert sorted(found) == sorted(outlook.mails)
    assert all(summary.parts for summary in found.values())
    assert outlook.calls == {"received": 1}
    assert outlook.ranges == [("f-inbox", NOON, NOON + timedelta(seconds=9))]


async def test_few_mails_are_left_to_be_asked_for_by_their_ids(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 2)
    assert await bench.look_up(await bench.list_page()) == []
    deliver(outlook, 10)
    bench.known.ids = {f"m{number}" for number in range(8)}
    assert await bench.look_up(await bench.list_page()) == []
    assert outlook.call_count == 0


async def test_known_mails_do_not_widen_the_range(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 10)
    bench.known.ids = {"m0", "m1", "m9"}
    assert await bench.look_up(await bench.list_page()) == [f"m{number}" for number in range(2, 9)]
    assert outlook.ranges == [("f-inbox", NOON + timedelta(seconds=2), NOON + timedelta(seconds=8))]


async def test_mails_that_need_no_call_are_not_looked_up(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 3, prefix="old", at=START - timedelta(hours=1))
    deliver(outlook, 3)
    changes = await bench.list_page()
    hints = {"m1": outlook.mails["m1"].summary}
    assert await bench.look_up(changes, hints) == []
    untimed = [Change(ChangeKind.PRESENT, f"id{number}", MessageSummary(message_id=f"id{number}")) for number in "123"]
    removed = [Change(ChangeKind.REMOVED, f"gone{number}") for number in "123"]
    assert await bench.look_up([*untimed, *removed]) == []
    assert outlook.call_count == 0


async def test_what_an_earlier_run_did_of_the_page_is_not_looked_up(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 5)
    changes = await bench.list_page()
    progress = PageProgress((), WATCH, "f-inbox")
    progress.record_rowless(changes[:3])
    page = bench.look_ups.open_page(bench.run, "f-inbox", changes, progress, {})
    assert await page.find_summaries(changes) == {}
    assert outlook.call_count == 0


async def test_mail_that_was_moved_or_deleted_or_is_not_listed_yet_is_left_out(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 6)
    changes = await bench.list_page()
    outlook.move("m0", "f-invoices")
    outlook.delete("m3")
    outlook.hidden_from_list.add("m5")
    assert await bench.look_up(changes) == ["m1", "m2", "m4"]
    assert outlook.calls == {"received": 1}


async def test_list_that_lags_behind_the_changes_is_not_believed(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 5)
    before = {key: mail.summary for key, mail in outlook.mails.items()}
    outlook.touch("m0")  # within the same second
    outlook.clock.pass_by(seconds=1)
    outlook.touch("m1")
    untold = replace(before["m2"], version=None)
    changes = [
        replace(change, summary=untold) if change.message_id == "m2" else change for change in await bench.list_page()
    ]
    outlook.lagging_in_list = {"m0": before["m0"], "m1": before["m1"], "m2": untold}
    assert await bench.look_up(changes) == ["m3", "m4"]


async def test_mail_that_changed_since_the_page_is_taken_as_it_is_now(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 3)
    changes = await bench.list_page()
    outlook.clock.pass_by(seconds=1)
    outlook.mails["m1"].files.append(File(filename="second.pdf"))
    outlook.touch("m1")
    found = await bench.find_summaries(changes)
    assert found["m1"].version == outlook.mails["m1"].summary.version
    assert len(found["m1"].parts or ()) == 2


async def test_mails_between_two_that_are_wanted_cost_nothing(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 30, prefix="a")
    changes = list(await bench.list_page())
    deliver(outlook, 30, prefix="z", at=NOON + timedelta(hours=2))
    changes += [change for change in await bench.list_page() if change.message_id.startswith("z")]
    deliver(outlook, 500, prefix="other", at=NOON + timedelta(hours=1))
    outlook.list_page_size = 30
    assert len(await bench.look_up(changes[10:50])) == 40
    assert [since for _, since, _ in outlook.ranges] == [NOON + timedelta(seconds=10), NOON + timedelta(hours=2)]


async def test_mails_far_apart_are_given_up_before_they_cost_more_than_by_their_ids(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 20, step_s=3600)
    changes = await bench.list_page()
    deliver(outlook, 20 * 60, prefix="other", step_s=60)
    found = await bench.look_up(changes)
    assert outlook.call_count == len(found) == 2


async def test_list_without_any_of_the_mails_costs_one_call_and_is_left_alone_for_a_minute(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 20)
    changes = await bench.list_page()
    outlook.hidden_from_list = set(outlook.mails)
    deliver(outlook, 500, prefix="other", step_s=0.01)
    for _ in range(2):
        assert await bench.look_up(changes) == []
    assert outlook.call_count == 1
    outlook.hidden_from_list.clear()
    bench.now_s += 61
    assert await bench.look_up(changes[:3]) != []


async def test_more_mails_of_one_time_than_a_page_holds_keep_no_others_from_being_found(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 8, prefix="flood", step_s=0)
    deliver(outlook, 4, at=NOON + timedelta(seconds=1))
    outlook.list_page_size = 5
    found = await bench.look_up(await bench.list_page())
    assert found == [*(f"flood{number}" for number in range(5)), *(f"m{number}" for number in range(4))]
    assert outlook.call_count == 2


async def test_mails_of_the_time_at_which_a_page_ends_are_on_the_next_one(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 3)
    deliver(outlook, 4, prefix="same", at=NOON + timedelta(seconds=5), step_s=0)
    outlook.list_page_size = 4
    assert len(await bench.look_up(await bench.list_page())) == 7
    assert [since for _, since, _ in outlook.ranges] == [NOON, NOON + timedelta(seconds=5)]


async def test_mails_that_were_listed_are_not_looked_up_again_for_their_time(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 1, prefix="first", at=NOON - timedelta(seconds=1))
    deliver(outlook, 4, prefix="same", step_s=0)
    deliver(outlook, 2, at=NOON + timedelta(seconds=1))
    outlook.list_page_size = 5
    assert len(await bench.look_up(await bench.list_page())) == outlook.list_page_size
    assert outlook.call_count == 1


@pytest.mark.parametrize("end", [timedelta(0), timedelta(days=-1), timedelta(days=1)])
async def test_list_that_never_ends_is_left(
    bench: Bench, outlook: FakeOutlook, end: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(outlook, 50)
    changes = await bench.list_page()
    listed = 0

    async def list_received(*_: object) -> SummaryPage:
        nonlocal listed
        listed += 1
        shown = outlook.mails[f"m{listed}"].summary
        return SummaryPage((shown,), resume_after=NOON + end)

    monkeypatch.setattr(outlook, "list_received", list_received)
    await bench.look_up(changes)
    assert listed <= 2


@pytest.mark.parametrize(
    "error",
    [
        Throttled("429", retry_after_s=120),
        ProviderUnavailable("504"),
        Rejected("400"),
        ItemGone("404"),
        AccessDenied("403"),
    ],
)
async def test_look_up_that_fails_costs_itself_and_is_tried_again_after_a_minute_and_the_pause(
    bench: Bench, outlook: FakeOutlook, error: MailroomError
) -> None:
    deliver(outlook, 5)
    changes = await bench.list_page()
    outlook.errors["received"] = [error]
    assert await bench.look_up(changes) == []
    bench.now_s += 59 + (error.retry_after_s or 0 if isinstance(error, Throttled) else 0)
    assert await bench.look_up(changes) == []
    assert outlook.call_count == 1
    bench.now_s += 2
    assert len(await bench.look_up(changes)) == 5


async def test_what_was_found_before_a_failure_is_kept(bench: Bench, outlook: FakeOutlook) -> None:
    deliver(outlook, 20)
    changes = await bench.list_page()
    outlook.list_page_size = 10

    async def fail_on_the_second(_folder_id: str) -> None:
        if outlook.calls["received"] == 2:
            raise ProviderUnavailable("504")

    outlook.meanwhile["received"] = fail_on_the_second
    assert len(await bench.look_up(changes)) == 10


@pytest.mark.parametrize("error", [CallDeferred("the budget is spent"), TokenRefused("401", grant_generation=1)])
async def test_look_up_raises_what_would_keep_each_mail_from_being_asked_for(
    bench: Bench, outlook: FakeOutlook, error: MailroomError
) -> None:
    deliver(outlook, 5)
    changes = await bench.list_page()
    outlook.errors["received"] = [error]
    with pytest.raises(type(error)):
        await bench.look_up(changes)
    assert len(await bench.look_up(changes)) == 5, "the next run looks up again"


async def test_mails_are_looked_up_as_their_batches_come_and_no_more_than_fifty_ahead(
    bench: Bench, outlook: FakeOutlook
) -> None:
    deliver(outlook, 100)
    changes = await bench.list_page()
    page, calls = bench.open_page(changes), []
    for start in range(0, 100, 8):
        batch = changes[start : start + 8]
        found = await page.find_summaries(batch)
        assert list(found) == [change.message_id for change in batch]
        calls.append(outlook.call_count)
    assert calls == [1] * 6 + [2] * 7


async def test_mailbox_with_a_history_is_never_asked_for_a_list_of_a_folder() -> None:
    bench = Bench(FakeGmail(FakeClock()))
    shown = [MessageSummary(message_id=f"m{number}", received_at=NOON, version="1") for number in range(5)]
    assert await bench.look_up([Change(ChangeKind.PRESENT, item.message_id, item) for item in shown]) == []
    assert bench.mailbox.call_count == 0


async def test_observed_mails_are_looked_up_for_their_headers(outlook: FakeOutlook) -> None:
    bench = Bench(outlook, Profile.OBSERVATION)
    deliver(outlook, 4)
    changes = await bench.list_page()
    assert await bench.look_up(changes) == [], "the page has told them"
    bare = [replace(change, summary=replace(change.summary, headers=None)) for change in changes if change.summary]
    assert len(await bench.look_up(bare)) == 4


@dataclass
class RecordedRefs:
    refs: list[MessageRef] = field(default_factory=list)

    async def collect_messages(self, _run: SyncRun, _watch: object, refs: Sequence[MessageRef]) -> ProcessedBatch:
        self.refs += refs
        return ProcessedBatch()


async def test_list_says_nothing_of_a_mail_that_has_become_known_since(bench: Bench, outlook: FakeOutlook) -> None:
    """Judged anew by an older list, it would lose the parts that it has by now."""
    deliver(outlook, 3)
    changes = await bench.list_page()
    looked_up = await bench.find_summaries(changes)
    looked_up["m0"] = replace(looked_up["m0"], folder_id=None)
    bench.known.ids = {"m1"}
    collected = RecordedRefs()
    process = ProcessChanges(
        cast("Messages", bench.known), cast("CollectMessages", collected), cast("ObserveMessages", None)
    )
    await process.process_changes(bench.run, WATCH, "f-inbox", changes, looked_up)
    assert {ref.message_id: bool(ref.summary and ref.summary.parts) for ref in collected.refs} == {
        "m0": True,
        "m1": False,
        "m2": True,
    }
    assert all(ref.summary and ref.summary.folder_id == "f-inbox" for ref in collected.refs)
