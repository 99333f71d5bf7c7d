"""Full runs of a mailbox with a cursor per folder: in slices, with new mail listed in between, on the free slots."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import START, Engine, doc_source

from mailroom_common.errors import OldMailCallDeferred, ProviderUnavailable, Rejected
from mailroom_common.events import DocSource, Profile, SyncReason
from mailroom_common.providers.types import Folder
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL
from sync_engine.domain.run_outcomes import RunCompleted, RunDeferred, RunUnfinished
from sync_engine.handlers.run_sync import RunSync

OLD = START - timedelta(days=1)


@pytest.fixture
def connected_source() -> DocSource:
    return doc_source(start_at=START - timedelta(days=2))


@pytest.fixture
def outlook(outlook: FakeOutlook) -> FakeOutlook:
    outlook.page_size = 30
    return outlook


def deliver_old(outlook: FakeOutlook, count: int, folder_id: str = "f-inbox") -> list[str]:
    names = [f"old-{number:02}" for number in range(count)]
    for name in names:
        outlook.deliver(name, File(), folder_id=folder_id, received_at=OLD)
    outlook.clock.pass_by(days=1)  # nothing was modified lately
    return names


async def run_slices(engine: Engine, worker: RunSync, *, most: int = 60) -> int:
    """Runs until the full run has ended, and returns how many slices that took."""
    for number in range(1, most):
        outcome = await worker.sync_mailbox(engine.source, reasons=frozenset({SyncReason.RETRY}))
        if isinstance(outcome, RunCompleted):
            return number
        assert isinstance(outcome, RunUnfinished), outcome
        engine.clock.now = max(engine.clock.now, outcome.not_before)
    raise AssertionError("the full run does not end")


def take_time(engine: Engine, call: str, seconds: float) -> Counter[str]:
    """Each such call takes so long; returns what was asked for how often."""
    asked: Counter[str] = Counter()

    async def take(what: str) -> None:
        asked[what] += 1
        engine.clock.pass_by(seconds=seconds)

    engine.mailbox.meanwhile[call] = take
    return asked


async def test_a_long_first_sync_gives_its_slot_back_and_does_nothing_twice(
    engine: Engine, outlook: FakeOutlook
) -> None:
    old = deliver_old(outlook, 40)
    fetched = take_time(engine, "fetch", 1)
    assert await run_slices(engine, engine.sync_engine()) >= 4
    assert await engine.collected_mails() == old
    assert set(fetched.values()) == {1}
    run = await engine.read_row("sync_run")
    assert (run["kind"], run["outcome"], run["new_messages"]) == ("all_cursors", "done", 40)
    state = await engine.read_row("sync_state")
    assert state["last_completed_full_started_at"] == run["started_at"]
    assert state["last_completed_full_ended_at"] == engine.clock.now
    assert state["full_round_started_at"] is None


async def test_new_mail_is_collected_within_seconds_while_old_mail_is_read(
    engine: Engine, outlook: FakeOutlook
) -> None:
    deliver_old(outlook, 40)
    came_at, collected_at = None, None

    async def more_mail(message_id: str) -> None:
        nonlocal came_at, collected_at
        engine.clock.pass_by(seconds=0.5)
        if outlook.calls["fetch"] == 15:
            came_at = engine.clock.now
            outlook.deliver("new", File())
        if message_id == "new":
            collected_at = engine.clock.now

    outlook.meanwhile["fetch"] = more_mail
    await run_slices(engine, engine.sync_engine())
    assert came_at is not None
    assert collected_at is not None
    assert collected_at - came_at <= timedelta(seconds=8), "a batch of ten, and two seconds"
    for topic, messages in ((ATTACHMENTS, 1), (ATTACHMENTS_BACKFILL, 40)):
        assert len(await engine.read_outbox(topic)) == messages


async def test_a_folder_that_an_earlier_slice_has_read_is_not_asked_again(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.tree += [Folder(f"f-{number}", f"Projekt {number:02}") for number in range(20)]
    asked = take_time(engine, "delta", 1)
    worker = engine.sync_engine()
    assert await run_slices(engine, worker) > 1
    assert set(asked.values()) == {1}
    assert len(asked) == 22
    # And a process that knows nothing of the earlier slices reads them once more, from their cursors.
    engine.clock.pass_by(minutes=11)
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=frozenset()), RunUnfinished)
    asked.clear()
    await run_slices(engine, engine.sync_engine())
    assert len(asked) == 22


async def test_a_full_run_that_is_asked_for_between_two_slices_follows(engine: Engine, outlook: FakeOutlook) -> None:
    deliver_old(outlook, 40)
    take_time(engine, "fetch", 1)
    worker = engine.sync_engine()
    await engine.states.mark_full_due([engine.source.doc_source_id])
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=frozenset()), RunUnfinished)
    await engine.states.mark_full_due([engine.source.doc_source_id])
    await run_slices(engine, worker)
    assert (await engine.read_row("sync_state"))["full_due_mark"] is not None, "folders were read before it came"
    await run_slices(engine, worker)
    assert (await engine.read_row("sync_state"))["full_due_mark"] is None


async def test_a_mail_that_is_moved_to_a_folder_read_before_is_collected(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("moved", File(), folder_id="f-junk", received_at=OLD)
    deliver_old(outlook, 40, "f-invoices")
    take_time(engine, "fetch", 1)
    worker = engine.sync_engine()
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=frozenset()), RunUnfinished)
    outlook.lose_additions.add("moved")
    outlook.move("moved", "f-inbox")
    await run_slices(engine, worker)
    assert "moved" in await engine.collected_mails()


async def test_mail_dragged_from_junk_whose_delta_leaves_it_out_arrives_with_the_next_full_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("dragged", File(), folder_id="f-junk")
    outlook.deliver("m1", File())
    await engine.complete_run(SyncReason.CONNECT)
    for _ in range(2):
        engine.clock.pass_by(minutes=11)
        await engine.complete_run(SyncReason.BACKSTOP)
    outlook.lose_additions.add("dragged")
    engine.clock.pass_by(minutes=1)
    outlook.move("dragged", "f-inbox")
    engine.clock.pass_by(minutes=11)
    assert (await engine.complete_run(SyncReason.BACKSTOP)).is_full
    assert await engine.collected_mails() == ["dragged", "m1"]


async def test_a_list_that_fails_keeps_no_folder_from_being_read_and_the_run_counts_as_failed(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    engine.clock.pass_by(minutes=11)
    outlook.deliver("m1", File())
    outlook.errors["list"] = [ProviderUnavailable("500")]
    outcome = await engine.run_sync(SyncReason.BACKSTOP)
    assert isinstance(outcome, RunDeferred)
    assert outcome.is_failure
    assert await engine.collected_mails() == ["m1"]


async def test_a_full_run_in_which_nothing_changed_moves_no_cursor_for_a_day(
    engine: Engine, outlook: FakeOutlook
) -> None:
    deliver_old(outlook, 2)
    await engine.complete_run(SyncReason.CONNECT)
    cursors = await engine.read_rows("cursor")
    for _ in range(3):
        engine.clock.pass_by(hours=7)
        assert (await engine.complete_run(SyncReason.BACKSTOP)).is_full
    assert await engine.read_rows("cursor") == cursors
    engine.clock.pass_by(hours=4)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert {row["version"] for row in await engine.read_rows("cursor")} == {row["version"] + 1 for row in cursors}


async def test_folders_are_read_on_the_free_slots_and_observed_ones_in_their_order(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.tree += [Folder(f"f-{number}", f"Projekt {number}") for number in range(6)]
    at_once: list[int] = []
    under_way = 0

    async def count(_: str) -> None:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        await asyncio.sleep(0.01)
        under_way -= 1

    outlook.meanwhile["delta"] = count
    await engine.complete_run(SyncReason.CONNECT)
    assert max(at_once) == 4
    at_once.clear()
    await engine.change_source(profile=Profile.OBSERVATION)
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert set(at_once) == {1}


async def test_new_mail_comes_though_the_quota_of_old_mail_is_spent(engine: Engine, outlook: FakeOutlook) -> None:
    deliver_old(outlook, 40)
    outlook.errors["delta"] = [OldMailCallDeferred("spent", retry_after_s=140) for _ in range(4)]
    outcome = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(outcome, RunUnfinished)
    assert outcome.not_before == engine.clock.now + timedelta(seconds=140)
    assert (await engine.read_row("sync_state"))["not_before"] is None
    outlook.deliver("new", File())
    assert isinstance(await engine.run_sync(SyncReason.NOTIFICATION), RunUnfinished)
    assert await engine.collected_mails() == ["new"]


async def test_parked_mail_is_tried_again_though_the_quota_of_old_mail_is_spent(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("parked", File())
    outlook.item_errors["parked"] = Rejected("400")
    await engine.complete_run(SyncReason.CONNECT)
    del outlook.item_errors["parked"]
    engine.clock.pass_by(minutes=11)
    outlook.errors["delta"] = [OldMailCallDeferred("spent", retry_after_s=140) for _ in range(4)]
    assert isinstance(await engine.run_sync(SyncReason.BACKSTOP), RunUnfinished)
    assert await engine.collected_mails() == ["parked"]


async def test_two_workers_that_read_one_mailbox_in_slices_take_each_mail_once(
    engine: Engine, outlook: FakeOutlook
) -> None:
    """One has lost the partition and does not know it."""
    old = deliver_old(outlook, 30)
    outlook.page_size = 7
    take_time(engine, "fetch", 0.5)
    workers = [engine.sync_engine(), engine.sync_engine()]
    for _ in range(40):
        outcomes = await asyncio.gather(
            *(worker.sync_mailbox(engine.source, reasons=frozenset()) for worker in workers)
        )
        engine.clock.pass_by(seconds=10)
        if all(isinstance(outcome, RunCompleted) for outcome in outcomes):
            break
    assert await engine.collected_mails() == old
    attachments = await engine.read_attachments()
    assert len(attachments) == len({event.attachment_id for event in attachments})


async def test_new_mail_of_an_observed_mailbox_is_reported_between_the_slices(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(profile=Profile.OBSERVATION)
    outlook.deliver("first", received_at=OLD)
    for number in range(40):
        outlook.deliver(f"old-{number:02}", folder_id="f-invoices", received_at=OLD)
    outlook.clock.pass_by(days=1)

    async def take(_: str) -> None:
        engine.clock.pass_by(seconds=3)

    outlook.meanwhile["page"] = outlook.meanwhile["delta"] = take
    outlook.page_size = 5
    worker = engine.sync_engine()
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=frozenset()), RunUnfinished)
    outlook.deliver("new")
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=frozenset()), RunUnfinished)
    assert "new" in {event.message_id for event in await engine.read_mail_events()}
    await run_slices(engine, worker)
    events = await engine.read_mail_events()
    assert len(events) == 42
    assert len({event.message_id for event in events}) == 42
