"""Rules that read untrusted text take a time in proportion to its length, whatever stands in it.

A regular expression does its steps in C, where nothing counts them. What is asserted is how the processor's time grows:
a text of so many times the length may take twice as many times as long, above a floor that is far beyond any noise.
"""

import asyncio
import gc
import io
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import orjson
import pytest
from code_rules import Module

import ingestion.api.form_file as form_file
import ingestion.domain.archive as archive
import ingestion.domain.export as export
import ingestion.domain.search_words as search_words
import ingestion.domain.supplier_accounts as supplier_accounts
import ingestion.extract.evidence_boxes as evidence_boxes
import ingestion.extract.rule_based as rule_based
import ingestion.extract.template_reading as template_reading
import ingestion.extract.trades.note as note
import ingestion.readers.actual_text as actual_text
import ingestion.readers.einvoice as einvoice
import ingestion.readers.joined_files as joined_files
import ingestion.readers.letter_spacing as letter_spacing
import ingestion.readers.ocr_text as ocr_text
import ingestion.readers.page_pictures as page_pictures
import ingestion.readers.pdf_text as pdf_text
import ingestion.readers.ubl as ubl
import ingestion.readers.xml_elements as xml_elements
import mailroom_common.providers.charsets as charsets
import mailroom_common.providers.headers as headers
import mailroom_common.providers.http as http
import mailroom_common.providers.json_answers as json_answers
import mailroom_common.tracebacks as tracebacks
import mailroom_common.tracing as tracing
import mailroom_common.web as web
import mailroom_gmail.base64url as base64url
import mailroom_gmail.mapping as gmail_mapping
import mailroom_outlook.mapping as outlook_mapping
import sync_engine.domain.content as content
import sync_engine.domain.document_words as document_words
import sync_engine.domain.mail_filter as mail_filter
import sync_engine.domain.parts as parts
import sync_engine.domain.untrusted_text as untrusted_text
import sync_engine.readers.cms as cms
import sync_engine.readers.mime as mime
import webhook_gateway.api.graph_body as graph_body
from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from mailroom_common.errors import MailroomError
from mailroom_common.events import Profile, SourceFilter
from mailroom_common.providers.types import Message, MessageSummary, Part, PartKind
from mailroom_sandbox.testkit.coverage_pause import pause_coverage

ROOT = Path(__file__).parents[2]
LENGTHS = (400, 6_400, 51_200)
FIRST_S, NOISE_S = 0.5, 0.1  # what the shortest may take, and what no growth is seen in

KINDS = {
    "combining marks": "\u0301\u0327",
    "marks on letters": "e\u0301\u0323",
    "blanks": " ",
    "lines": " \n",
    "digits": "1",
    "digits in groups": "1 ",
    "dots": ".",
    "dots between digits": "1.",
    "dashes": "- ",
    "letters": "a",
    "semicolons": ";",
    "cells of blanks": '; "\t',
    "capitals": "DE12",
    "at signs": "a@",
    "open comments": "(a",
    "comments": "(())",
    "open brackets": "<[",
    "quotes": '"\\',
    "encoded words": "=?utf-8?q?a?= ",
    "open encoded words": "=?a?q?",
    "punycode": "=?punycode?q?a-b?= ",
    "content ids": "cid:",
    "paths": "/messages",
    "parameters": ";a=",
}


@dataclass
class Rule:
    """A module with a rule, and how a text comes to it."""

    module: str
    read: Callable[[str], object]


def page_of(text: str) -> Transcript:
    """All text in one cell, and its beginning in a row of long cells and in short lines."""
    pieces = [text[start : start + 1000] for start in range(0, min(len(text), 5000), 1000)]
    rows = [[text], pieces, *([text[start : start + 60]] * 2 for start in range(0, min(len(text), 240), 60))]
    return Transcript(
        "application/pdf",
        1,
        tuple(
            TextLine(
                0, 12.0 * number, 10.0, tuple(TextCell(cell, 90.0 * at, 90.0 * at + 80) for at, cell in enumerate(row))
            )
            for number, row in enumerate(rows)
        ),
    )


def read_page(text: str) -> object:
    file = orjson.dumps(page_of(text).to_json())
    return rule_based.classify_document(io.BytesIO(file), {}), evidence_boxes.extract_invoice(io.BytesIO(file), {})


def read_form(text: str) -> object:
    line = text.replace("\n", " ")

    async def stream() -> AsyncIterator[bytes]:
        yield f"--b\r\nContent-Disposition: form-data; name={line}; filename*0*={line}\r\n\r\n{text}".encode()
        yield f"{text}\r\n--b\r\nContent-Disposition: {line[:8000]}\r\n\r\n{text}\r\n--b--".encode()

    async def read() -> str | None:
        file = await form_file.read_form_file(stream(), b"b")
        return file.filename

    with suppress(form_file.BadForm):
        form_file.find_boundary(f"multipart/form-data; boundary={line}")
    with suppress(form_file.BadForm):
        return asyncio.run(read())
    return None


def read_ubl(text: str) -> object:
    safe = text.replace("&", "").replace("<", "")
    seller = f"<PartyName><Name>{safe}</Name></PartyName><PartyTaxScheme><CompanyID>{safe}</CompanyID>"
    seller += "<TaxScheme><ID>VAT</ID></TaxScheme></PartyTaxScheme>"
    xml = f"""<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID>{safe}</ID>
        <IssueDate>{safe}</IssueDate><AccountingSupplierParty><Party>{seller}</Party></AccountingSupplierParty>
        <PaymentMeans><PayeeFinancialAccount><ID>{safe}</ID></PayeeFinancialAccount></PaymentMeans>
        <LegalMonetaryTotal><PayableAmount>{safe}</PayableAmount></LegalMonetaryTotal></Invoice>"""
    return ubl.parse_ubl_xml(xml.encode())


def read_notes(text: str) -> object:
    """As a page, and as a statement whose every line begins a trade: `16.12 Kauf 1`."""
    rows = [text[start : start + 120] for start in range(0, min(len(text), 3_600), 120)]
    anchored = Transcript.from_rows(["Kontoauszug", *(f"16.12 Kauf {row} 2,00 3,00 6,00" for row in rows)])
    return note.read_note(page_of(text).lines), note.read_note(anchored.lines)


def read_supplier(text: str) -> object:
    return supplier_accounts.find_supplier_account({"supplier_name": text, "vat_id": text, "iban": text})


def learn_layout(text: str) -> object:
    invoice = Invoice(supplier_name=text[:20], invoice_number=text[:2], total_gross=Decimal(1), issue_date=date.min)
    return template_reading.build_template(page_of(text), invoice, "invoice", None)


def read_e_invoice(text: str) -> object:
    safe = text.replace("&", "").replace("<", "")
    party = f"<TradeParty><Name>x {safe} x</Name><SpecifiedTaxRegistration><ID schemeID='VA'>{safe}</ID>"
    party += "</SpecifiedTaxRegistration></TradeParty>"
    agreement = "".join(party.replace("TradeParty", f"{side}TradeParty") for side in ("Seller", "Buyer"))
    xml = f"""<CrossIndustryInvoice><ExchangedDocument><ID>{safe}</ID><TypeCode>{safe}</TypeCode>
        <IssueDateTime>{safe}</IssueDateTime></ExchangedDocument><SupplyChainTradeTransaction>
        <ApplicableHeaderTradeAgreement>{agreement}</ApplicableHeaderTradeAgreement></SupplyChainTradeTransaction>
        </CrossIndustryInvoice>"""
    return einvoice.parse_invoice_xml(xml.encode())


def summary_of(text: str) -> MessageSummary:
    values = dict.fromkeys(("list-id", "precedence", "auto-submitted", "content-type"), text)
    return MessageSummary(message_id="1", subject=text, sender_address=text, sender_name=text, headers=values)


def part_of(text: str, content_id: str | None = None) -> Part:
    return Part(part_path="1", kind=PartKind.FILE, filename=text, content_type=text, content_id=content_id or text)


def judge_part(text: str) -> object:
    pictures = [part_of("a.png", f"{number}") for number in range(50)]
    shown_ids = parts.find_shown_ids(text)
    return (
        parts.skip_reason_by_name(part_of(text)),
        parts.needs_html_body(part_of(text)),
        [parts.skip_reason_by_content(picture, content.ContentKind.PNG, shown_ids=shown_ids) for picture in pictures],
    )


def judge_mail(text: str) -> object:
    summary, rules = summary_of(text), SourceFilter(sender_deny=["a.example"], sender_allow=["b.example"])
    mail_filter.is_bounce(summary)
    mail_filter.is_automated(summary)
    return mail_filter.reject_mail(summary, [part_of(text)], Profile.INVOICE, rules, html=text)


def map_outlook(text: str) -> Message:
    message = {
        "id": "1",
        "subject": text,
        "from": {"emailAddress": {"name": text, "address": text}},
        "receivedDateTime": text,
        "categories": [text],
        "internetMessageHeaders": [{"name": "List-Id", "value": text}],
        "body": {"contentType": "html", "content": text},
    }
    attachment = {"id": text, "name": text, "contentType": text, "size": text, "contentId": text}
    summary, listed = outlook_mapping.build_summary(message), outlook_mapping.build_parts([attachment])
    return Message(summary, listed, outlook_mapping.read_html(message))


def map_gmail(text: str) -> Message:
    named = ("From", "Subject", "Message-ID", "Content-Type", "Content-Disposition", "Content-ID", "List-Id")
    payload = {
        "mimeType": "multipart/mixed",
        "headers": [{"name": name, "value": text} for name in named],
        "parts": [{"mimeType": text, "filename": text, "headers": [{"name": name, "value": text} for name in named]}],
    }
    html = {"headers": [{"name": "Content-Type", "value": "text/html; charset=punycode"}]}
    summary = gmail_mapping.build_summary({"id": "1", "internalDate": text, "historyId": text, "payload": payload})
    body = gmail_mapping.decode_text(html, b"\xff" + text.encode())
    return Message(summary, gmail_mapping.build_parts(payload), body)


def open_mail(text: str) -> object:
    line = text.replace("\n", " ")
    named = f'attachment; filename="{line}"; filename*0*={line}'
    head = (
        f"Subject: {line}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: {line}; name={line}"
    )
    mail = f"{head}\r\nContent-ID: {line}\r\nContent-Disposition: {named}\r\n\r\n{text}\r\n--b--"
    return [(file.filename, file.read(100)) for file in mime.open_message(mail.encode()).files]


def open_signed(text: str) -> object:
    return list(cms.open_smime(f"-----BEGIN {text}-----BEGIN CMS-----{text}".encode(), text).files)


def read_wait(text: str) -> object:
    value = httpx.Headers({"Retry-After": text.replace("\n", " ").encode("ascii", "replace").decode()})
    return http.parse_retry_after_s(value, now=datetime(2026, 11, 28, tzinfo=UTC))


def read_letters(text: str) -> object:
    return ocr_text.build_read_text(((0, 0), (9, 0), (9, 1), (0, 1)), [(letter, 0.9) for letter in text])


RULES = {
    "archive names": Rule("ingestion.domain.archive", archive.sanitize_file_stem),
    "cells of an export": Rule("ingestion.domain.export", export.guard_text),
    "archive senders": Rule("ingestion.domain.archive", archive.encode_sender_address),
    "suppliers": Rule("ingestion.domain.supplier_accounts", read_supplier),
    "search words": Rule("ingestion.domain.search_words", search_words.fold_words),
    "pages": Rule("ingestion.extract", read_page),
    "layouts": Rule("ingestion.extract.template_reading", learn_layout),
    "forms": Rule("ingestion.api.form_file", read_form),
    "notes": Rule("ingestion.extract.trades", read_notes),
    "digits that are said": Rule("ingestion.readers.actual_text", lambda text: actual_text.has_same_digits(text, text)),
    "numbers of e-invoices": Rule("ingestion.readers.xml_elements", xml_elements.parse_number),
    "garbled layers": Rule("ingestion.readers.page_pictures", lambda text: page_pictures.is_garbled(text, 0)),
    "letters that stand apart": Rule(
        "ingestion.readers.letter_spacing",
        lambda text: letter_spacing.find_spaced_letters(text, [0.3] * len(text), [False] * len(text), 0.1),
    ),
    "letters of pictures": Rule("ingestion.readers.ocr_text", read_letters),
    "placeholders": Rule("ingestion.readers.pdf_text", pdf_text.is_placeholder),
    "joined files": Rule(
        "ingestion.readers.joined_files",
        lambda text: joined_files.holds_several_pdfs(io.BytesIO(text.encode("utf-8", "replace"))),
    ),
    "e-invoices": Rule("ingestion.readers.einvoice", read_e_invoice),
    "e-invoices in UBL": Rule("ingestion.readers.ubl", read_ubl),
    "charsets": Rule("mailroom_common.providers.charsets", charsets.find_codec),
    "mistakes of a request": Rule(
        "mailroom_common.web", lambda text: web.describe_mistake({"type": "value_error", "msg": text})
    ),
    "headers": Rule("mailroom_common.providers.headers", headers.decode_words),
    "addresses": Rule("mailroom_common.providers.headers", headers.parse_address),
    "error codes": Rule("mailroom_common.providers.http", http.sanitize_code),
    "waits": Rule("mailroom_common.providers.http", read_wait),
    "JSON": Rule(
        "mailroom_common.providers.json_answers",
        lambda text: json_answers.parse_json(b'["\\ud83d", ' + json.dumps(text).encode() + b"]"),
    ),
    "logged errors": Rule(
        "mailroom_common.tracebacks", lambda text: tracebacks.describe_without_quotes(ValueError(text))
    ),
    "traces": Rule("mailroom_common.tracing", tracing.bind_traceparent),
    "base64": Rule("mailroom_gmail.base64url", lambda text: base64url.decode(text)),
    "Gmail's messages": Rule("mailroom_gmail.mapping", map_gmail),
    "Graph's messages": Rule("mailroom_outlook.mapping", map_outlook),
    "attached mails": Rule("sync_engine.readers.mime", open_mail),
    "signed files": Rule("sync_engine.readers.cms", open_signed),
    "first bytes": Rule("sync_engine.domain.content", lambda text: content.detect_content_kind(text.encode())),
    "words": Rule(
        "sync_engine.domain.document_words", lambda text: document_words.mentions_document(Profile.CONTRACT_NOTE, text)
    ),
    "mails": Rule("sync_engine.domain.mail_filter", judge_mail),
    "parts": Rule("sync_engine.domain.parts", judge_part),
    "file names": Rule("sync_engine.domain.untrusted_text", untrusted_text.clean_filename),
    "pushes": Rule(
        "webhook_gateway.api.graph_body",
        lambda text: graph_body.parse_graph_body(json.dumps({"value": [{"resource": text}]}).encode()),
    ),
}

# What is read there is our own, an operator's, or has a form that was checked before.
NOT_UNTRUSTED = {
    "ingestion.api.supplier_fields",  # an operator's IBAN or tax number of 50 characters
    "ingestion.api.versions",  # a header, by a pattern without repeats
    "ingestion.domain.tax_number_forms",  # the same
    "ingestion.domain.trade_matching",  # 200 characters at most, and an ISIN
    "ingestion.handlers.record_attachment",  # our own events
    "ingestion.readers.pinned_marks",  # names of 60 letters at most
    "mailroom_cli.outside_checks",  # what an operator writes
    "mailroom_cli.replay",  # what an operator writes
    "mailroom_cli.settings",  # settings
    "mailroom_cli.trade_corrections",  # what an operator writes
    "mailroom_cli.terminal",  # one class of characters, each of which is replaced
    "mailroom_common.blobs",  # settings
    "mailroom_common.index_migrations",  # migrations of ours
    "mailroom_common.kafka.codec",  # names of classes
    "mailroom_common.parser.answers",  # one class of characters, 100 at most
    "mailroom_common.transport_security",  # settings
    "mailroom_gmail.errors",  # a provider's error, 64 KB at most, by patterns that begin with a constant
    "mailroom_outlook.errors",  # the same
    "sync_engine.adapters.parser_containers",  # paths of 400 characters at most
    "sync_engine.readers.msg",  # eight digits, of names that the format bounds
    "sync_engine.readers.zip_archive",  # names of 64 KB at most, by a pattern without nested repeats
    "webhook_gateway.adapters.google_public_keys",  # Google's header, by a pattern that begins with a constant
    "webhook_gateway.settings",  # settings
}
_LIBRARIES = {"re", "unicodedata", "email.header", "email.utils", "email.message", "urllib.parse.unquote"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_time_grows_no_faster_than_the_text(rule: str, kind: str) -> None:
    bound_s = FIRST_S
    for length, longer in zip(LENGTHS, (*LENGTHS[1:], 0), strict=True):
        text = (KINDS[kind] * length)[:length]
        taken_s = min_time_s(RULES[rule].read, text, enough_s=bound_s)
        assert taken_s <= bound_s, f"{length} characters take {taken_s:.2f} s"
        bound_s = 2 * longer / length * taken_s + NOISE_S


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("provider", [map_outlook, map_gmail])
def test_no_text_comes_long_out_of_a_mapping(provider: Callable[[str], Message], kind: str) -> None:
    message = provider((KINDS[kind] * LENGTHS[-1])[: LENGTHS[-1]])
    for fields in (asdict(message.summary), *(asdict(part) for part in message.parts)):
        for name, value in fields.items():
            values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
            assert all(len(text) <= 1000 for text in values if isinstance(text, str)), name


def test_every_module_that_takes_texts_apart_is_among_the_rules() -> None:
    known = {rule.module for rule in RULES.values()} | NOT_UNTRUSTED
    found = {module.name for module in list_modules() if _LIBRARIES & module.imported_names}
    missing = {name for name in found if not any(name == module or name.startswith(f"{module}.") for module in known)}
    assert not missing, "add a rule that feeds them, or say here why what they read is not untrusted"


def list_modules() -> Iterator[Module]:
    """Of the product, those that may take a text apart."""
    words = {library.rpartition(".")[2] for library in _LIBRARIES - {"re"}} | {"import re\n"}
    for folder in (*ROOT.glob("libs/*/src"), *ROOT.glob("services/*/src"), ROOT / "cli/src"):
        for file in folder.rglob("*.py"):
            if any(word in file.read_text() for word in words):
                name = ".".join(file.relative_to(folder).with_suffix("").parts)
                yield Module(name.removesuffix(".__init__"), file, file.stem == "__init__")


def min_time_s(read: Callable[[str], object], text: str, *, enough_s: float) -> float:
    """The processor's time of this thread alone, again where it seems too much: the machine may have been busy."""
    taken: list[float] = []
    gc.disable()
    try:
        while not taken or (min(taken) > enough_s and len(taken) < 3):
            started = time.thread_time()
            with pause_coverage(), suppress(MailroomError, ValueError):  # a refusal is an answer
                read(text)
            taken.append(time.thread_time() - started)
    finally:
        gc.enable()
    return min(taken)
