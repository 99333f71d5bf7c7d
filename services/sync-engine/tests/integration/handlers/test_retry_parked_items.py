"""One mail that fails: tried again, parked with its reason, and no obstacle for the others."""

from datetime import timedelta

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import AccessDenied, ItemGone, ProviderUnavailable, Rejected, Throttled
from mailroom_common.events import SyncReason
from sync_engine.domain.run_outcomes import RunDeferred
from sync_engine.domain.run_planning import RETRY_DELAYS


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Rejected("400"), "rejected"), (AccessDenied("403"), "access_denied"), (ValueError("what is this"), "crashed")],
)
async def test_an_item_that_fails_for_itself_is_parked_and_the_page_goes_on(
    engine: Engine, outlook: FakeOutlook, error: Exception, reason: str
) -> None:
    outlook.deliver("bad", File())
    outlook.deliver("good", File())
    outlook.item_errors["bad"] = error
    await engine.complete_run()
    assert await engine.collected_mails() == ["good"]
    parked = await engine.read_row("parked_item")
    assert (parked["message_id"], parked["reason"], parked["attempts"]) == ("bad", reason, 1)
    assert all(row["position"] for row in await engine.read_rows("cursor"))


async def test_a_provider_that_fails_over_one_item_holds_the_mailbox_up_for_one_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("bad", File())
    outlook.deliver("good", File())
    outlook.item_errors["bad"] = ProviderUnavailable("500")
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    engine.clock.now = outcome.not_before
    await engine.complete_run()
    assert await engine.collected_mails() == ["good"]
    assert (await engine.read_row("parked_item"))["reason"] == "provider_unavailable"


async def test_a_throttled_item_is_no_failure_of_that_item(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File())
    outlook.item_errors["m1"] = Throttled("patience", retry_after_s=7)
    assert isinstance(await engine.run_sync(), RunDeferred)
    assert await engine.read_rows("parked_item") == []
    del outlook.item_errors["m1"]
    engine.clock.pass_by(seconds=8)
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_parked_item_is_tried_again_in_time_and_collected_when_it_can_be(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("late", File())
    outlook.item_errors["late"] = ItemGone("announced, and not readable yet")
    await engine.complete_run()
    assert (await engine.read_row("parked_item"))["reason"] == "gone"
    del outlook.item_errors["late"]
    outlook.calls.clear()
    await engine.complete_run()
    assert outlook.calls["fetch"] == 0, "not before its time"
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    assert await engine.collected_mails() == ["late"]
    assert await engine.read_rows("parked_item") == []


async def test_a_mail_that_could_not_be_found_for_hours_is_collected_when_it_can_be(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("late", File())
    outlook.item_errors["late"] = ItemGone("404, though nobody deleted it")
    await engine.complete_run()
    for wait in RETRY_DELAYS:
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    del outlook.item_errors["late"]
    outlook.hidden_from_list.add("late")
    engine.clock.pass_by(hours=27)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["late"]


async def test_a_mail_that_stays_gone_is_done(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("gone", File())
    outlook.item_errors["gone"] = ItemGone("announced, and then deleted")
    await engine.complete_run()
    for wait in (*RETRY_DELAYS, timedelta(hours=27)):
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_rows("parked_item") == []
    assert outlook.calls["fetch"] == 1 + len(RETRY_DELAYS) + 1
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("closed", "gone")


async def test_a_mail_that_failed_for_days_and_is_then_gone_for_minutes_is_collected_when_it_can_be(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("late", File())
    outlook.item_errors["late"] = Rejected("400")
    await engine.complete_run()
    for wait in (*RETRY_DELAYS, timedelta(hours=27)):
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    outlook.item_errors["late"] = ItemGone("404, while the provider moves the mailbox")
    outlook.hidden_from_list.add("late")  # newer mail has come
    for _ in range(3):
        engine.clock.pass_by(minutes=6)
        await _asked_for_all(engine)
        await engine.complete_run()
    del outlook.item_errors["late"]
    engine.clock.pass_by(hours=27)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["late"]


async def test_a_mail_that_was_gone_for_good_and_is_shown_again_is_collected(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await test_a_mail_that_stays_gone_is_done(engine, outlook)
    del outlook.item_errors["gone"]
    outlook.touch("gone")
    await engine.complete_run()
    assert await engine.collected_mails() == ["gone"]
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("open", None)


async def test_what_is_parked_is_shown_as_a_message_from_the_start(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("bad", File())
    outlook.item_errors["bad"] = Rejected("400")
    await engine.complete_run()
    message = await engine.read_row("message")
    assert (message["state"], message["parked_reason"]) == ("parked", "rejected")


async def test_runs_for_all_that_are_repeated_within_seconds_lose_no_mail_that_is_readable_a_little_later(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("late", File())
    outlook.item_errors["late"] = ItemGone("announced, and not readable yet")
    await _asked_for_all(engine)

    async def invoices_fail(scope: str) -> None:
        if scope == "f-invoices":
            raise Rejected("400")

    outlook.meanwhile["delta"] = invoices_fail
    for _ in range(5):
        engine.clock.pass_by(seconds=4)
        await engine.states.record_success(engine.source, None)  # no pause of the mailbox's
        assert isinstance(await engine.run_sync(SyncReason.RETRY), RunDeferred)
    assert (await engine.read_row("parked_item"))["attempts"] == 1, "it waits for its own time"
    del outlook.item_errors["late"]
    engine.clock.pass_by(seconds=31)
    await engine.run_sync(SyncReason.RETRY)
    assert await engine.collected_mails() == ["late"]


async def test_a_mail_that_was_gone_often_within_moments_is_tried_again(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("late", File())
    outlook.item_errors["late"] = ItemGone("announced, and not readable yet")
    await engine.complete_run()
    for _ in range(4):
        engine.clock.pass_by(seconds=1)
        async with engine.pool.acquire() as conn:
            await conn.execute("update sync_engine.parked_item set next_attempt_at = last_failed_at")
        await engine.complete_run()
    assert (await engine.read_row("parked_item"))["attempts"] == 5


async def test_an_item_that_fails_always_is_tried_daily_for_ever(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("bad", File())
    outlook.item_errors["bad"] = Rejected("400")
    await engine.complete_run()
    for wait in (*RETRY_DELAYS, timedelta(hours=27), timedelta(hours=27)):
        outlook.calls.clear()
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
        assert outlook.calls["fetch"] == 1
    assert (await engine.read_row("parked_item"))["attempts"] == len(RETRY_DELAYS) + 3
    outlook.calls.clear()
    engine.clock.pass_by(hours=20)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert outlook.calls["fetch"] == 0


async def test_items_that_hang_one_after_the_other_end_their_retries_and_not_the_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.page_size = 50
    for number in range(10):
        outlook.deliver(f"m{number}", File())
        outlook.item_errors[f"m{number}"] = Rejected("400")
    await engine.complete_run()
    outlook.item_errors = dict.fromkeys(outlook.item_errors, ProviderUnavailable("no answer within 30 s"))
    outlook.calls.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert outlook.calls["fetch"] == 3
    outlook.item_errors.clear()
    engine.clock.pass_by(minutes=6)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert len(await engine.collected_mails()) == 10


async def test_what_an_older_version_put_to_rest_for_ever_is_tried_again(engine: Engine, outlook: FakeOutlook) -> None:
    """Its workers run on beside the migrated tables until the last of them is replaced."""
    outlook.deliver("bad", File())
    outlook.item_errors["bad"] = Rejected("400")
    await engine.complete_run()
    await engine.pool.execute("update sync_engine.parked_item set next_attempt_at = null")
    outlook.item_errors.clear()
    await engine.complete_run()
    assert await engine.collected_mails() == ["bad"]


async def test_a_request_for_all_tries_what_rests_once_more(engine: Engine, outlook: FakeOutlook) -> None:
    await test_an_item_that_fails_always_is_tried_daily_for_ever(engine, outlook)
    del outlook.item_errors["bad"]
    await _asked_for_all(engine)
    await engine.complete_run(SyncReason.MANUAL)
    assert await engine.collected_mails() == ["bad"]
    assert (await engine.read_row("message"))["state"] == "open"
    assert await engine.read_rows("parked_item") == []


async def test_a_request_for_all_is_not_forgotten_when_its_first_run_fails(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await test_an_item_that_fails_always_is_tried_daily_for_ever(engine, outlook)
    del outlook.item_errors["bad"]
    await _asked_for_all(engine)
    outlook.errors["folders"] = [ProviderUnavailable("503")]
    outcome = await engine.run_sync(SyncReason.MANUAL)
    assert isinstance(outcome, RunDeferred)
    engine.clock.now = outcome.not_before
    await engine.complete_run(SyncReason.RETRY)  # all that the work table says of a request whose run has failed
    assert await engine.collected_mails() == ["bad"]
    outlook.calls.clear()
    await engine.complete_run(SyncReason.RETRY)
    assert outlook.calls["folders"] == 0, "it was asked for once"


async def test_a_mail_at_rest_that_nobody_watched_when_it_was_retried_is_collected_where_it_is_watched(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await test_an_item_that_fails_always_is_tried_daily_for_ever(engine, outlook)
    outlook.move("bad", "f-junk")
    del outlook.item_errors["bad"]
    await _asked_for_all(engine)
    await engine.complete_run(SyncReason.MANUAL)
    assert await engine.collected_mails() == []
    assert await engine.read_rows("parked_item") == await engine.read_rows("message") == []
    outlook.move("bad", "f-inbox")
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["bad"]


async def _asked_for_all(engine: Engine) -> None:
    """The worker stores that a full run is due before it claims the request."""
    await engine.states.mark_full_due([engine.source.doc_source_id])
