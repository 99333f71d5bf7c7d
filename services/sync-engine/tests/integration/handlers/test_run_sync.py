"""Who may run, who is put off, and what a run that is no longer wanted can still write: nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.errors import (
    AccessDenied,
    CursorRefused,
    MailboxGone,
    MailroomError,
    PageTokenRefused,
    ProviderUnavailable,
    Rejected,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import ConnectionKind, DocSourceState, SyncReason
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import MessageState, PageUpdate, ProcessedMessage
from sync_engine.domain.run_outcomes import CursorConflict, NotSyncable, RunDeferred, SourceNotActive


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source()) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


@pytest.mark.parametrize("state", [DocSourceState.PENDING, DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_source_that_is_not_active_is_not_synced(engine: Engine, state: DocSourceState) -> None:
    await engine.change_source(state=state)
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert outcome.kind is None
    assert engine.mailbox.call_count == 0


async def test_the_row_may_be_ahead_of_the_directory_that_the_caller_read(engine: Engine) -> None:
    await engine.change_behind_its_back(state=DocSourceState.PAUSED)
    assert isinstance(await engine.run_sync(), NotSyncable)


async def test_a_refused_grant_rests_until_a_newer_one(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["folders"] = [TokenRefused("refused", grant_generation=1)]
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert outcome.kind is ConnectionKind.TOKEN_REFUSED
    outlook.calls.clear()
    again = await engine.run_sync()
    assert isinstance(again, NotSyncable)
    assert again.kind is ConnectionKind.TOKEN_REFUSED
    assert outlook.call_count == 0, "a dead grant is not tried"
    await engine.change_source(grant_generation=2)
    await engine.complete_run(SyncReason.CONNECT)


async def test_the_late_refusal_of_an_old_grant_does_not_condemn_a_newer_one(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.change_source(grant_generation=2)
    outlook.errors["folders"] = [TokenRefused("refused", grant_generation=1)]
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert (await engine.read_row("sync_state"))["refused_generation"] is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AccessDenied("policy"), ConnectionKind.ACCESS_DENIED),
        (MailboxGone("no mailbox"), ConnectionKind.MAILBOX_GONE),
    ],
)
async def test_what_only_people_can_mend_is_told_as_such(
    engine: Engine, outlook: FakeOutlook, error: AccessDenied | MailboxGone, kind: ConnectionKind
) -> None:
    outlook.errors["folders"] = [error]
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert outcome.kind is kind


async def test_the_providers_wait_is_kept_whatever_a_request_says(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["folders"] = [Throttled("patience", retry_after_s=90)]
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert not outcome.is_failure
    assert outcome.not_before == engine.clock.now + timedelta(seconds=90)
    outlook.calls.clear()
    engine.clock.pass_by(seconds=89)
    assert isinstance(await engine.run_sync(SyncReason.MANUAL), RunDeferred)
    assert outlook.call_count == 0
    engine.clock.pass_by(seconds=2)
    await engine.complete_run()


@pytest.mark.parametrize("retry_after_s", [None, 0.0, 0.01])
async def test_failures_in_a_row_are_put_off_longer_and_longer_however_little_the_provider_asks(
    engine: Engine, outlook: FakeOutlook, retry_after_s: float | None
) -> None:
    pauses = []
    for _ in range(6):
        outlook.errors["folders"] = [ProviderUnavailable("503", retry_after_s=retry_after_s)]
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.is_failure
        pauses.append(outcome.not_before - engine.clock.now)
        engine.clock.now = outcome.not_before
    assert all(pause >= timedelta(seconds=1) for pause in pauses), pauses
    assert all(later > earlier for earlier, later in zip(pauses, pauses[2:], strict=False)), pauses
    await engine.complete_run()
    assert (await engine.read_row("sync_state"))["attempts"] == 0


async def test_a_newer_grant_clears_what_the_older_one_failed_at(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["folders"] = [Throttled("patience", retry_after_s=900)]
    await engine.run_sync()
    await engine.change_source(grant_generation=2)
    assert (await engine.states.read_state(engine.source)).not_before is None
    await engine.complete_run()


async def test_a_provider_without_a_client_is_put_off_and_says_so(engine: Engine) -> None:
    run = engine.sync_engine(is_configured=False)
    outcome = await run.run(engine.source, reasons=frozenset({SyncReason.BACKSTOP}))
    assert isinstance(outcome, RunDeferred)
    assert "not set up" in outcome.detail


async def test_a_page_of_a_source_that_is_paused_meanwhile_writes_nothing(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File())

    async def paused(_: str) -> None:
        await engine.change_behind_its_back(state=DocSourceState.PAUSED)

    outlook.meanwhile["fetch"] = paused
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert await engine.read_attachments() == []
    assert await engine.read_rows("message") == []
    outlook.meanwhile.clear()
    engine.source = replace(engine.source, version=2)
    await engine.change_source(state=DocSourceState.ACTIVE)
    await engine.complete_run(SyncReason.RESUME)
    assert await engine.collected_mails() == ["m1"], "resume catches up from the cursor"


async def test_a_zombies_page_finds_the_cursor_moved_and_writes_nothing(engine: Engine) -> None:
    await engine.complete_run()
    stale = await engine.repositories.cursors.read_cursor(engine.source.doc_source_id, "f-inbox")
    first, second = (_page(stale, message_id, "9") for message_id in ("by-owner", "by-zombie"))
    await engine.repositories.pages.commit_page(engine.source, first, engine.clock.now)
    with pytest.raises(CursorConflict):
        await engine.repositories.pages.commit_page(engine.source, second, engine.clock.now)
    assert [row["message_id"] for row in await engine.read_rows("message")] == ["by-owner"]


async def test_two_first_pages_at_once_are_one(engine: Engine) -> None:
    await engine.states.read_state(engine.source)
    nothing = Cursor(scope="f-inbox")
    pages = [_page(nothing, message_id, "9") for message_id in ("a", "b")]
    results = await asyncio.gather(
        *(engine.repositories.pages.commit_page(engine.source, page, engine.clock.now) for page in pages),
        return_exceptions=True,
    )
    assert sorted(type(result).__name__ for result in results) == ["CommittedPage", "CursorConflict"]
    assert len(await engine.read_rows("message")) == 1


async def test_two_workers_on_one_mailbox_take_each_mail_once(engine: Engine, outlook: FakeOutlook) -> None:
    for number in range(7):
        outlook.deliver(f"m{number}", File())
    await asyncio.gather(engine.run_sync(SyncReason.CONNECT), engine.run_sync(SyncReason.CONNECT))
    engine.clock.pass_by(minutes=1)
    await engine.run_sync(SyncReason.CONNECT)
    assert await engine.collected_mails() == [f"m{number}" for number in range(7)]


async def test_a_page_of_an_unknown_or_forgotten_source_is_refused(engine: Engine) -> None:
    page = _page(Cursor(scope="f-inbox"), "m1", "1")
    with pytest.raises(SourceNotActive):
        await engine.repositories.pages.commit_page(engine.source, page, engine.clock.now)
    await engine.change_source(state=DocSourceState.DELETING)
    await engine.states.forget_source(engine.source)
    with pytest.raises(SourceNotActive):
        await engine.repositories.pages.commit_page(engine.source, page, engine.clock.now)


async def test_forgetting_leaves_a_grave_and_says_so_once(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File())
    outlook.deliver("m2", File())
    outlook.item_errors["m2"] = Rejected("400")
    await engine.complete_run()
    await engine.change_source(state=DocSourceState.DELETING)
    tables = ("message", "message_part", "cursor", "folder", "parked_item", "sync_run")
    assert [table for table in tables if not await engine.read_rows(table)] == [], (
        "there is something to forget in each"
    )
    await engine.states.forget_source(engine.source)
    await engine.states.forget_source(engine.source)
    assert [table for table in tables if await engine.read_rows(table)] == []
    assert (await engine.read_row("sync_state"))["forgotten_at"] is not None
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]
    assert len(engine.stored_blobs()) == 1, "blobs are ingestion's"
    assert isinstance(await engine.run_sync(), NotSyncable)


async def test_a_refused_page_goes_back_to_its_position_and_not_to_nothing(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    position = (await engine.repositories.cursors.read_cursor(engine.source.doc_source_id, "f-inbox")).position
    for number in range(7):
        outlook.deliver(f"m{number}", File())
    engine.clock.pass_by(minutes=11)
    outlook.errors["page"] = [PageTokenRefused("too late")]
    outlook.asked.clear()
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == [f"m{number}" for number in range(7)]
    assert outlook.asked[0] == outlook.asked[2] == ("f-inbox", position, None), "it began again at its position"
    assert outlook.asked[1][2] is not None


async def test_a_refused_position_is_the_first_sync_again_and_takes_nothing_twice(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File())
    await engine.complete_run()
    engine.clock.pass_by(minutes=11)
    outlook.deliver("m2", File())
    outlook.errors["delta"] = [CursorRefused("410")]
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["m1", "m2"]


async def test_a_provider_that_refuses_every_cursor_is_failing(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["delta"] = [CursorRefused("410") for _ in range(10)]
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert outcome.is_failure


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


async def test_a_run_is_written_down_with_what_it_found(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), File(filename="b.pdf"))
    await engine.complete_run(SyncReason.CONNECT, SyncReason.NOTIFICATION)
    run = await engine.read_row("sync_run")
    assert (run["kind"], run["outcome"], run["new_messages"], run["stored_parts"]) == ("full", "done", 1, 2)
    assert run["reasons"] == ["connect", "notification"]


async def test_a_run_that_crashes_is_written_down_as_failed(engine: Engine, outlook: FakeOutlook) -> None:
    async def crash(_: str) -> None:
        raise KeyError("nobody foresaw this")

    outlook.meanwhile["folders"] = crash
    with pytest.raises(KeyError):
        await engine.run_sync()
    run = await engine.read_row("sync_run")
    assert (run["outcome"], run["detail"]) == ("failed", "KeyError")


async def test_mail_that_only_the_backstop_found_long_after_it_came_is_unannounced(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("there-before", File())
    assert (await engine.complete_run(SyncReason.CONNECT)).unannounced_messages == 0
    engine.clock.pass_by(minutes=1)
    outlook.deliver("silent", File())
    engine.clock.pass_by(minutes=13)
    outlook.deliver("just-now", File())
    outcome = await engine.complete_run(SyncReason.BACKSTOP)
    assert (outcome.new_messages, outcome.unannounced_messages) == (2, 1)


async def test_mail_that_a_notification_brought_is_announced(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    engine.clock.pass_by(minutes=1)
    outlook.deliver("m1", File())
    engine.clock.pass_by(minutes=13)
    outcome = await engine.complete_run(SyncReason.BACKSTOP, SyncReason.NOTIFICATION)
    assert (outcome.new_messages, outcome.unannounced_messages) == (1, 0)


def _page(read: Cursor, message_id: str, position: str) -> PageUpdate:
    message = ProcessedMessage(summary=MessageSummary(message_id=message_id), state=MessageState.CLOSED)
    return PageUpdate(read_cursor=read, next_cursor=read.finish_round(position), messages=(message,))
