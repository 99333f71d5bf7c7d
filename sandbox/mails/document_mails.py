"""Mails with documents as ordinary programs send them: their shapes, names and pictures."""

from email.header import Header
from urllib.parse import quote

from sandbox.mails.sample_mails import Mails, expect_skipped, mixed, with_text
from sandbox.mails.wrappers import (
    CRLF,
    file_part,
    html_part,
    multipart,
    named,
)

_PDF = "application/pdf"


def add_plain_shapes(mails: Mails) -> None:
    """How an ordinary attachment is declared."""
    documents = mails.documents
    rivelaine = "Imprimerie Rivelaine <compta@rivelaine.example>"
    holm = "Tischlerei Holm & Soehne <buchhaltung@holm-soehne.example>"
    mails.add(
        "attached-pdf",
        "PDF attached as it should be",
        "Factuur 2026-3391",
        with_text(file_part(documents.dutch, f'{_PDF}; name="factuur-2026-3391.pdf"', named("factuur-2026-3391.pdf"))),
        [mails.expect_stored("factuur-2026-3391.pdf", documents.dutch)],
        sender="Van der Molen Techniek <administratie@vandermolen.example>",
    )
    mails.add(
        "inline-pdf",
        "PDF with disposition inline, as Apple Mail sends it",
        "Facture FA-2026-0117",
        with_text(file_part(documents.french, f"{_PDF}; name=facture.pdf", "inline; filename=facture.pdf")),
        [mails.expect_stored("facture.pdf", documents.french)],
        sender=rivelaine,
    )
    mails.add(
        "same-pdf-again",
        "the PDF of inline-pdf in a reminder",
        "Rappel : facture FA-2026-0117",
        with_text(file_part(documents.french, _PDF, named("rappel.pdf")), text="Un rappel amical.\n"),
        [mails.expect_stored("rappel.pdf", documents.french, same_bytes_as="inline-pdf.eml")],
        sender=rivelaine,
    )
    mails.add(
        "same-pdf-twice",
        "one PDF attached twice under two names",
        "Invoice NOS-48213, twice",
        with_text(
            file_part(documents.english, _PDF, named("invoice.pdf")),
            file_part(documents.english, _PDF, named("invoice (1).pdf")),
        ),
        [
            mails.expect_stored("invoice.pdf", documents.english),
            mails.expect_stored("invoice (1).pdf", documents.english),
        ],
    )
    mails.add(
        "same-invoice-other-bytes",
        "the invoice of same-pdf-twice as another file",
        "Copy of invoice NOS-48213",
        with_text(file_part(documents.english_copy, _PDF, named("copy.pdf"))),
        [mails.expect_stored("copy.pdf", documents.english_copy, same_invoice_as="same-pdf-twice.eml")],
    )
    mails.add(
        "octet-stream",
        "PDF declared as application/octet-stream, name in capitals",
        "RECHNUNG RE-20261002-88",
        with_text(file_part(documents.german, "application/octet-stream", named("RECHNUNG.PDF"))),
        [mails.expect_stored("RECHNUNG.PDF", documents.german)],
        sender=holm,
    )
    mails.add(
        "other-extension",
        "PDF named .dat",
        "Scan from reception",
        with_text(file_part(documents.consultant, "application/octet-stream", named("scan0001.dat"))),
        [mails.expect_stored("scan0001.dat", documents.consultant)],
        sender="Harbor Light Consulting <office@harborlight.example>",
    )
    mails.add(
        "text-named-pdf",
        "plain text named .pdf",
        "Invoice",
        with_text(file_part(b"This is not a PDF.\r\n", _PDF, named("invoice.pdf"))),
        [expect_skipped("invoice.pdf", "not_a_document", "text")],
    )
    mails.add(
        "three-kinds",
        "PDF, JPEG and a TIFF of three pages",
        "Documents of November",
        with_text(
            file_part(documents.consultant, _PDF, named("invoice.pdf")),
            file_part(documents.jpeg, "image/jpeg", named("photo.jpg")),
            file_part(documents.tiff, "image/tiff", named("fax.tif")),
        ),
        [
            mails.expect_stored("invoice.pdf", documents.consultant),
            mails.expect_stored("photo.jpg", documents.jpeg),
            mails.expect_stored("fax.tif", documents.tiff),
        ],
        sender="Reception <reception@mailroom.example>",
    )
    mails.add(
        "picture-only",
        "the whole mail is one scanned page, without any text",
        "Invoice CK 0711",
        file_part(documents.png, 'image/png; name="scan.png"', named("scan.png")),
        [mails.expect_stored("scan.png", documents.png)],
        sender="Copper Kettle Catering <hello@copperkettle.example>",
    )
    mails.add(
        "contract-note",
        "a bank's note of a purchase",
        "Wertpapierabrechnung",
        with_text(file_part(documents.contract_note, _PDF, named("abrechnung.pdf"))),
        [mails.expect_stored("abrechnung.pdf", documents.contract_note)],
        sender="Handelsbank Nordlicht <post@nordlicht.example>",
    )
    mails.add(
        "encrypted-pdf",
        "PDF that needs a password (it is: mailroom)",
        "Invoice NOS-48213, protected",
        with_text(file_part(documents.locked, _PDF, named("invoice.pdf")), text="The password comes separately.\n"),
        [mails.expect_stored("invoice.pdf", documents.locked, opens=False)],
    )


def add_names(mails: Mails) -> None:
    """How an attachment is called."""
    documents = mails.documents
    mails.add(
        "no-name",
        "attachment without a name",
        "Rechnung",
        with_text(file_part(documents.german, _PDF, "attachment")),
        [mails.expect_stored(None, documents.german)],
    )
    long_name = "Facture n° 117 – pièce jointe de l’été, réf. Ünïcode.pdf"
    coded = quote(long_name, safe="")
    pieces = [coded[index : index + 60] for index in range(0, len(coded), 60)]
    numbered = "".join(
        f";{CRLF}\tfilename*{index}*={chr(39).join(('utf-8', '', '')) if index == 0 else ''}{piece}"
        for index, piece in enumerate(pieces)
    )
    mails.add(
        "name-rfc2231-continued",
        "name in RFC 2231 pieces",
        "Facture",
        with_text(file_part(documents.french, _PDF, "attachment" + numbered)),
        [mails.expect_stored(long_name, documents.french)],
    )
    odd_name = "Rechnung Nr. 88 für Oktober – Prüfung.pdf"
    word = Header(odd_name, "utf-8", maxlinelen=10_000).encode()
    mails.add(
        "name-rfc2047-in-parameter",
        "encoded word inside the quoted parameter, which no standard allows and many write",
        "Rechnung",
        with_text(file_part(documents.german, f'{_PDF}; name="{word}"', named(word))),
        [mails.expect_stored(odd_name, documents.german)],
    )
    mails.add(
        "names-disagree",
        "name and filename* differ; filename* counts",
        "Invoice",
        with_text(
            file_part(
                documents.english, f'{_PDF}; name="document.pdf"', "attachment; filename*=utf-8''invoice%2048213.pdf"
            )
        ),
        [mails.expect_stored("invoice 48213.pdf", documents.english)],
    )
    mails.add(
        "name-with-path",
        "names that are paths: keep the last piece, never use it to open a file",
        "Invoices",
        with_text(
            file_part(documents.english, _PDF, named("../../etc/invoice.pdf")),
            file_part(documents.dutch, _PDF, named("C:\\\\Temp\\\\factuur.pdf")),
        ),
        [
            mails.expect_stored("invoice.pdf", documents.english, raw_filename="../../etc/invoice.pdf"),
            mails.expect_stored("factuur.pdf", documents.dutch, raw_filename="C:\\Temp\\factuur.pdf"),
        ],
    )


def add_pictures(mails: Mails) -> None:
    """What only decorates a mail, beside what does not."""
    documents = mails.documents
    table = "<table><tr><td>Total due</td><td>1,055.28 GBP</td></tr></table>"
    page = f'<html><body><img src="cid:logo@northgate.example">{table}</body></html>'
    logo = file_part(documents.logo, 'image/png; name="logo.png"', None, "Content-ID: <logo@northgate.example>")
    mails.add(
        "logo-and-invoice",
        "picture referred to by cid without a disposition, beside a PDF",
        "Invoice NOS-48213",
        mixed(
            multipart("related", "=_inner_0001", [html_part(page), logo]),
            file_part(documents.english, _PDF, named("invoice.pdf")),
        ),
        [
            expect_skipped("logo.png", "referenced_by_body", "png"),
            mails.expect_stored("invoice.pdf", documents.english),
        ],
    )
    mails.add(
        "inline-picture",
        "picture with disposition inline that no body refers to, beside a PDF",
        "Factuur 2026-3391",
        with_text(
            file_part(documents.logo, "image/png", 'inline; filename="handtekening.png"'),
            file_part(documents.dutch, _PDF, named("factuur.pdf")),
        ),
        [
            expect_skipped("handtekening.png", "inline_picture", "png"),
            mails.expect_stored("factuur.pdf", documents.dutch),
        ],
    )
    mails.add(
        "invoice-with-content-id",
        "ordinary attachment that carries a Content-ID",
        "Invoice NOS-48213",
        with_text(file_part(documents.english, _PDF, named("invoice.pdf"), "Content-ID: <f_1@northgate.example>")),
        [mails.expect_stored("invoice.pdf", documents.english)],
    )
    banner = '<html><body><img src="cid:banner@shop.example"><p>Save 20 % this week.</p></body></html>'
    mails.add(
        "newsletter",
        "advertisement with a picture, nothing to file",
        "Save 20 % this week",
        multipart(
            "related",
            "=_news_0001",
            [
                html_part(banner),
                file_part(
                    documents.logo, "image/png", 'inline; filename="banner.png"', "Content-ID: <banner@shop.example>"
                ),
            ],
        ),
        # Said to be inline *and* shown by the body: its disposition is looked at first.
        [expect_skipped("banner.png", "inline_picture", "png")],
        "List-Unsubscribe: <mailto:leave@shop.example>",
        "Precedence: bulk",
        sender="Shop News <news@shop.example>",
    )
    mails.add(
        "empty-attachment",
        "a file of no bytes beside a PDF",
        "Facture FA-2026-0117",
        with_text(file_part(b"", _PDF, named("vide.pdf")), file_part(documents.french, _PDF, named("facture.pdf"))),
        [expect_skipped("vide.pdf", "damaged", "empty"), mails.expect_stored("facture.pdf", documents.french)],
    )
