"""The sample mails and the documents in them, each with what Mailroom is expected to make of it."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.header import Header

from sandbox.mails import einvoices, pages, scans
from sandbox.mails.invoices import CONSULTANT, DUTCH, ENGLISH, FRENCH, GERMAN, SCANNED, Invoice
from sandbox.mails.wrappers import (
    CRLF,
    multipart,
    text_part,
    with_password,
)

Expected = dict[str, object]
_FIRST = datetime(2026, 11, 10, 7, 30, tzinfo=UTC)


class Documents:
    """The files inside the mails, each made once, with what a reader must find in it."""

    def __init__(self) -> None:
        self.french = einvoices.einvoice_pdf(FRENCH, "en16931")
        self.german = einvoices.einvoice_pdf(GERMAN, "basic")
        self.english = pages.invoice_pdf(ENGLISH)
        self.english_copy = pages.invoice_pdf(ENGLISH, note="Copy")
        self.dutch = pages.invoice_pdf(DUTCH)
        self.consultant = pages.invoice_pdf(CONSULTANT)
        self.contract_note = pages.contract_note_pdf()
        self.locked = with_password(self.english, "mailroom")
        self.png, self.jpeg, self.tiff = scans.png(SCANNED), scans.jpeg(SCANNED), scans.tiff(SCANNED)
        self.logo = scans.logo()
        self._known: dict[bytes, tuple[str, Expected]] = {
            self.french: self._invoice("french", FRENCH, embedded_xml=True),
            self.german: self._invoice("german", GERMAN, embedded_xml=True),
            self.english: self._invoice("english", ENGLISH),
            self.english_copy: self._invoice("english-copy", ENGLISH),
            self.dutch: self._invoice("dutch", DUTCH),
            self.consultant: self._invoice("consultant", CONSULTANT),
            self.contract_note: ("contract-note", {"document_type": "contract_note", "readable": True}),
            self.locked: ("locked", {"document_type": None, "readable": False, "why": "needs a password"}),
            **{
                content: (name, {"document_type": "invoice", "readable": False, "why": "a picture: needs OCR"})
                for name, content in (("scan-png", self.png), ("scan-jpeg", self.jpeg), ("scan-tiff", self.tiff))
            },
        }

    def get_name(self, content: bytes) -> str:
        return self._known[content][0]

    def expected(self) -> dict[str, Expected]:
        return {
            name: {**facts, "sha256": _sha256(content), "size_bytes": len(content)}
            for content, (name, facts) in self._known.items()
        }

    def _invoice(self, name: str, invoice: Invoice, *, embedded_xml: bool = False) -> tuple[str, Expected]:
        facts = {"document_type": "invoice", "readable": True, "embedded_xml": embedded_xml, **invoice.expected()}
        return name, facts


class Mails:
    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.sources: dict[str, bytes] = {}
        self.expected: dict[str, Expected] = {}

    def add(
        self,
        name: str,
        shape: str,
        subject: str,
        entity: str,
        parts: Sequence[Expected],
        *more: str,
        sender: str = "Billing <billing@northgate.example>",
    ) -> None:
        sent = _FIRST + timedelta(minutes=97 * len(self.sources))
        domain = sender.rpartition("@")[2].rstrip(">")
        queue_id = hashlib.sha256(name.encode()).hexdigest()[:12]
        arrived = _format_date(sent + timedelta(seconds=4))
        head = [
            f"Return-Path: <bounce@{domain}>",
            f"Received: from mail.{domain} ([192.0.2.25]) by mx.mailroom.example id {queue_id};{CRLF}\t{arrived}",
            f"From: {sender}",
            "To: Accounts Payable <ap@mailroom.example>",
            f"Subject: {_encode_subject(subject)}",
            f"Date: {_format_date(sent)}",
            f"Message-ID: <{sent.strftime('%Y%m%d%H%M%S')}.{name}@{domain}>",
            "MIME-Version: 1.0",
            *more,
        ]
        self.sources[f"{name}.eml"] = (CRLF.join(head) + CRLF + entity).encode("ascii")
        is_any_stored = any(one["take"] for one in parts)
        outcome = "process" if is_any_stored else "skip"
        self.expected[f"{name}.eml"] = {"shape": shape, "outcome": outcome, "parts": list(parts)}

    def expect_stored(self, filename: str | None, content: bytes, **more: object) -> Expected:
        kind = {b"%PD": "pdf", b"\x89PN": "png", b"\xff\xd8\xff": "jpeg"}.get(content[:3], "tiff")
        facts: Expected = {"filename": filename, "content": kind, "take": True, "size_bytes": len(content)}
        return facts | {"sha256": _sha256(content), "document": self.documents.get_name(content), **more}


def expect_skipped(filename: str | None, reason: str, kind: str, **more: object) -> Expected:
    return {"filename": filename, "content": kind, "take": False, "reason": reason, **more}


def mixed(*parts: str) -> str:
    return multipart("mixed", "=_outer_0001", parts)


def with_text(*parts: str, text: str = "Please find the document attached.\n\nKind regards") -> str:
    return mixed(text_part(text), *parts)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _format_date(moment: datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S +0000")


def _encode_subject(subject: str) -> str:
    return subject if subject.isascii() else Header(subject, "utf-8").encode()
