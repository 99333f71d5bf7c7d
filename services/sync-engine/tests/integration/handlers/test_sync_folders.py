"""A folder that cannot be read, or is gone, and the folders beside it."""

from contextlib import suppress
from datetime import timedelta

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import START, Engine

from mailroom_common.errors import (
    AccessDenied,
    MailboxGone,
    MailroomError,
    PageTokenRefused,
    ProviderUnavailable,
    Rejected,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import AttachmentStored, ConnectionKind, DocSourceState, Profile, SyncReason
from mailroom_common.providers.types import Folder
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL
from sync_engine.adapters.connection_events import PgConnectionEvents
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, RunDeferred, RunUnfinished
from sync_engine.domain.run_planning import SyncTimings


@pytest.mark.parametrize("error", [Rejected("400"), AccessDenied("403"), ProviderUnavailable("500")])
async def test_a_folder_that_always_fails_keeps_no_other_from_being_read(
    engine: Engine, outlook: FakeOutlook, error: MailroomError
) -> None:
    outlook.deliver("late", File(), folder_id="f-invoices")
    outlook.item_errors["late"] = Rejected("not yet")
    await engine.complete_run()
    del outlook.item_errors["late"]
    outlook.deliver("behind", File(), folder_id="f-invoices")
    outlook.deliver("within", File(), folder_id="f-inbox")
    outlook.hidden_from_list = {"behind", "within"}

    async def inbox_fails(scope: str) -> None:
        if scope == "f-inbox":
            raise error

    outlook.meanwhile["delta"] = inbox_fails
    engine.clock.pass_by(minutes=11)
    outcome = await engine.run_sync(SyncReason.BACKSTOP)
    assert outlook.asked[-1][0] != "f-inbox", "it is not the last to be read"
    assert await engine.collected_mails() == ["behind", "late"], "what was parked is tried again too"
    assert isinstance(outcome, RunDeferred)
    assert outcome.is_failure
    assert "could not be read" in outcome.detail
    (run,) = [row for row in await engine.read_rows("sync_run") if row["outcome"] != "done"]
    assert (run["outcome"], run["detail"], run["new_messages"]) == ("retry", outcome.detail, 2)
    outlook.meanwhile.clear()
    engine.clock.now = outcome.not_before
    await engine.complete_run()
    assert await engine.collected_mails() == ["behind", "late", "within"]


async def test_new_mail_of_other_folders_does_not_hide_that_a_folder_keeps_failing(
    engine: Engine, outlook: FakeOutlook
) -> None:
    async def invoices_fail(scope: str) -> None:
        if scope == "f-invoices":
            raise Rejected("400")

    outlook.meanwhile["delta"] = invoices_fail
    pauses = []
    for number in range(6):
        outlook.deliver(f"m{number}", File(), folder_id="f-inbox")
        outcome = await engine.run_sync(SyncReason.NOTIFICATION)
        assert isinstance(outcome, RunDeferred)
        pauses.append(outcome.not_before - engine.clock.now)
        engine.clock.now = outcome.not_before
    assert await engine.collected_mails() == [f"m{number}" for number in range(6)]
    assert (await engine.states.raise_version_and_read_state(engine.source)).failed_attempts == 6
    assert pauses[-1] >= timedelta(seconds=30)


async def test_a_folder_whose_reading_was_interrupted_after_new_mail_goes_on_soon(
    engine: Engine, outlook: FakeOutlook
) -> None:
    for number in range(24):
        outlook.deliver(f"m{number:02}", File(), folder_id="f-invoices")
    outlook.hidden_from_list = set(outlook.mails)

    async def every_other_page_fails(_: str) -> None:
        if outlook.calls["page"] % 2 == 0:
            raise ProviderUnavailable("503")

    outlook.meanwhile["page"] = every_other_page_fails
    for _ in range(3):
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.not_before - engine.clock.now <= timedelta(seconds=2)
        engine.clock.now = outcome.not_before
    assert len(await engine.collected_mails()) == 12


async def test_pages_of_mail_that_leaves_no_row_count_as_progress(engine: Engine, outlook: FakeOutlook) -> None:
    for number in range(24):
        outlook.deliver(f"m{number:02}", File(), folder_id="f-invoices", received_at=START - timedelta(days=1))

    async def every_other_page_fails(_: str) -> None:
        if outlook.calls["page"] % 2 == 0:
            raise ProviderUnavailable("503")

    outlook.meanwhile["page"] = every_other_page_fails
    for _ in range(3):
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.not_before - engine.clock.now <= timedelta(seconds=2)
        engine.clock.now = outcome.not_before


async def test_access_that_is_denied_to_every_folder_is_denied_to_the_mailbox(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.errors["delta"] = [AccessDenied("policy") for _ in outlook.tree]
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert outcome.kind is ConnectionKind.ACCESS_DENIED


@pytest.mark.parametrize(
    "error",
    [
        Throttled("patience"),
        ProviderUnavailable("503", retry_after_s=5),
        MailboxGone("moved away"),
        TokenRefused("refused", grant_generation=1),
        Unavailable("no database"),
    ],
)
async def test_what_is_not_about_one_folder_ends_the_run_at_once(
    engine: Engine, outlook: FakeOutlook, error: MailroomError
) -> None:
    outlook.errors["delta"] = [error]
    with suppress(Unavailable):
        assert isinstance(await engine.run_sync(), RunDeferred | NotSyncable)
    assert outlook.calls["delta"] == 1


async def test_the_cursor_of_a_folder_that_is_gone_goes_too(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    assert "f-invoices" in {row["scope"] for row in await engine.read_rows("cursor")}

    async def folder_goes(_: str) -> None:
        outlook.tree = [folder for folder in outlook.tree if folder.folder_id != "f-invoices"]

    outlook.meanwhile["delta"] = folder_goes
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert "f-invoices" not in {row["scope"] for row in await engine.read_rows("cursor")}


async def test_a_re_list_that_was_asked_for_reads_each_folder_from_nothing_and_stores_nothing_twice(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("known", File())
    await engine.complete_run(SyncReason.CONNECT)
    before = await engine.read_rows("message")
    await engine.pool.execute(
        "delete from sync_engine.message where doc_source_id = $1", engine.source.doc_source_id
    )  # as after a restore from a backup
    await engine.change_source(relist_from=START, relist_number=1)
    await engine.complete_run(SyncReason.REPLAY)
    after = await engine.read_rows("message")
    assert [row["message_id"] for row in after] == [row["message_id"] for row in before]
    attachments = await engine.read_attachments()
    assert len({event.attachment_id for event in attachments}) == 1

    await engine.change_source(relist_from=START, relist_number=2)
    await engine.complete_run(SyncReason.REPLAY)
    assert len(await engine.read_attachments()) == len(attachments)


async def test_old_mail_that_a_re_list_finds_goes_to_the_backfill_topic(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    outlook.deliver("old", File(), received_at=START - timedelta(days=1))
    outlook.deliver("new", File())
    await engine.complete_run(SyncReason.CONNECT)
    for topic, message_id in ((ATTACHMENTS, "new"), (ATTACHMENTS_BACKFILL, "old")):
        events = await engine.read_outbox(topic)
        assert [event.message_id for event in events if isinstance(event, AttachmentStored)] == [message_id]


async def test_a_re_list_of_a_paused_source_waits_until_it_is_resumed(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    await engine.change_source(state=DocSourceState.PAUSED, relist_from=START, relist_number=1)
    assert isinstance(await engine.run_sync(), NotSyncable)
    assert (await engine.read_row("sync_state"))["relist_number"] == 0
    await engine.change_source(state=DocSourceState.ACTIVE)
    await engine.complete_run(SyncReason.RESUME)
    assert (await engine.read_row("sync_state"))["relist_number"] == 1


def let_changes_fail(outlook: FakeOutlook, folder_id: str, *, retry_after_s: float | None = None) -> None:
    async def fail(scope: str) -> None:
        if scope == folder_id:
            raise ProviderUnavailable("504", retry_after_s=retry_after_s)

    outlook.meanwhile["delta"] = fail


async def test_a_folder_whose_changes_keep_failing_is_read_by_list_until_they_recover(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    let_changes_fail(outlook, "f-inbox")
    engine.clock.pass_by(minutes=11)
    first = await engine.run_sync(SyncReason.BACKSTOP)
    assert isinstance(first, RunDeferred), "once may be chance"
    engine.clock.now = first.not_before
    outlook.deliver("m1", File())
    assert (await engine.complete_run()).is_full
    assert await engine.collected_mails() == ["m1"]
    connections = PgConnectionEvents(engine.pool, engine.outbox, engine.clock)
    await connections.report_synced(engine.source, RunCompleted())
    assert "Posteingang" in ((await engine.read_connection_events())[-1].trouble or "")
    outlook.meanwhile.clear()
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    await connections.report_synced(engine.source, RunCompleted())
    assert (await engine.read_connection_events())[-1].trouble is None


async def test_the_first_sync_of_a_folder_whose_changes_fail_is_a_list_of_its_messages(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    old = [f"old-{number}" for number in range(8)]
    for name in old:
        outlook.deliver(name, File(), received_at=START - timedelta(days=1))
    outlook.page_size = 20
    outlook.clock.pass_by(days=1)
    let_changes_fail(outlook, "f-inbox")
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    engine.clock.now = first.not_before
    await engine.complete_run()
    assert await engine.collected_mails() == old
    assert len(await engine.read_outbox(ATTACHMENTS_BACKFILL)) == len(old)
    listed = outlook.calls["list"]
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert outlook.calls["list"] - listed <= 3, "once: from then on the list of what was modified shows what comes"
    outlook.meanwhile.clear()
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == old, "when its changes can be listed, the mails are known"


async def test_a_folder_whose_changes_fail_with_a_wait_keeps_neither_old_nor_parked_mail_back(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    for name, folder_id in (("old", "f-inbox"), ("parked", "f-invoices")):
        outlook.deliver(name, File(), folder_id=folder_id, received_at=START - timedelta(days=1))
    outlook.clock.pass_by(days=1)
    outlook.item_errors["parked"] = Rejected("not yet")
    let_changes_fail(outlook, "f-inbox", retry_after_s=31)
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    assert first.not_before - engine.clock.now >= timedelta(seconds=31), "the pause is the mailbox's"
    assert [scope for scope, *_ in outlook.asked] == ["f-inbox"]
    engine.clock.now = first.not_before
    await engine.complete_run()
    assert await engine.collected_mails() == ["old"]
    outlook.item_errors.clear()
    engine.clock.pass_by(minutes=11)
    calls_at_failure = []

    async def fail(scope: str) -> None:
        if scope == "f-inbox":
            calls_at_failure.append(outlook.call_count)
            raise ProviderUnavailable("503", retry_after_s=31)

    outlook.meanwhile["delta"] = fail
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["old", "parked"]
    assert calls_at_failure == [outlook.call_count], "no call is made after the provider asked for a pause"


async def test_what_is_denied_beside_a_folder_that_is_read_by_list_is_not_denied_to_the_mailbox(
    engine: Engine, outlook: FakeOutlook
) -> None:
    let_changes_fail(outlook, "f-inbox")
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)

    async def fail(scope: str) -> None:
        raise ProviderUnavailable("504") if scope == "f-inbox" else AccessDenied("403")

    outlook.meanwhile["delta"] = fail
    engine.clock.now = first.not_before
    assert isinstance(await engine.run_sync(), RunDeferred)


async def test_a_folder_that_is_read_by_list_goes_on_where_the_slice_before_ended(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    old = [f"old-{number}" for number in range(8)]
    for number, name in enumerate(old):
        outlook.deliver(name, File(), received_at=START - timedelta(hours=30 - 3 * number))
        outlook.clock.pass_by(hours=1)
    outlook.page_size = 2
    outlook.clock.pass_by(days=1)
    let_changes_fail(outlook, "f-inbox")
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    engine.clock.now = first.not_before
    engine.timings = SyncTimings(slice_duration=timedelta(0))
    worker = engine.sync_engine()
    outcomes = [await worker.sync_mailbox(engine.source, reasons=frozenset({SyncReason.RETRY})) for _ in range(20)]
    assert isinstance(outcomes[0], RunUnfinished)
    assert isinstance(outcomes[-1], RunCompleted)
    assert await engine.collected_mails() == old


@pytest.mark.parametrize("call_s", [0, 3], ids=["within one slice", "over many slices"])
async def test_a_folder_whose_page_tokens_are_always_refused_is_read_by_list(
    engine: Engine, outlook: FakeOutlook, call_s: float
) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    old = [f"old-{number}" for number in range(8)]
    for name in old:
        outlook.deliver(name, File(), received_at=START - timedelta(days=1))
    outlook.clock.pass_by(days=1)

    async def take_time(_: str) -> None:
        engine.clock.pass_by(seconds=call_s)

    async def refuse(_: str) -> None:
        raise PageTokenRefused("410")

    outlook.meanwhile |= {"delta": take_time, "page": refuse}
    worker, failed = engine.sync_engine(), 0
    for _ in range(20):
        outcome = await worker.sync_mailbox(engine.source, reasons=frozenset({SyncReason.RETRY}))
        if isinstance(outcome, RunDeferred):
            failed += outcome.is_failure
            engine.clock.now = outcome.not_before
        if isinstance(outcome, RunCompleted):
            break
    assert await engine.collected_mails() == old
    assert failed == 1


async def test_a_re_list_reads_a_folder_whose_changes_fail_by_list_again(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(start_at=START - timedelta(days=2))
    outlook.deliver("old", File(), received_at=START - timedelta(days=1))
    outlook.clock.pass_by(days=1)
    let_changes_fail(outlook, "f-inbox")
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    engine.clock.now = first.not_before
    await engine.complete_run()
    await engine.pool.execute("delete from sync_engine.message")  # as if it had been missed
    await engine.change_source(relist_from=START - timedelta(days=2), relist_number=1)
    await engine.complete_run(SyncReason.REPLAY)
    assert await engine.collected_mails() == ["old", "old"], "its event once more, since its row was gone"


async def test_folders_whose_changes_failed_take_turns_behind_one_that_always_answers_with_a_wait(
    engine: Engine, outlook: FakeOutlook
) -> None:
    others = [f"f-{number}" for number in range(6)]
    outlook.tree += [Folder(folder_id, f"Projekte/{folder_id}") for folder_id in others]
    await engine.complete_run()
    let_changes_fail(outlook, "f-inbox", retry_after_s=31)
    for folder_id in ("f-inbox", *others):
        await engine.repositories.folders.record_failing_folder(engine.source.doc_source_id, folder_id, engine.clock())
    failing = set(others)
    for _ in range(60):
        engine.clock.pass_by(minutes=11)
        await engine.run_sync(SyncReason.BACKSTOP)
        found = await engine.repositories.folders.list_failing_folders(engine.source.doc_source_id)
        if not (failing := {folder.folder_id for folder in found} & set(others)):
            break
    assert failing == set(), "each is asked for its changes at last"


async def test_an_observed_folder_that_always_answers_with_a_wait_keeps_no_other_from_being_reported(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(profile=Profile.OBSERVATION)
    await engine.complete_run()
    let_changes_fail(outlook, "f-inbox", retry_after_s=31)
    outlook.deliver("m1", folder_id="f-invoices")
    outlook.deliver("m2")
    for _ in range(2):
        engine.clock.pass_by(minutes=16)
        outcome = await engine.run_sync(SyncReason.BACKSTOP)
        assert isinstance(outcome, RunDeferred)
        assert outcome.is_failure, "its own changes are in no list: it waits and says so"
    assert [event.message_id for event in await engine.read_mail_events()] == ["m1"]
    await PgConnectionEvents(engine.pool, engine.outbox, engine.clock).report_synced(engine.source, RunCompleted())
    assert "reported once it does" in ((await engine.read_connection_events())[-1].trouble or "")
    outlook.meanwhile.clear()
    engine.clock.pass_by(minutes=16)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert [event.message_id for event in await engine.read_mail_events()] == ["m1", "m2"]


async def test_an_observed_folder_whose_changes_fail_waits_and_says_so(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(profile=Profile.OBSERVATION)
    let_changes_fail(outlook, "f-inbox")
    for _ in range(3):
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.is_failure
        engine.clock.now = outcome.not_before
