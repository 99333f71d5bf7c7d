"""Runs of an Outlook mailbox on real tables: what is taken, when a run is full, and what it costs."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import START, Engine, doc_source, open_engine

from mailroom_common.events import SyncReason


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source()) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


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


async def test_a_mail_during_a_first_sync_that_takes_long_is_taken(engine: Engine, outlook: FakeOutlook) -> None:
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
    assert await engine.collected_mails() == [], "the delta does not show it yet"
    engine.clock.pass_by(seconds=5)
    assert not (await engine.complete_run()).is_full
    assert await engine.collected_mails() == ["m1"]
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
        assert (await engine.read_row("sync_state"))["last_full_at"] is None, "written at the end"
        engine.clock.pass_by(minutes=30)

    outlook.meanwhile["fetch"] = slow
    await engine.complete_run()
    assert (await engine.read_row("sync_state"))["last_full_at"] == began_at


async def test_a_mail_that_shows_in_list_delta_and_again_is_one_mail(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=10)
    outlook.deliver("m1", File(), File(filename="second.pdf"))
    for reason in (SyncReason.NOTIFICATION, SyncReason.MANUAL, SyncReason.NOTIFICATION):
        await engine.states.mark_full_due([engine.source.doc_source_id] if reason is SyncReason.MANUAL else [])
        engine.clock.pass_by(seconds=10)
        outlook.touch("m1", is_read=True)
        await engine.complete_run(reason)
    assert await engine.collected_mails() == ["m1", "m1"]
    assert len({event.attachment_id for event in await engine.read_attachments()}) == 2


async def test_only_watched_folders_are_taken_from(engine: Engine, outlook: FakeOutlook) -> None:
    for folder in ("f-inbox", "f-invoices", "f-junk", "f-deleted", "f-sent"):
        outlook.deliver(f"in-{folder}", File(), folder_id=folder)
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.deliver("junk-again", File(), folder_id="f-junk")
    await engine.complete_run()
    assert await engine.collected_mails() == ["in-f-inbox", "in-f-invoices"]


async def test_a_mail_that_is_moved_out_of_junk_is_taken(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), folder_id="f-junk")
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.move("m1", "f-inbox")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_folder_made_since_the_last_full_run_is_watched_at_once(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.tree.append(type(outlook.tree[0])("f-new", "Projekte"))
    outlook.deliver("m1", File(), folder_id="f-new")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_removed_id_that_was_never_taken_is_fetched_by_its_id(engine: Engine, outlook: FakeOutlook) -> None:
    """Deltas lose messages that move about: removed here, and shown nowhere else."""
    await engine.complete_run()
    engine.clock.pass_by(minutes=11)
    outlook.deliver("wanderer", File(), folder_id="f-inbox")
    outlook.move("wanderer", "f-invoices")
    outlook.hidden_from_list.add("wanderer")
    outlook.lose_additions.add("wanderer")
    outlook.deliver("gone", File())
    outlook.delete("gone")
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["wanderer"]
    assert await engine.read_rows("parked_item") == [], "what was removed and cannot be fetched is no failure"


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
