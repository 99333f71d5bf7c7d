"""Mails whose documents lie in other mails, archives and signed or wrapped parts."""

from sandbox.mails.sample_mails import Mails, expect_skipped, with_text
from sandbox.mails.wrappers import (
    CRLF,
    applefile,
    file_part,
    multipart,
    named,
    part,
    signed_detached,
    signed_opaque,
    text_part,
    tnef,
    zipped,
)

_PDF = "application/pdf"
_SIGNED = 'protocol="application/pkcs7-signature"', "micalg=sha-256"


def add_containers(mails: Mails) -> None:
    """Documents that have to be unwrapped first."""
    documents = mails.documents
    inner = with_text(file_part(documents.french, _PDF, named("facture.pdf")))
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
    inside = mails.expect_stored("facture.pdf", documents.french, via=["message"])
    mails.add(
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
    deep = mails.expect_stored("facture.pdf", documents.french, via=["message"] * 4)
    mails.add(
        "forwarded-four-deep",
        "PDF under four forwards",
        "Fwd: Fwd: Fwd: Fwd: Facture",
        multipart("mixed", "=_fwd_4", [text_part("See below.\n"), part(["Content-Type: message/rfc822"], nested)]),
        [deep],
    )
    signature = file_part(
        signed_detached(inner.encode("ascii")), 'application/pkcs7-signature; name="smime.p7s"', named("smime.p7s")
    )
    mails.add(
        "smime-signed",
        "multipart/signed with a PDF in the signed part",
        "Facture FA-2026-0117",
        multipart("signed", "=_signed_1", [inner, signature], *_SIGNED),
        [mails.expect_stored("facture.pdf", documents.french), expect_skipped("smime.p7s", "signature", "der")],
        sender="Imprimerie Rivelaine <billing@rivelaine.example>",
    )
    opaque = signed_opaque(inner.encode("ascii"))
    mails.add(
        "smime-opaque",
        "the whole mail inside an S/MIME signed-data blob",
        "Facture FA-2026-0117",
        file_part(opaque, 'application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"', named("smime.p7m")),
        [mails.expect_stored("facture.pdf", documents.french, via=["smime"])],
        sender="Imprimerie Rivelaine <billing@rivelaine.example>",
    )
    bag = tnef("rechnung.pdf", documents.german)
    mails.add(
        "winmail",
        "PDF in a winmail.dat",
        "Rechnung RE-20261002-88",
        with_text(file_part(bag, 'application/ms-tnef; name="winmail.dat"', named("winmail.dat"))),
        [mails.expect_stored("rechnung.pdf", documents.german, via=["tnef"])],
    )
    archive = zipped(
        [
            ("2026/invoice.pdf", documents.english),
            ("factuur.pdf", documents.dutch),
            ("readme.txt", b"Two invoices.\r\n"),
        ]
    )
    holds = [
        mails.expect_stored("invoice.pdf", documents.english, via=["zip"], raw_filename="2026/invoice.pdf"),
        mails.expect_stored("factuur.pdf", documents.dutch, via=["zip"]),
        expect_skipped("readme.txt", "not_a_document", "text", via=["zip"]),
    ]
    mails.add(
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
            file_part(documents.english, f'{_PDF}; name="invoice.pdf"', named("invoice.pdf")),
        ],
    )
    mails.add(
        "appledouble",
        "appledouble pair: the resource fork is no document",
        "Invoice NOS-48213",
        with_text(pair),
        [
            expect_skipped("invoice.pdf", "not_a_document", "other"),
            mails.expect_stored("invoice.pdf", documents.english),
        ],
    )
