"""One part that fails: parked by itself, tried again, and no obstacle for the other parts of its mail."""

from dataclasses import replace
from datetime import timedelta

import pytest
from fake_mailbox import PDF, FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import AccessDenied, ItemGone, ProviderUnavailable, Rejected, Throttled
from mailroom_common.events import SyncReason
from sync_engine.domain.run_outcomes import RunDeferred
from sync_engine.domain.run_planning import RETRY_DELAYS

FIVE = ["one.pdf", "two.pdf", "bad.pdf", "four.pdf", "five.pdf"]


def deliver_five(outlook: FakeOutlook, message_id: str = "m1") -> None:
    outlook.deliver(message_id, *(File(PDF + name.encode(), name) for name in FIVE))


async def stored_files(engine: Engine) -> list[str]:
    return [str(event.filename) for event in await engine.read_attachments()]


async def parked_reasons(engine: Engine) -> dict[str, str]:
    rows = await engine.read_rows("message_part")
    return {row["filename"]: row["parked_reason"] for row in rows if row["parked_reason"]}


async def finish_documents(engine: Engine) -> None:
    for event in await engine.read_attachments():
        await engine.record_result(event)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ProviderUnavailable("504"), "provider_unavailable"),
        (ItemGone("404"), "gone"),
        (AccessDenied("403"), "access_denied"),
        (Rejected("400"), "rejected"),
        (ValueError("what is this"), "crashed"),
    ],
)
async def test_one_bad_part_leaves_the_other_four_to_become_documents_at_once(
    engine: Engine, outlook: FakeOutlook, error: Exception, reason: str
) -> None:
    deliver_five(outlook)
    outlook.part_errors["bad.pdf"] = error
    await engine.complete_run()
    assert await stored_files(engine) == ["one.pdf", "two.pdf", "four.pdf", "five.pdf"]
    assert await parked_reasons(engine) == {"bad.pdf": reason}
    del outlook.part_errors["bad.pdf"]
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await stored_files(engine) == ["one.pdf", "two.pdf", "four.pdf", "five.pdf", "bad.pdf"]
    assert await parked_reasons(engine) == {}


async def test_a_connection_that_breaks_half_way_parks_its_part_and_leaves_no_half_document(
    engine: Engine, outlook: FakeOutlook
) -> None:
    deliver_five(outlook)
    outlook.cut_off_files.add("bad.pdf")
    await engine.complete_run()
    assert len(await stored_files(engine)) == 4
    assert await parked_reasons(engine) == {"bad.pdf": "provider_unavailable"}
    outlook.cut_off_files.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert (await engine.read_attachments())[-1].size_bytes == len(PDF + b"bad.pdf")
    assert await engine.read_rows("blob_upload") == []


async def test_a_message_is_closed_when_no_part_of_it_is_parked_and_each_stored_one_has_a_result(
    engine: Engine, outlook: FakeOutlook
) -> None:
    deliver_five(outlook)
    outlook.part_errors["bad.pdf"] = ProviderUnavailable("504")
    await engine.complete_run()
    await finish_documents(engine)
    assert (await engine.read_row("message"))["state"] == "open"
    outlook.part_errors["bad.pdf"] = Rejected("400")
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert (await engine.read_row("message"))["state"] == "open"
    del outlook.part_errors["bad.pdf"]
    outlook.mails["m1"].files[2].content = b"hello"
    engine.clock.pass_by(minutes=6)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == {**dict.fromkeys(FIVE), "bad.pdf": "not_a_document"}
    assert (await engine.read_row("message"))["state"] == "closed", "all other results had come before"


async def test_a_part_that_always_fails_is_tried_daily_for_ever(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(filename="bad.pdf"), File(filename="good.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404, though the mail is there and lists it")
    await engine.complete_run()
    for wait in (*RETRY_DELAYS, timedelta(hours=27), timedelta(hours=27)):
        outlook.calls.clear()
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
        assert outlook.calls["open_part"] == 1
    assert await parked_reasons(engine) == {"bad.pdf": "gone"}
    outlook.calls.clear()
    engine.clock.pass_by(hours=20)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert outlook.calls["open_part"] == 0


async def test_a_parked_part_that_the_mail_lists_no_more_ends_as_gone(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(filename="good.pdf"), File(filename="bad.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404")
    await engine.complete_run()
    outlook.mails["m1"].files.pop()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == {"good.pdf": None, "bad.pdf": "gone"}


async def test_the_parts_of_a_mail_that_is_deleted_end_as_gone_and_not_at_once(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File(filename="bad.pdf"))
    outlook.part_errors["bad.pdf"] = ProviderUnavailable("504")
    await engine.complete_run()
    outlook.item_errors["m1"] = ItemGone("404")
    engine.clock.now += RETRY_DELAYS[0]
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await parked_reasons(engine) == {"bad.pdf": "gone"}
    for wait in (*RETRY_DELAYS[1:], timedelta(hours=27)):
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == {"bad.pdf": "gone"}
    assert (await engine.read_row("message"))["state"] == "closed"


async def test_a_part_that_failed_for_days_and_is_then_gone_for_minutes_is_tried_on(
    engine: Engine, outlook: FakeOutlook
) -> None:
    deliver_five(outlook)
    outlook.part_errors["bad.pdf"] = Rejected("400")
    await engine.complete_run()
    for wait in (*RETRY_DELAYS, timedelta(hours=27)):
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    outlook.item_errors["m1"] = ItemGone("404, while the provider moves the mailbox")
    outlook.hidden_from_list.add("m1")  # newer mail has come
    for _ in range(3):
        engine.clock.pass_by(minutes=6)
        await engine.states.mark_full_due([engine.source.doc_source_id])
        await engine.complete_run()
    assert await parked_reasons(engine) == {"bad.pdf": "gone"}


@pytest.mark.parametrize("others", [(), ("good.pdf",)], ids=["alone", "beside a stored part"])
@pytest.mark.parametrize("is_full", [False, True], ids=["list", "delta"])
async def test_a_part_that_was_gone_is_read_once_its_mail_is_shown_again(
    engine: Engine, outlook: FakeOutlook, others: tuple[str, ...], is_full: bool
) -> None:
    outlook.deliver("m1", *(File(filename=name) for name in (*others, "bad.pdf")))
    outlook.part_errors["bad.pdf"] = ProviderUnavailable("504")
    await engine.complete_run()
    deleted = outlook.mails["m1"]
    outlook.delete("m1")
    for wait in (*RETRY_DELAYS, timedelta(hours=27)):
        engine.clock.now += wait
        await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == {**dict.fromkeys(others), "bad.pdf": "gone"}
    outlook.part_errors.clear()
    if not is_full:
        deleted.summary = replace(deleted.summary, modified_at=engine.clock())
    outlook.put_back(deleted)
    if is_full:
        engine.clock.pass_by(minutes=11)
        outlook.hidden_from_list.add("m1")
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == dict.fromkeys((*others, "bad.pdf"))
    assert await stored_files(engine) == [*others, "bad.pdf"]


async def test_a_throttle_in_the_middle_of_a_mail_keeps_what_was_stored(engine: Engine, outlook: FakeOutlook) -> None:
    deliver_five(outlook)
    outlook.part_errors["bad.pdf"] = Throttled("429")
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert await stored_files(engine) == ["one.pdf", "two.pdf"]
    assert await parked_reasons(engine) == dict.fromkeys(["bad.pdf", "four.pdf", "five.pdf"], "not_fetched")
    del outlook.part_errors["bad.pdf"]
    outlook.calls.clear()
    engine.clock.now = outcome.not_before
    await engine.complete_run(SyncReason.RETRY)
    assert await stored_files(engine) == FIVE
    assert outlook.calls["open_part"] == 3, "nothing is fetched twice"


async def test_a_mail_with_more_parts_than_a_quota_allows_makes_steady_progress(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", *(File(PDF + bytes([number]), f"{number}.pdf") for number in range(30)))
    outlook.limit_units(10, {"open_part": 1})
    counts = []
    for _ in range(3):
        await engine.run_sync()
        counts.append(len(await stored_files(engine)))
        engine.clock.pass_by(seconds=61)
    assert counts == [10, 20, 30]


async def test_parts_behind_many_that_fail_have_their_turn(engine: Engine, outlook: FakeOutlook) -> None:
    names = [f"bad{number}.pdf" for number in range(4)]
    outlook.deliver("m1", *(File(filename=name) for name in [*names, "good.pdf"]))
    outlook.part_errors = {name: ProviderUnavailable("504") for name in names}
    await engine.complete_run()
    assert await stored_files(engine) == ["good.pdf"]
    assert set(await parked_reasons(engine)) == set(names)


async def test_a_part_that_is_always_throttled_ends_one_run_and_no_more(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(filename="good.pdf"), File(filename="bad.pdf"))
    outlook.part_errors["bad.pdf"] = Throttled("429", retry_after_s=1)
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert await parked_reasons(engine) == {"bad.pdf": "provider_unavailable"}
    engine.clock.now = outcome.not_before
    await engine.complete_run()
    del outlook.part_errors["bad.pdf"]
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    assert await stored_files(engine) == ["good.pdf", "bad.pdf"]


async def test_a_provider_that_is_down_parks_no_mailbox(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.page_size = 50
    for number in range(24):
        outlook.deliver(f"m{number}", File(filename="a.pdf"))
    outlook.part_errors["a.pdf"] = ProviderUnavailable("503")
    pauses = []
    for _ in range(5):
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        pauses.append(outcome.not_before - engine.clock.now)
        engine.clock.now = outcome.not_before
    assert (await engine.read_row("sync_state"))["failed_attempts"] == 5
    assert pauses[4] > pauses[2] > pauses[0]
    assert len(await engine.read_rows("message")) < 20
    outlook.part_errors.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    assert await parked_reasons(engine) == {}
    assert len(await stored_files(engine)) == 24


async def test_parts_that_hang_one_after_the_other_end_their_retries_and_not_the_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.page_size = 50
    for number in range(10):
        outlook.deliver(f"m{number}", File(filename="a.pdf"))
    outlook.part_errors["a.pdf"] = ItemGone("404")
    await engine.complete_run()
    outlook.part_errors["a.pdf"] = ProviderUnavailable("no answer within 30 s")
    outlook.calls.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert outlook.calls["open_part"] == 3, "each may hang for half a minute, and new mail waits meanwhile"
    outlook.part_errors.clear()
    engine.clock.pass_by(minutes=6)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert len(await stored_files(engine)) == 10


async def test_one_answer_without_any_part_makes_no_parked_part_gone(engine: Engine, outlook: FakeOutlook) -> None:
    """A scanner is at work on the mail."""
    outlook.deliver("m1", File(filename="bad.pdf"))
    outlook.part_errors["bad.pdf"] = Rejected("400")
    await engine.complete_run()
    files, outlook.mails["m1"].files = outlook.mails["m1"].files, []
    engine.clock.now += RETRY_DELAYS[0]
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await parked_reasons(engine) == {"bad.pdf": "gone"}
    outlook.mails["m1"].files, outlook.part_errors = files, {}
    engine.clock.now += RETRY_DELAYS[1]
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await stored_files(engine) == ["bad.pdf"]


async def test_to_leave_a_page_on_which_all_was_parked_is_no_progress(engine: Engine, outlook: FakeOutlook) -> None:
    for number in range(4):
        outlook.deliver(f"m{number}", File(filename="a.pdf"))
    outlook.part_errors["a.pdf"] = Rejected("400")
    outlook.errors["page"] = [ProviderUnavailable("503")]
    await engine.change_source()
    await engine.pool.execute("update sync_engine.sync_state set failed_attempts = 4")
    assert isinstance(await engine.run_sync(), RunDeferred)
    assert (await engine.read_row("sync_state"))["failed_attempts"] == 5
