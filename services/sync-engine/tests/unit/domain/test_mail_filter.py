"""Which mails may carry a document: in doubt, all."""

from dataclasses import replace

import pytest

from mailroom_common.events import Profile, SourceFilter
from mailroom_common.providers.types import OMITTED_PARTS, MessageSummary, Part, PartKind
from sync_engine.domain.document_words import mentions_document
from sync_engine.domain.mail_filter import (
    MailRejection,
    is_automated,
    is_bounce,
    is_newsletter,
    is_sender_listed,
    lets_bytes_decide,
    needs_html_to_judge,
    reject_mail,
)
from sync_engine.domain.parts import MAX_PART_BYTES

LENIENT, STRICT = SourceFilter(), SourceFilter(strictness="strict")
PDF = Part(part_path="1", kind=PartKind.FILE, filename="4711.pdf", content_type="application/pdf")
NAMED_PDF = Part(part_path="1", kind=PartKind.FILE, filename="Rechnung 4711.pdf", content_type="application/pdf")
CALENDAR = Part(part_path="2", kind=PartKind.FILE, filename="invite.ics", content_type="text/calendar")
CARD = Part(part_path="4", kind=PartKind.FILE, filename="nord.vcf", content_type="text/vcard")
SCAN = Part(part_path="5", kind=PartKind.FILE, filename="scan.png", content_type="image/png")
LOGO = Part(part_path="6", kind=PartKind.FILE, filename="logo.png", content_type="image/png", is_inline=True)
RETURNED_MAIL = Part(part_path="7", kind=PartKind.MESSAGE, filename=None, content_type="message/rfc822")
TEXT = Part(part_path="3", kind=PartKind.FILE, filename="notes.txt", content_type="text/plain")
BULK = {"list-unsubscribe": "<mailto:leave@shop.example>", "precedence": "bulk"}


def mail(subject: str | None = "Hello", sender: str = "anna@friend.example", **headers: str) -> MessageSummary:
    return MessageSummary(
        message_id="m",
        subject=subject,
        sender_address=sender,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def bulk(subject: str) -> MessageSummary:
    return MessageSummary(message_id="m", subject=subject, sender_address="news@shop.example", headers=BULK)


def judge(summary: MessageSummary, *parts: Part, rules: SourceFilter = LENIENT, html: str = "") -> MailRejection | None:
    return reject_mail(summary, parts, Profile.INVOICE, rules, html=html)


def test_a_file_that_may_be_a_document_lets_a_mail_in_whatever_it_says() -> None:
    assert judge(mail(None), PDF) is None


def test_a_mail_with_neither_words_nor_files_is_rejected() -> None:
    assert judge(mail("Lunch?")) is MailRejection.NO_DOCUMENT_WORDS
    assert judge(mail("Lunch?"), TEXT) is MailRejection.NO_DOCUMENT_WORDS


@pytest.mark.parametrize("summary", [mail("Your invoice"), mail("Hello", "billing@supplier.example")])
def test_words_in_subject_or_sender_let_a_mail_in(summary: MessageSummary) -> None:
    assert judge(summary) is None


@pytest.mark.parametrize(
    "summary",
    [
        bulk("Spring catalogue"),
        mail("as discussed", list_id="<accounting.firma.example>", list_post="<mailto:x>", precedence="list"),
        mail("Undelivered Mail Returned to Sender", "MAILER-DAEMON@mx.example"),
        mail("Mail delivery service: invoice 4711", "postmaster@nord.example"),
        mail("Whatever", content_type="multipart/report; report-type=delivery-status"),
    ],
)
@pytest.mark.parametrize("beside", [(), (CALENDAR,), (CARD,)])
def test_a_mail_with_a_part_that_may_be_a_document_is_never_rejected_for_its_looks(
    summary: MessageSummary, beside: tuple[Part, ...]
) -> None:
    assert judge(summary, *beside, PDF) is None
    assert judge(summary, *beside, SCAN) is None


@pytest.mark.parametrize(
    "part",
    [
        replace(PDF, size_bytes=2 * MAX_PART_BYTES),
        replace(PDF, kind=PartKind.UNAVAILABLE),
        OMITTED_PARTS,
    ],
)
def test_a_file_that_nobody_can_look_into_may_be_a_document(part: Part) -> None:
    assert judge(mail("Hello"), part) is None
    assert judge(bulk("Spring catalogue"), part) is None


def test_a_mail_that_is_returned_stays_one_however_large_it_is() -> None:
    returned = replace(RETURNED_MAIL, size_bytes=4 * MAX_PART_BYTES)
    assert judge(mail("Undelivered", "MAILER-DAEMON@mx.example"), returned) is MailRejection.BOUNCE


def test_an_inline_picture_saves_no_newsletter() -> None:
    assert judge(bulk("Spring catalogue"), LOGO) is MailRejection.NEWSLETTER
    assert judge(bulk("Spring catalogue"), TEXT) is MailRejection.NEWSLETTER


def test_bulk_mail_that_speaks_of_a_document_is_no_newsletter() -> None:
    assert judge(bulk("Ihre Rechnung"), PDF) is None
    assert judge(bulk("Your parcel"), NAMED_PDF) is None


def test_an_invitation_is_rejected_unless_it_speaks_of_a_document_or_has_one() -> None:
    assert judge(mail("Meeting"), CALENDAR) is MailRejection.INVITATION
    assert judge(mail("Meeting"), CALENDAR, PDF) is None
    assert judge(mail("Booking and receipt"), CALENDAR) is None


@pytest.mark.parametrize(
    "summary",
    [
        mail("Undelivered Mail Returned to Sender", "MAILER-DAEMON@mx.example"),
        mail("Undeliverable: Invoice 7", "MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@acme.example"),
        mail("Unzustellbar: Rechnung", "postmaster@acme.example"),
        mail("Whatever", content_type='multipart/report; report-type="delivery-status"; boundary=x'),
    ],
)
def test_a_bounce_is_rejected_whatever_it_says(summary: MessageSummary) -> None:
    assert judge(summary) is judge(summary, RETURNED_MAIL) is MailRejection.BOUNCE
    assert is_automated(summary)


@pytest.mark.parametrize(
    "sender",
    [
        "billing@stockexchange20261128.example",
        "stockexchange20261128@broker.example",
        "billing@stockexchange329e71ec88ae4615bbc36ab6ce41109e.example",
    ],
)
def test_an_exchange_with_digits_in_its_name_sends_no_bounces(sender: str) -> None:
    assert judge(mail("Invoice 7", sender), NAMED_PDF) is None


@pytest.mark.parametrize("sender", ["rechnung@mail-delivery.nord.example", "billing@mailerdaemon.example"])
def test_a_domain_that_is_named_like_a_mail_daemon_sends_no_bounces(sender: str) -> None:
    assert not is_bounce(mail("Rechnung 4711", sender))


def test_a_postmaster_may_write_as_well() -> None:
    assert not is_bounce(mail("Invoice for hosting", "postmaster@hoster.example"))


def test_a_denied_sender_is_rejected_and_an_allowed_one_never() -> None:
    rules = SourceFilter(sender_deny=["friend.example"], sender_allow=["news@shop.example"])
    assert judge(mail("Invoice"), PDF, rules=rules) is MailRejection.SENDER_DENIED
    assert judge(bulk("Spring catalogue"), PDF, rules=rules) is None


def test_a_strict_source_wants_words_or_a_table() -> None:
    assert judge(mail("Hello"), PDF, rules=STRICT) is MailRejection.NO_DOCUMENT_WORDS
    assert judge(mail("Hello"), PDF, rules=STRICT, html="<p><TABLE border=1>") is None
    assert judge(mail("Hello"), NAMED_PDF, rules=STRICT) is None


def test_the_body_is_asked_for_only_where_a_table_decides() -> None:
    assert needs_html_to_judge(mail("Hello"), [PDF], Profile.INVOICE, STRICT)
    assert not needs_html_to_judge(mail("Invoice"), [PDF], Profile.INVOICE, STRICT)
    assert not needs_html_to_judge(mail("Hello"), [PDF], Profile.INVOICE, LENIENT)


def test_bytes_decide_in_a_rejected_mail_unless_the_operator_left_it_out() -> None:
    assert lets_bytes_decide(MailRejection.NO_DOCUMENT_WORDS, LENIENT)
    assert not lets_bytes_decide(MailRejection.SENDER_DENIED, LENIENT)
    assert not lets_bytes_decide(MailRejection.NO_DOCUMENT_WORDS, STRICT)


def test_a_strict_source_judges_by_words_and_not_by_looks_either() -> None:
    assert judge(bulk("Ihre Rechnung"), PDF, rules=STRICT) is None
    assert judge(bulk("Spring catalogue"), PDF, rules=STRICT) is MailRejection.NO_DOCUMENT_WORDS


@pytest.mark.parametrize(
    "text",
    """
    Invoice|Your receipt|Stromrechnung März|Facture n°12|Reçu|Fattura|Factura|Recibo|Fatura|Faktúra|Rachunek|Factuur
    Kvittering|Lasku|Számla|Τιμολόγιο|Счёт на оплату|Рахунок|請求書|领收 发票|청구서|חשבונית|فاتورة|Hóa đơn
    INV-2026_7|2026_Rechnung_7.pdf|RG 4711|bill
    """.strip()
    .replace("\n", "|")
    .split("|"),
)
def test_documents_are_spoken_of_in_many_languages(text: str) -> None:
    assert mentions_document(Profile.INVOICE, text)


@pytest.mark.parametrize("text", ["Re: lunch", "harvest festival", "invited", "Billy", "border", "", None])
def test_other_words_are_not(text: str | None) -> None:
    assert not mentions_document(Profile.INVOICE, text)


def test_trades_are_spoken_of_to_a_contract_note_source_only() -> None:
    assert mentions_document(Profile.CONTRACT_NOTE, "Wertpapierkauf")
    assert not mentions_document(Profile.INVOICE, "Wertpapierkauf")


@pytest.mark.parametrize(
    ("entry", "matches"),
    [
        ("anna@friend.example", True),
        ("ANNA@Friend.example", True),
        ("friend.example", True),
        ("@friend.example", True),
        ("example", True),  # a domain's subdomains are its own
        ("end.example", False),
        ("bob@friend.example", False),
        ("", False),
    ],
)
def test_senders_are_listed_by_address_or_domain(entry: str, matches: bool) -> None:
    assert is_sender_listed(mail(), [entry]) is matches


@pytest.mark.parametrize(
    ("headers", "newsletter", "automated"),
    [
        ({"list-id": "<x>"}, True, False),
        ({"precedence": "Bulk"}, True, False),
        ({"auto-submitted": "auto-generated"}, False, True),
        ({"auto-submitted": "no"}, False, False),
        ({"x-auto-response-suppress": "DR, OOF, AutoReply"}, False, True),
        ({"x-auto-response-suppress": "All"}, False, True),
        ({"x-auto-response-suppress": " None "}, False, False),
        ({"x-auto-response-suppress": ""}, False, False),
        ({}, False, False),
    ],
)
def test_headers_tell_newsletters_and_machines(headers: dict[str, str], newsletter: bool, automated: bool) -> None:
    summary = MessageSummary(message_id="m", sender_address="a@b.example", headers=headers)
    assert (is_newsletter(summary), is_automated(summary)) == (newsletter, automated)
