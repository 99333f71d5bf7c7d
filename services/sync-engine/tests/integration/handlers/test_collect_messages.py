"""What is asked of the provider for a mail, what is stored of it, and what is recorded of the rest."""

from fake_mailbox import PDF, FakeOutlook, File
from sync_harness import Engine

from mailroom_common.events import Profile, SourceFilter

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 100


def logo(**changes: str) -> File:
    return File(
        PNG, "logo.png", "image/png", is_inline=True, disposition=changes.get("disposition"), content_id="logo@s"
    )


async def test_every_part_is_recorded_as_stored_or_skipped_with_its_reason(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver(
        "m1",
        File(filename="invoice.pdf"),
        File(b"hello", "notes.txt", "text/plain"),
        File(b"BEGIN", "invite.ics", "text/calendar"),
        File(b"", "nothing.pdf", "application/pdf"),
        logo(),
    )
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {
        "invoice.pdf": None,
        "notes.txt": "not_a_document",
        "invite.ics": "calendar_or_card",
        "nothing.pdf": "damaged",
        "logo.png": "referenced_by_body",
    }
    assert (await engine.read_row("message"))["state"] == "open"


async def test_a_mail_of_which_nothing_is_collected_is_closed_at_once(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(b"hello", "notes.txt", "text/plain"), subject="Hello", sender_address="a@b.example")
    await engine.complete_run()
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("closed", "no_document_words")
    assert message["closed_at"] is not None
    assert await engine.read_skip_reasons() == {"notes.txt": "not_a_document"}


async def test_parts_are_asked_for_of_a_mail_that_is_said_to_have_none(engine: Engine, outlook: FakeOutlook) -> None:
    """Graph says "no attachments" of a mail whose PDF is inline, as Apple Mail sends it, whatever its subject."""
    await engine.complete_run()
    engine.clock.pass_by(seconds=10)
    nobody = "anna@friend.example"
    outlook.deliver("m1", File(filename="a.pdf", is_inline=True), subject="wie besprochen", sender_address=nobody)
    outlook.deliver("m2", logo(), subject="Re: lunch", sender_address=nobody)
    assert outlook.mails["m1"].summary.has_attachments is False
    outlook.calls.clear()
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"a.pdf": None, "logo.png": "referenced_by_body"}
    assert outlook.calls == {"list": 1, "fetch": 2, "open_part": 1}
    skip_reasons = {row["message_id"]: row["skip_reason"] for row in await engine.read_rows("message")}
    assert skip_reasons == {"m1": None, "m2": "no_document_words"}


async def test_a_card_or_the_headers_of_a_list_take_no_document_from_a_mail(
    engine: Engine, outlook: FakeOutlook
) -> None:
    card = File(b"BEGIN:VCARD", "nord.vcf", "text/vcard")
    outlook.deliver("m1", card, File(filename="4711.pdf"), subject="Hi", headers={"list-unsubscribe": "<x>"})
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"nord.vcf": "calendar_or_card", "4711.pdf": None}


async def test_bytes_of_a_document_are_found_in_a_mail_that_looks_like_nothing(
    engine: Engine, outlook: FakeOutlook
) -> None:
    word = "application/msword"
    files = [File(PDF, "4711.doc", word), File(b"hello", "other.doc", word)]
    outlook.deliver("m1", *files, logo(), subject="Spring!", sender_address="a@b.example", headers={"list-id": "<x>"})
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {
        "4711.doc": None,
        "other.doc": "not_a_document",
        "logo.png": "referenced_by_body",
    }
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("open", None)


async def test_the_pictures_of_a_newsletter_are_not_even_opened(engine: Engine, outlook: FakeOutlook) -> None:
    named, nameless = logo(), File(PNG, None, "image/png", is_inline=True, content_id="x@s")
    outlook.deliver(
        "m1", named, nameless, subject="Spring!", headers={"list-id": "<shop>"}, sender_address="a@b.example"
    )
    await engine.complete_run()
    assert outlook.calls["open_part"] == 0
    assert await engine.read_skip_reasons() == {"logo.png": "referenced_by_body", None: "rejected_mail:newsletter"}
    assert (await engine.read_row("message"))["skip_reason"] == "newsletter"


async def test_a_denied_senders_mail_is_left_and_says_so(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(filter=SourceFilter(sender_deny=["supplier.example"]))
    outlook.deliver("m1", File())
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"invoice.pdf": "rejected_mail:sender_denied"}


async def test_the_body_is_fetched_only_where_it_decides(engine: Engine, outlook: FakeOutlook) -> None:
    shown = File(PNG, "shown.png", "image/png", content_id="shown@s", disposition="attachment")
    attached = File(PNG, "photo.png", "image/png", content_id="photo@s", disposition="attachment")
    outlook.deliver("m1", shown, attached, html='<img src="cid:shown@s">')
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"shown.png": "referenced_by_body", "photo.png": None}
    assert outlook.calls["fetch"] == 2


async def test_what_senders_write_into_headers_can_be_stored(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(filename="in\x00voice.pdf"), subject="Invoice \x00 and \ud800 and 🧾")
    outlook.deliver("m2", File(), subject="Invoice " + "x" * 2_000_000)
    await engine.complete_run()
    subjects = {row["message_id"]: row["subject"] for row in await engine.read_rows("message")}
    assert subjects["m1"] == "Invoice \ufffd and \ufffd and 🧾"
    assert len(subjects["m2"]) == 1000, "a header may be megabytes; a Kafka record may not"
    assert len(await engine.read_attachments()) == 2


async def test_a_strict_source_takes_a_file_when_the_body_has_a_table(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(filter=SourceFilter(strictness="strict"))
    nobody = "anna@friend.example"
    outlook.deliver("m1", File(filename="1.pdf"), subject="Hi", sender_address=nobody, html="<table>")
    outlook.deliver("m2", File(filename="2.pdf"), subject="Hi", sender_address=nobody, html="<p>")
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"1.pdf": None, "2.pdf": "rejected_mail:no_document_words"}


async def test_a_contract_note_source_looks_for_words_of_trades(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.change_source(profile=Profile.CONTRACT_NOTE)
    outlook.deliver(
        "m1", File(filename="a.pdf", is_inline=True), subject="Wertpapierkauf", sender_address="info@bank.example"
    )
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"a.pdf": None}
