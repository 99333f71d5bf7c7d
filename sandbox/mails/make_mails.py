"""Writes the sample mails and expected.json beside this file: `python -m sandbox.mails.make_mails`.

The same libraries give the same bytes, so a changed file is a meant change.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.header import Header
from pathlib import Path
from urllib.parse import quote

from sandbox.mails import einvoices, pages, scans
from sandbox.mails.invoices import CONSULTANT, DUTCH, ENGLISH, FRENCH, GERMAN, SCANNED, Invoice
from sandbox.mails.wrappers import (
    CRLF,
    applefile,
    base64_lines,
    file_part,
    html_part,
    multipart,
    named,
    part,
    signed_detached,
    signed_opaque,
    text_part,
    tnef,
    with_password,
    zipped,
)

Expected = dict[str, object]

_FIRST = datetime(2026, 11, 10, 7, 30, tzinfo=UTC)
_PDF = "application/pdf"
_SIGNED = 'protocol="application/pkcs7-signature"', "micalg=sha-256"


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

    def name_of(self, content: bytes) -> str:
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
        arrived = _written(sent + timedelta(seconds=4))
        head = [
            f"Return-Path: <bounce@{domain}>",
            f"Received: from mail.{domain} ([192.0.2.25]) by mx.mailroom.example id {queue_id};{CRLF}\t{arrived}",
            f"From: {sender}",
            "To: Accounts Payable <ap@mailroom.example>",
            f"Subject: {_encoded(subject)}",
            f"Date: {_written(sent)}",
            f"Message-ID: <{sent.strftime('%Y%m%d%H%M%S')}.{name}@{domain}>",
            "MIME-Version: 1.0",
            *more,
        ]
        self.sources[f"{name}.eml"] = (CRLF.join(head) + CRLF + entity).encode("ascii")
        taken = any(one["take"] for one in parts)
        outcome = "process" if taken else "skip"
        self.expected[f"{name}.eml"] = {"shape": shape, "outcome": outcome, "parts": list(parts)}

    def taken(self, filename: str | None, content: bytes, **more: object) -> Expected:
        kind = {b"%PD": "pdf", b"\x89PN": "png", b"\xff\xd8\xff": "jpeg"}.get(content[:3], "tiff")
        facts: Expected = {"filename": filename, "content": kind, "take": True, "size_bytes": len(content)}
        return facts | {"sha256": _sha256(content), "document": self.documents.name_of(content), **more}


def left(filename: str | None, reason: str, kind: str, **more: object) -> Expected:
    return {"filename": filename, "content": kind, "take": False, "reason": reason, **more}


def mixed(*parts: str) -> str:
    return multipart("mixed", "=_outer_0001", parts)


def with_text(*parts: str, text: str = "Please find the document attached.\n\nKind regards") -> str:
    return mixed(text_part(text), *parts)


def add_plain_shapes(m: Mails) -> None:
    """How an ordinary attachment is declared."""
    d = m.documents
    rivelaine = "Imprimerie Rivelaine <compta@rivelaine.example>"
    holm = "Tischlerei Holm & Soehne <buchhaltung@holm-soehne.example>"
    m.add(
        "attached-pdf",
        "PDF attached as it should be",
        "Factuur 2026-3391",
        with_text(file_part(d.dutch, f'{_PDF}; name="factuur-2026-3391.pdf"', named("factuur-2026-3391.pdf"))),
        [m.taken("factuur-2026-3391.pdf", d.dutch)],
        sender="Van der Molen Techniek <administratie@vandermolen.example>",
    )
    m.add(
        "inline-pdf",
        "PDF with disposition inline, as Apple Mail sends it",
        "Facture FA-2026-0117",
        with_text(file_part(d.french, f"{_PDF}; name=facture.pdf", "inline; filename=facture.pdf")),
        [m.taken("facture.pdf", d.french)],
        sender=rivelaine,
    )
    m.add(
        "same-pdf-again",
        "the PDF of inline-pdf in a reminder",
        "Rappel : facture FA-2026-0117",
        with_text(file_part(d.french, _PDF, named("rappel.pdf")), text="Un rappel amical.\n"),
        [m.taken("rappel.pdf", d.french, same_bytes_as="inline-pdf.eml")],
        sender=rivelaine,
    )
    m.add(
        "same-pdf-twice",
        "one PDF attached twice under two names",
        "Invoice NOS-48213, twice",
        with_text(
            file_part(d.english, _PDF, named("invoice.pdf")), file_part(d.english, _PDF, named("invoice (1).pdf"))
        ),
        [m.taken("invoice.pdf", d.english), m.taken("invoice (1).pdf", d.english)],
    )
    m.add(
        "same-invoice-other-bytes",
        "the invoice of same-pdf-twice as another file",
        "Copy of invoice NOS-48213",
        with_text(file_part(d.english_copy, _PDF, named("copy.pdf"))),
        [m.taken("copy.pdf", d.english_copy, same_invoice_as="same-pdf-twice.eml")],
    )
    m.add(
        "octet-stream",
        "PDF declared as application/octet-stream, name in capitals",
        "RECHNUNG RE-20261002-88",
        with_text(file_part(d.german, "application/octet-stream", named("RECHNUNG.PDF"))),
        [m.taken("RECHNUNG.PDF", d.german)],
        sender=holm,
    )
    m.add(
        "other-extension",
        "PDF named .dat",
        "Scan from reception",
        with_text(file_part(d.consultant, "application/octet-stream", named("scan0001.dat"))),
        [m.taken("scan0001.dat", d.consultant)],
        sender="Harbor Light Consulting <office@harborlight.example>",
    )
    m.add(
        "text-named-pdf",
        "plain text named .pdf",
        "Invoice",
        with_text(file_part(b"This is not a PDF.\r\n", _PDF, named("invoice.pdf"))),
        [left("invoice.pdf", "not_a_document", "text")],
    )
    m.add(
        "three-kinds",
        "PDF, JPEG and a TIFF of three pages",
        "Documents of November",
        with_text(
            file_part(d.consultant, _PDF, named("invoice.pdf")),
            file_part(d.jpeg, "image/jpeg", named("photo.jpg")),
            file_part(d.tiff, "image/tiff", named("fax.tif")),
        ),
        [m.taken("invoice.pdf", d.consultant), m.taken("photo.jpg", d.jpeg), m.taken("fax.tif", d.tiff)],
        sender="Reception <reception@mailroom.example>",
    )
    m.add(
        "picture-only",
        "the whole mail is one scanned page, without any text",
        "Invoice CK 0711",
        file_part(d.png, 'image/png; name="scan.png"', named("scan.png")),
        [m.taken("scan.png", d.png)],
        sender="Copper Kettle Catering <hello@copperkettle.example>",
    )
    m.add(
        "contract-note",
        "a bank's note of a purchase",
        "Wertpapierabrechnung",
        with_text(file_part(d.contract_note, _PDF, named("abrechnung.pdf"))),
        [m.taken("abrechnung.pdf", d.contract_note)],
        sender="Handelsbank Nordlicht <post@nordlicht.example>",
    )
    m.add(
        "encrypted-pdf",
        "PDF that needs a password (it is: mailroom)",
        "Invoice NOS-48213, protected",
        with_text(file_part(d.locked, _PDF, named("invoice.pdf")), text="The password comes separately.\n"),
        [m.taken("invoice.pdf", d.locked, opens=False)],
    )


def add_names(m: Mails) -> None:
    """How an attachment is called."""
    d = m.documents
    m.add(
        "no-name",
        "attachment without a name",
        "Rechnung",
        with_text(file_part(d.german, _PDF, "attachment")),
        [m.taken(None, d.german)],
    )
    long_name = "Facture n° 117 – pièce jointe de l’été, réf. Ünïcode.pdf"
    coded = quote(long_name, safe="")
    pieces = [coded[index : index + 60] for index in range(0, len(coded), 60)]
    numbered = "".join(
        f";{CRLF}\tfilename*{index}*={chr(39).join(('utf-8', '', '')) if index == 0 else ''}{piece}"
        for index, piece in enumerate(pieces)
    )
    m.add(
        "name-rfc2231-continued",
        "name in RFC 2231 pieces",
        "Facture",
        with_text(file_part(d.french, _PDF, "attachment" + numbered)),
        [m.taken(long_name, d.french)],
    )
    odd_name = "Rechnung Nr. 88 für Oktober – Prüfung.pdf"
    word = Header(odd_name, "utf-8", maxlinelen=10_000).encode()
    m.add(
        "name-rfc2047-in-parameter",
        "encoded word inside the quoted parameter, which no standard allows and many write",
        "Rechnung",
        with_text(file_part(d.german, f'{_PDF}; name="{word}"', named(word))),
        [m.taken(odd_name, d.german)],
    )
    m.add(
        "names-disagree",
        "name and filename* differ; filename* counts",
        "Invoice",
        with_text(
            file_part(d.english, f'{_PDF}; name="document.pdf"', "attachment; filename*=utf-8''invoice%2048213.pdf")
        ),
        [m.taken("invoice 48213.pdf", d.english)],
    )
    m.add(
        "name-with-path",
        "names that are paths: keep the last piece, never use it to open a file",
        "Invoices",
        with_text(
            file_part(d.english, _PDF, named("../../etc/invoice.pdf")),
            file_part(d.dutch, _PDF, named("C:\\\\Temp\\\\factuur.pdf")),
        ),
        [
            m.taken("invoice.pdf", d.english, raw_filename="../../etc/invoice.pdf"),
            m.taken("factuur.pdf", d.dutch, raw_filename="C:\\Temp\\factuur.pdf"),
        ],
    )


def add_pictures(m: Mails) -> None:
    """What only decorates a mail, beside what does not."""
    d = m.documents
    table = "<table><tr><td>Total due</td><td>1,055.28 GBP</td></tr></table>"
    page = f'<html><body><img src="cid:logo@northgate.example">{table}</body></html>'
    logo = file_part(d.logo, 'image/png; name="logo.png"', None, "Content-ID: <logo@northgate.example>")
    m.add(
        "logo-and-invoice",
        "picture referred to by cid without a disposition, beside a PDF",
        "Invoice NOS-48213",
        mixed(
            multipart("related", "=_inner_0001", [html_part(page), logo]),
            file_part(d.english, _PDF, named("invoice.pdf")),
        ),
        [left("logo.png", "referenced_by_body", "png"), m.taken("invoice.pdf", d.english)],
    )
    m.add(
        "inline-picture",
        "picture with disposition inline that no body refers to, beside a PDF",
        "Factuur 2026-3391",
        with_text(
            file_part(d.logo, "image/png", 'inline; filename="handtekening.png"'),
            file_part(d.dutch, _PDF, named("factuur.pdf")),
        ),
        [left("handtekening.png", "inline_picture", "png"), m.taken("factuur.pdf", d.dutch)],
    )
    m.add(
        "invoice-with-content-id",
        "ordinary attachment that carries a Content-ID",
        "Invoice NOS-48213",
        with_text(file_part(d.english, _PDF, named("invoice.pdf"), "Content-ID: <f_1@northgate.example>")),
        [m.taken("invoice.pdf", d.english)],
    )
    banner = '<html><body><img src="cid:banner@shop.example"><p>Save 20 % this week.</p></body></html>'
    m.add(
        "newsletter",
        "advertisement with a picture, nothing to file",
        "Save 20 % this week",
        multipart(
            "related",
            "=_news_0001",
            [
                html_part(banner),
                file_part(d.logo, "image/png", 'inline; filename="banner.png"', "Content-ID: <banner@shop.example>"),
            ],
        ),
        # Said to be inline *and* shown by the body: its disposition is looked at first.
        [left("banner.png", "inline_picture", "png")],
        "List-Unsubscribe: <mailto:leave@shop.example>",
        "Precedence: bulk",
        sender="Shop News <news@shop.example>",
    )
    m.add(
        "empty-attachment",
        "a file of no bytes beside a PDF",
        "Facture FA-2026-0117",
        with_text(file_part(b"", _PDF, named("vide.pdf")), file_part(d.french, _PDF, named("facture.pdf"))),
        [left("vide.pdf", "empty", "empty"), m.taken("facture.pdf", d.french)],
    )


def add_containers(m: Mails) -> None:
    """Documents that have to be unwrapped first."""
    d = m.documents
    inner = with_text(file_part(d.french, _PDF, named("facture.pdf")))
    head = CRLF.join(
        [
            "From: Someone <someone@partner.example>",
            "To: Billing <billing@northgate.example>",
            "Subject: {subject}",
            "Date: Mon, 09 Nov 2026 16:20:00 +0000",
            "Message-ID: <{key}@partner.example>",
            "MIME-Version: 1.0",
            "",
        ]
    )
    original = head.format(subject="Facture", key="level-0") + inner
    forwarded = part(
        ['Content-Type: message/rfc822; name="Facture.eml"', 'Content-Disposition: attachment; filename="Facture.eml"'],
        original,
    )
    inside = m.taken("facture.pdf", d.french, via=["message"])
    m.add(
        "forwarded",
        "PDF in a forwarded message",
        "Fwd: Facture",
        multipart("mixed", "=_fwd_1", [text_part("See below.\n"), forwarded]),
        [inside],
    )
    nested = original
    for level in range(1, 4):
        wrapped = multipart(
            "mixed", f"=_fwd_{level}", [text_part("See below.\n"), part(["Content-Type: message/rfc822"], nested)]
        )
        nested = head.format(subject="Fwd: " * level + "Facture", key=f"level-{level}") + wrapped
    deep = m.taken("facture.pdf", d.french, via=["message"] * 4)
    m.add(
        "forwarded-four-deep",
        "PDF under four forwards",
        "Fwd: Fwd: Fwd: Fwd: Facture",
        multipart("mixed", "=_fwd_4", [text_part("See below.\n"), part(["Content-Type: message/rfc822"], nested)]),
        [deep],
    )
    signature = file_part(
        signed_detached(inner.encode("ascii")), 'application/pkcs7-signature; name="smime.p7s"', named("smime.p7s")
    )
    m.add(
        "smime-signed",
        "multipart/signed with a PDF in the signed part",
        "Facture FA-2026-0117",
        multipart("signed", "=_signed_1", [inner, signature], *_SIGNED),
        [m.taken("facture.pdf", d.french), left("smime.p7s", "signature", "der")],
        sender="Imprimerie Rivelaine <billing@rivelaine.example>",
    )
    opaque = signed_opaque(inner.encode("ascii"))
    m.add(
        "smime-opaque",
        "the whole mail inside an S/MIME signed-data blob",
        "Facture FA-2026-0117",
        file_part(opaque, 'application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"', named("smime.p7m")),
        [m.taken("facture.pdf", d.french, via=["smime"])],
        sender="Imprimerie Rivelaine <billing@rivelaine.example>",
    )
    bag = tnef("rechnung.pdf", d.german)
    m.add(
        "winmail",
        "PDF in a winmail.dat",
        "Rechnung RE-20261002-88",
        with_text(file_part(bag, 'application/ms-tnef; name="winmail.dat"', named("winmail.dat"))),
        [m.taken("rechnung.pdf", d.german, via=["tnef"])],
    )
    archive = zipped([("2026/invoice.pdf", d.english), ("factuur.pdf", d.dutch), ("readme.txt", b"Two invoices.\r\n")])
    holds = [
        m.taken("invoice.pdf", d.english, via=["zip"], raw_filename="2026/invoice.pdf"),
        m.taken("factuur.pdf", d.dutch, via=["zip"]),
        left("readme.txt", "not_a_document", "text", via=["zip"]),
    ]
    m.add(
        "zip",
        "zip with two PDFs and a text",
        "Invoices of October",
        with_text(file_part(archive, "application/zip", named("invoices.zip"))),
        holds,
    )
    pair = multipart(
        "appledouble",
        "=_double_1",
        [
            file_part(applefile(), 'application/applefile; name="invoice.pdf"', named("invoice.pdf")),
            file_part(d.english, f'{_PDF}; name="invoice.pdf"', named("invoice.pdf")),
        ],
    )
    m.add(
        "appledouble",
        "appledouble pair: the resource fork is no document",
        "Invoice NOS-48213",
        with_text(pair),
        [left("invoice.pdf", "not_a_document", "other"), m.taken("invoice.pdf", d.english)],
    )


def add_without_documents(m: Mails) -> None:
    calendar = CRLF.join(
        [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//northgate.example//EN",
            "METHOD:REQUEST",
            "BEGIN:VEVENT",
            "UID:1@northgate.example",
            "DTSTAMP:20261112T090000Z",
            "DTSTART:20261120T090000Z",
            "SUMMARY:Invoice review",
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        ]
    )
    card = CRLF.join(["BEGIN:VCARD", "VERSION:3.0", "FN:Billing", "EMAIL:billing@northgate.example", "END:VCARD", ""])
    m.add(
        "invitation",
        "calendar entry and visiting card, an invoice word in the subject",
        "Invitation: invoice review",
        with_text(
            part(
                [
                    "Content-Type: text/calendar; method=REQUEST; charset=utf-8",
                    f"Content-Disposition: {named('invite.ics')}",
                ],
                calendar,
            ),
            part(["Content-Type: text/vcard; charset=utf-8", f"Content-Disposition: {named('billing.vcf')}"], card),
        ),
        [left("invite.ics", "calendar_or_card", "ics"), left("billing.vcf", "calendar_or_card", "vcf")],
    )
    m.add(
        "partial",
        "first third of a message/partial",
        "Invoice (1/3)",
        'Content-Type: message/partial; id="whole-1@northgate.example"; number=1; total=3'
        + CRLF * 2
        + CRLF.join(
            ["Subject: Invoice", "MIME-Version: 1.0", f"Content-Type: {_PDF}", "Content-Transfer-Encoding: base64"]
        )
        + CRLF * 2
        + base64_lines(m.documents.english[:900])
        + CRLF,
        [],
    )
    m.add(
        "no-attachment",
        "a plain question, nothing attached",
        "When will invoice NOS-48213 be paid?",
        text_part(
            "Hello,\n\nthe invoice is open since October. Could you tell us when it will be paid?\n\nBest wishes"
        ),
        [],
    )
    report = part(
        ["Content-Type: message/delivery-status"],
        CRLF.join(
            [
                "Reporting-MTA: dns; mx.mailroom.example",
                "",
                "Final-Recipient: rfc822; nobody@northgate.example",
                "Action: failed",
                "Status: 5.1.1",
                "",
            ]
        ),
    )
    m.add(
        "bounce",
        "a delivery failure",
        "Undelivered Mail Returned to Sender",
        multipart(
            "report",
            "=_report_1",
            [text_part("Your message could not be delivered.\n"), report],
            "report-type=delivery-status",
        ),
        [],
        "Auto-Submitted: auto-replied",
        sender="Mail Delivery System <mailer-daemon@mx.mailroom.example>",
    )


GROUPS: tuple[Callable[[Mails], None], ...] = (
    add_plain_shapes,
    add_names,
    add_pictures,
    add_containers,
    add_without_documents,
)


def make() -> dict[str, bytes]:
    """Every file by name."""
    documents = Documents()
    mails = Mails(documents)
    for add in GROUPS:
        add(mails)
    expected = {"mails": mails.expected, "documents": mails.documents.expected()}
    text = json.dumps(expected, ensure_ascii=False, indent=1) + "\n"
    return {**mails.sources, "expected.json": text.encode(), "../one-more.eml": _one_more(documents)}


def _one_more(documents: Documents) -> bytes:
    """For who wants to see a mail arrive: the others have been delivered, and no content becomes a document twice."""
    pdf = pages.invoice_pdf(replace(ENGLISH, number="NOS-48377", issued_on="2026-11-16", due_on="2026-12-16"))
    mails = Mails(documents)
    attached = file_part(pdf, f'{_PDF}; name="NOS-48377.pdf"', named("NOS-48377.pdf"))
    mails.add("one-more", "", "Invoice NOS-48377", with_text(attached), [])
    return mails.sources["one-more.eml"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file would change")
    folder = Path(__file__).parent
    files = make()
    changed = sorted(
        name
        for name, content in files.items()
        if not (folder / name).exists() or (folder / name).read_bytes() != content
    )
    if parser.parse_args().check:
        print("\n".join(changed) or f"{len(files)} files are as they should be")
        return 1 if changed else 0
    for stale in folder.glob("*.eml"):
        if stale.name not in files:
            stale.unlink()
    for name in changed:
        (folder / name).write_bytes(files[name])
    print(f"{len(files) - 2} mails, {sum(map(len, files.values()))} bytes; changed: {', '.join(changed) or 'none'}")
    return 0


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _written(moment: datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S +0000")


def _encoded(subject: str) -> str:
    return subject if subject.isascii() else Header(subject, "utf-8").encode()


if __name__ == "__main__":
    sys.exit(main())
