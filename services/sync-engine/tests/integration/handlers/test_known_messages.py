"""No judgement is final: a mail of which nothing is stored, or something is parked, is judged anew when it changes."""

import asyncio

import pytest
from container_files import make_file, make_forward, make_mail
from fake_mailbox import PDF, FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import ItemGone, Rejected
from mailroom_common.events import SourceFilter, SyncReason
from mailroom_common.providers.types import PartKind

PLACEHOLDER = File(b"being scanned", "placeholder.txt", "text/plain")
INVOICE = File(filename="invoice.pdf")
FORWARD = File(make_mail(make_forward(make_mail())), "Fwd", None, kind=PartKind.MESSAGE)
FORWARDED_INVOICE = File(make_mail(make_file(PDF, "invoice.pdf")), "Fwd", None, kind=PartKind.MESSAGE)


@pytest.fixture
def outlook(outlook: FakeOutlook) -> FakeOutlook:
    outlook.expands_parts = True
    return outlook


async def deliver_and_sync(engine: Engine, outlook: FakeOutlook, *files: File) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.deliver("m1", *files)
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)


def replace_files(outlook: FakeOutlook, *files: File) -> None:
    outlook.mails["m1"].files = list(files)
    outlook.touch("m1")


async def read_message(engine: Engine) -> tuple[str, str | None, int]:
    row = await engine.read_row("message")
    return row["state"], row["skip_reason"], row["judgement_number"]


@pytest.mark.parametrize("is_full", [False, True], ids=["list", "delta"])
@pytest.mark.parametrize("before", [(PLACEHOLDER,), ()], ids=["placeholder", "nothing"])
async def test_placeholder_that_a_scanner_replaces_minutes_later_is_read(
    engine: Engine, outlook: FakeOutlook, before: tuple[File, ...], is_full: bool
) -> None:
    await deliver_and_sync(engine, outlook, *before)
    assert (await read_message(engine))[0] == "closed"
    replace_files(outlook, INVOICE)
    if is_full:
        engine.clock.pass_by(minutes=11)
        outlook.hidden_from_list.add("m1")
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.read_skip_reasons() == {"invoice.pdf": None}, "the placeholder's row is replaced"
    assert [event.filename for event in await engine.read_attachments()] == ["invoice.pdf"]
    assert await read_message(engine) == ("open", None, 2)
    assert (await engine.read_row("message"))["closed_at"] is None
    assert await engine.read_rows("blob_upload") == []


@pytest.mark.parametrize(
    "files",
    [(PLACEHOLDER,), (), (INVOICE,), (FORWARD,), (FORWARD, PLACEHOLDER)],
    ids=["skipped", "no parts", "stored", "forwarded text", "forwarded text and skipped"],
)
async def test_flag_change_costs_no_call_and_changes_no_row(
    engine: Engine, outlook: FakeOutlook, files: tuple[File, ...]
) -> None:
    await deliver_and_sync(engine, outlook, *files)
    rows = [await engine.read_rows("message"), await engine.read_rows("message_part")]
    worker, reasons = engine.sync_engine(), frozenset({SyncReason.BACKSTOP})
    outlook.touch("m1", is_read=True)
    outlook.calls.clear()
    await worker.sync_mailbox(engine.source, reasons=reasons)
    assert outlook.calls == {"list": 1}
    engine.clock.pass_by(minutes=11)
    await worker.sync_mailbox(engine.source, reasons=reasons)
    assert outlook.calls["fetch"] == outlook.calls["open_part"] == 0, "the list has told that no part is new"
    assert [await engine.read_rows("message"), await engine.read_rows("message_part")] == rows


async def test_mail_that_is_moved_is_judged_anew_by_the_rules_of_now(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(filter=SourceFilter(sender_deny=["supplier.example"]))
    await deliver_and_sync(engine, outlook, PLACEHOLDER, INVOICE)
    assert await read_message(engine) == ("closed", "sender_denied", 1)
    await engine.change_source(filter=SourceFilter())
    outlook.move("m1", "f-invoices")
    outlook.calls.clear()
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"placeholder.txt": "not_a_document", "invoice.pdf": None}
    assert outlook.calls == {"list": 1, "open_part": 1}, "bytes are fetched only of what was not read"
    assert (await engine.read_row("message"))["folder"] == "Posteingang/Rechnungen"


async def test_stored_parts_stay_and_are_announced_once(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.part_errors["bad.pdf"] = Rejected("400")
    await deliver_and_sync(engine, outlook, INVOICE, File(filename="bad.pdf"))
    replace_files(outlook, INVOICE, File(filename="bad.pdf"), File(PDF + b"3", "third.pdf"))
    await engine.complete_run()
    parts = {row["filename"]: (row["stored"], row["parked_reason"]) for row in await engine.read_rows("message_part")}
    assert parts == {"invoice.pdf": (True, None), "bad.pdf": (False, "rejected"), "third.pdf": (True, None)}
    assert [event.filename for event in await engine.read_attachments()] == ["invoice.pdf", "third.pdf"]


async def test_mail_that_has_no_parts_for_a_moment_keeps_what_it_was_judged_to_be(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await deliver_and_sync(engine, outlook, PLACEHOLDER)
    replace_files(outlook)
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"placeholder.txt": "not_a_document"}
    engine.clock.pass_by(seconds=30)
    replace_files(outlook, INVOICE)
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"invoice.pdf": None}


async def test_zombie_judgement_changes_nothing(engine: Engine, outlook: FakeOutlook) -> None:
    """Its worker has lost the partition; it stands still while it stores what the mail held a moment before."""
    await deliver_and_sync(engine, outlook, PLACEHOLDER)
    replace_files(outlook, File(PDF + b"early", "early.pdf"))
    stands_still, goes_on = asyncio.Event(), asyncio.Event()

    async def stand_still(_: str) -> None:
        outlook.meanwhile.clear()
        stands_still.set()
        await goes_on.wait()

    outlook.meanwhile["open_part"] = stand_still
    zombie = asyncio.create_task(engine.run_sync())
    await stands_still.wait()
    final = [File(b"text", "notes.txt", "text/plain"), File(PDF + b"final", "final.pdf")]
    replace_files(outlook, *final)
    await engine.complete_run()
    outlook.mails["m1"].files = [File(PDF + b"early", "early.pdf")]
    goes_on.set()
    await zombie
    assert await engine.read_skip_reasons() == {"notes.txt": "not_a_document", "final.pdf": None}
    assert [event.filename for event in await engine.read_attachments()] == ["final.pdf"]
    assert (await read_message(engine))[2] == 2
    unnamed = {row["blob_key"] for row in await engine.read_rows("blob_upload")}
    named = {row["blob_key"] for row in await engine.read_rows("message_part")}
    assert engine.stored_blobs() <= unnamed | named, "what no row names is the sweeper's"


async def test_judgement_that_fails_is_tried_again_and_takes_nothing_back(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.expands_parts = False
    await deliver_and_sync(engine, outlook, PLACEHOLDER)
    replace_files(outlook, INVOICE)
    outlook.item_errors["m1"] = Rejected("400")
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"placeholder.txt": "not_a_document"}
    assert (await engine.read_row("parked_item"))["reason"] == "rejected"
    outlook.item_errors.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"invoice.pdf": None}
    assert await engine.read_rows("parked_item") == []


async def test_mail_that_is_gone_when_it_is_to_be_judged_anew_is_no_failure(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.expands_parts = False
    await deliver_and_sync(engine, outlook, PLACEHOLDER)
    replace_files(outlook, INVOICE)
    outlook.item_errors["m1"] = ItemGone("404")
    await engine.complete_run()
    assert await engine.read_rows("parked_item") == []
    assert await read_message(engine) == ("closed", None, 1)


@pytest.mark.parametrize("other", [INVOICE, FORWARDED_INVOICE], ids=["file", "forward with a file"])
async def test_a_forwarded_text_is_opened_once_and_its_mail_has_its_reason_until_a_document_takes_its_place(
    engine: Engine, outlook: FakeOutlook, other: File
) -> None:
    await deliver_and_sync(engine, outlook, FORWARD)
    assert await read_message(engine) == ("closed", "no_parts", 1)
    outlook.calls.clear()
    replace_files(outlook, FORWARD, PLACEHOLDER)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await read_message(engine) == ("closed", None, 2), "its part says it"
    assert await engine.read_skip_reasons() == {"placeholder.txt": "not_a_document"}
    assert outlook.calls["open_part"] == 1
    engine.clock.pass_by(seconds=30)
    replace_files(outlook, other, PLACEHOLDER)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert [event.filename for event in await engine.read_attachments()] == ["invoice.pdf"], "under the same id"
    assert outlook.calls["open_part"] == 2
    assert (await engine.read_row("message"))["empty_parts"] == []
