"""Runs of a mailbox with a cursor per folder: what is collected, when a run is full, and how many calls it costs."""

from dataclasses import replace
from datetime import timedelta

from fake_mailbox import FakeOutlook, File
from sync_harness import START, Engine

from mailroom_common.events import SyncReason
from sync_engine.domain.run_outcomes import RunCompleted


async def test_first_run_takes_what_came_since_the_start(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("between-consent-and-sync", File(), received_at=START + timedelta(minutes=1))
    outlook.deliver("before-the-start", File(), received_at=START - timedelta(seconds=1))
    outcome = await engine.complete_run(SyncReason.CONNECT)
    assert outcome.is_full
    assert await engine.collected_mails() == ["between-consent-and-sync"]
    assert [row["message_id"] for row in await engine.read_rows("message")] == ["between-consent-and-sync"]


async def test_a_stored_attachment_is_announced_as_it_lies_in_the_blob_store(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File(filename="../../etc/Rechnung.pdf"))
    await engine.complete_run()
    (event,) = await engine.read_attachments()
    assert event.filename == "Rechnung.pdf"
    assert event.folder == "Posteingang"
    assert event.content_type == "application/pdf"
    assert (engine.blob_folder / event.blob_key).read_bytes() == File().content
    assert (await engine.read_row("message"))["state"] == "open"
    assert await engine.read_rows("blob_upload") == []


async def test_a_mail_during_a_first_sync_that_takes_long_is_collected(engine: Engine, outlook: FakeOutlook) -> None:
    for number in range(8):
        outlook.deliver(f"m{number}", File())

    async def more_mail(_: str) -> None:
        if outlook.calls["open_part"] == 1:
            outlook.deliver("meanwhile", File())

    outlook.meanwhile["open_part"] = more_mail
    await engine.complete_run(SyncReason.CONNECT)
    await engine.complete_run(SyncReason.NOTIFICATION)
    assert await engine.collected_mails() == sorted(["meanwhile", *(f"m{number}" for number in range(8))])


async def test_a_woken_mailbox_with_nothing_new_costs_one_call(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File())
    await engine.complete_run()
    outlook.calls.clear()
    engine.clock.pass_by(seconds=30)
    outcome = await engine.complete_run()
    assert not outcome.is_full
    assert outlook.calls == {"list": 1}


async def test_a_new_mail_costs_a_hinted_run_the_list_its_parts_and_their_bytes(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    cursors = await engine.read_rows("cursor")
    engine.clock.pass_by(seconds=30)
    outlook.deliver("m1", File())
    outlook.calls.clear()
    await engine.complete_run()
    assert outlook.calls == {"list": 1, "fetch": 1, "open_part": 1}
    assert await engine.collected_mails() == ["m1"]
    assert await engine.read_rows("cursor") == cursors, "no cursor moves in a hinted run"


async def test_a_mail_that_the_list_does_not_show_arrives_with_the_next_full_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    engine.clock.pass_by(minutes=1)
    outlook.deliver("unlisted", File())
    outlook.hidden_from_list.add("unlisted")
    await engine.complete_run()
    assert await engine.collected_mails() == []
    engine.clock.pass_by(minutes=10)
    assert (await engine.complete_run(SyncReason.BACKSTOP)).is_full
    assert await engine.collected_mails() == ["unlisted"]


async def test_a_delta_that_lags_costs_nothing(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    outlook.lags = True
    engine.clock.pass_by(minutes=11)
    outlook.deliver("m1", File())
    assert (await engine.complete_run(SyncReason.BACKSTOP)).is_full
    assert await engine.collected_mails() == ["m1"], "the delta does not show it yet, and the list does"
    outlook.lags = False
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["m1"], "when the delta catches up, the mail is known"


async def test_missed_forces_a_full_run_though_a_notification_follows_it(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    engine.clock.pass_by(minutes=1)
    outlook.deliver("missed", File())
    outlook.hidden_from_list.add("missed")
    await engine.states.mark_full_due([engine.source.doc_source_id])
    assert (await engine.complete_run(SyncReason.NOTIFICATION)).is_full
    assert await engine.collected_mails() == ["missed"]
    assert not (await engine.complete_run(SyncReason.NOTIFICATION)).is_full


async def test_a_mark_set_during_a_full_run_outlives_that_run(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.states.mark_full_due([engine.source.doc_source_id])
    outlook.deliver("m1", File())

    async def marked_again(_: str) -> None:
        await engine.states.mark_full_due([engine.source.doc_source_id])

    outlook.meanwhile["fetch"] = marked_again
    await engine.complete_run()
    assert (await engine.complete_run()).is_full
    assert not (await engine.complete_run()).is_full


async def test_last_full_at_is_the_start_of_the_last_full_run(engine: Engine, outlook: FakeOutlook) -> None:
    began_at = engine.clock.now
    outlook.deliver("m1", File())

    async def slow(_: str) -> None:
        assert (await engine.read_row("sync_state"))["last_completed_full_started_at"] is None, "written at the end"
        engine.clock.pass_by(minutes=30)

    outlook.meanwhile["fetch"] = slow
    await engine.complete_run()
    assert (await engine.read_row("sync_state"))["last_completed_full_started_at"] == began_at


async def test_an_empty_page_of_a_delta_is_not_its_end(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.empty_pages = 2
    outlook.deliver("m1", File())
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_list_whose_pages_do_not_progress_leaves_the_rest_to_the_full_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    engine.clock.pass_by(minutes=1)
    for number in range(7):  # one moment, more than two pages
        outlook.deliver(f"m{number}", File())
    await engine.complete_run()
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == [f"m{number}" for number in range(7)]


async def test_a_slice_gets_further_than_the_overlap_of_its_list_costs(engine: Engine, outlook: FakeOutlook) -> None:
    """Thousands of mails that were moved at once are within the two minutes that each list goes back."""
    await engine.complete_run()

    async def deliver_and_list(name: str) -> int:
        for number in range(30):
            engine.clock.pass_by(seconds=1)
            outlook.deliver(f"{name}-{number}", File())
        outlook.calls.clear()
        while not isinstance(await engine.run_sync(), RunCompleted):
            pass
        return outlook.calls["list"]

    await deliver_and_list("known")

    async def take_time(_: str) -> None:
        engine.clock.pass_by(seconds=1)

    outlook.meanwhile["list"] = take_time
    assert await deliver_and_list("new") <= 70, "30 mails, two new ones a page, behind 15 pages that are listed again"
    assert len(await engine.collected_mails()) == 60


async def test_a_mail_that_was_modified_in_the_future_hides_no_other_from_the_list(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    mail = outlook.deliver("ahead", File())
    mail.summary = replace(mail.summary, modified_at=engine.clock.now + timedelta(days=365))
    for name in ("new", "later"):
        engine.clock.pass_by(seconds=30)
        assert not (await engine.complete_run()).is_full
        outlook.deliver(name, File())
    assert not (await engine.complete_run()).is_full
    assert await engine.collected_mails() == ["ahead", "later", "new"]
