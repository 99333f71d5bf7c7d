"""Who may run, who has to wait, and what a run that is no longer wanted can still write: nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import (
    AccessDenied,
    MailboxGone,
    Throttled,
    TokenRefused,
)
from mailroom_common.events import ConnectionKind, DocSourceState, SyncReason
from sync_engine.domain.run_outcomes import NotSyncable, RunDeferred


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
async def test_what_only_users_can_mend_is_reported_as_such(
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


async def test_a_throttle_that_names_no_wait_rests_for_a_quarter_of_a_minute_each_time(
    engine: Engine, outlook: FakeOutlook
) -> None:
    for _ in range(4):
        outlook.errors["folders"] = [Throttled("429")]
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert timedelta(seconds=10) <= outcome.not_before - engine.clock.now <= timedelta(seconds=20)
        engine.clock.now = outcome.not_before


async def test_a_provider_without_a_client_is_deferred_and_says_so(engine: Engine) -> None:
    run = engine.sync_engine(is_configured=False)
    outcome = await run.sync_mailbox(engine.source, reasons=frozenset({SyncReason.BACKSTOP}))
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
