"""Which changes of a page are collected, and which are known already."""

from datetime import timedelta

from fake_mailbox import FakeOutlook, File
from prometheus_client import REGISTRY
from sync_harness import START, Engine

from mailroom_common.errors import ItemGone, Rejected
from mailroom_common.events import SyncReason


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


async def test_a_mail_that_is_moved_out_of_junk_is_collected(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), folder_id="f-junk")
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.move("m1", "f-inbox")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_removed_id_that_was_never_collected_is_fetched_by_its_id(engine: Engine, outlook: FakeOutlook) -> None:
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


def count_passed_over(why: str) -> float:
    return REGISTRY.get_sample_value("mailroom_sync_messages_passed_over_total", {"why": why}) or 0


async def test_each_mail_that_a_page_shows_is_a_row_with_its_reason_or_is_counted(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    counted = count_passed_over("before_start"), count_passed_over("elsewhere")
    outlook.page_size = 50
    outlook.deliver("stored", File())
    outlook.deliver("no-words", File(b"hello", "notes.txt", "text/plain"), subject="Hi", sender_address="a@b.example")
    outlook.deliver("no-parts")
    outlook.deliver("parked", File())
    outlook.deliver("gone", File())
    outlook.deliver("old", File(), received_at=START - timedelta(seconds=1))
    outlook.deliver("in-junk", File(), folder_id="f-junk")
    outlook.item_errors = {"parked": Rejected("400"), "gone": ItemGone("404")}
    await engine.complete_run()
    rows = await engine.read_rows("message")
    assert {row["message_id"]: (row["state"], row["skip_reason"] or row["parked_reason"]) for row in rows} == {
        "stored": ("open", None),
        "no-words": ("closed", "no_document_words"),
        "no-parts": ("closed", "no_parts"),
        "parked": ("parked", "rejected"),
        "gone": ("parked", "gone"),
    }
    assert count_passed_over("before_start") == counted[0] + 1
    assert count_passed_over("elsewhere") == counted[1] + 1
    engine.clock.pass_by(seconds=30)
    outlook.move("in-junk", "f-inbox")
    await engine.complete_run()
    assert "in-junk" in await engine.collected_mails(), "it is judged when it comes"
