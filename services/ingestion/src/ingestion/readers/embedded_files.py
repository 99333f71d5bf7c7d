"""The files in a PDF: XML of e-invoices, and PDFs, whose pages are read as further pages of the document.

A portfolio is a cover with its invoices attached; an e-invoice is a page with its XML. Bounded in number, bytes and
depth: what lies beyond, and every file that nothing reads, is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, TextLine, detect_content_type
from ingestion.readers import einvoice, pdf_text, ubl
from mailroom_common.parser import UnreadableFile

MAX_PDFS = 20
MAX_PDF_BYTES = 25_000_000  # in all
MAX_DEPTH = 2  # a PDF in a PDF in the document
MAX_PAGES = 60  # of all PDFs in a document, beside its own


@dataclass(slots=True)
class EmbeddedContent:
    """What the files say. `part_starts` are the numbers of the first pages of `pdfs`, `pages` counts all pages from the
    document's first one on; `unread` is why the files may say more than this."""

    pages: int
    lines: list[TextLine] = field(default_factory=list)
    part_starts: list[int] = field(default_factory=list)
    e_invoices: list[dict[str, Any]] = field(default_factory=list)
    unread: set[ReviewReason] = field(default_factory=set)
    pdfs: list[bytes] = field(default_factory=list)
    pdf_count: int = 0
    pdf_bytes: int = 0

    def admit_pdf(self, content: bytes) -> bool:
        """Count one more PDF; False where it is beyond the limits."""
        self.pdf_count += 1
        self.pdf_bytes += len(content)
        return self.pdf_count <= MAX_PDFS and self.pdf_bytes <= MAX_PDF_BYTES


def read_embedded_files(files: Sequence[pdf_text.EmbeddedFile], first_page: int) -> EmbeddedContent:
    """`first_page` is the number of the first further page, after the document's own.

    Raises:
        UnreadableFile: `extraction_too_large`, of an e-invoice.
    """
    content = EmbeddedContent(first_page)
    _read_files(files, content, first_page + MAX_PAGES, depth=1)
    if len(content.e_invoices) > 1:
        content.unread.add(ReviewReason.SEVERAL_E_INVOICES)
    return content


def find_embedded_page(content: EmbeddedContent, number: int) -> tuple[bytes, int] | None:
    """The PDF that a page of the document is in, and its number there; None of a page that there is not."""
    if number >= content.pages:
        return None
    found = [
        (pdf, number - start) for pdf, start in zip(content.pdfs, content.part_starts, strict=True) if start <= number
    ]
    return found[-1] if found else None


def _read_files(
    files: Sequence[pdf_text.EmbeddedFile], content: EmbeddedContent, page_limit: int, *, depth: int
) -> None:
    for file in files:
        if file.content is None:
            _report_unread(file, content)
        elif einvoice.is_xml(file.content):
            _read_xml(file.name, file.content, content)
        elif _is_pdf(file.content) and content.pages < page_limit and content.admit_pdf(file.content):
            _read_pdf(file.content, content, page_limit, depth=depth)
        else:
            _report_unread(file, content)


def _report_unread(file: pdf_text.EmbeddedFile, content: EmbeddedContent) -> None:
    """A file that other programs take for the invoice, by its name or by what is in it, is more than one not read."""
    is_invoice = einvoice.claims_to_be_invoice(file.name, file.content)
    content.unread.add(ReviewReason.XML_UNREADABLE if is_invoice else ReviewReason.EMBEDDED_FILES_NOT_READ)


def _is_pdf(content: bytes) -> bool:
    return detect_content_type(content[:HEAD_BYTES]) == PDF


def _read_xml(name: str, xml: bytes, content: EmbeddedContent) -> None:
    if (invoice := _parse_e_invoice(xml)) is not None:
        content.e_invoices += [invoice] if invoice not in content.e_invoices else []
    elif einvoice.claims_to_be_invoice(name, xml):
        content.unread.add(ReviewReason.XML_UNREADABLE)


def _parse_e_invoice(xml: bytes) -> dict[str, Any] | None:
    try:
        return einvoice.parse_invoice_xml(xml) or ubl.parse_ubl_xml(xml)
    # Limits, and a judgement on the whole file, are not the attachment's alone.
    except (MemoryError, RecursionError, UnreadableFile):
        raise
    except Exception:  # noqa: BLE001  # the page can be read: a broken e-invoice loses the e-invoice, and it is said
        return None


def _read_pdf(pdf: bytes, content: EmbeddedContent, page_limit: int, *, depth: int) -> None:
    try:
        read = pdf_text.read_pdf_text(BytesIO(pdf), max_pages=page_limit - content.pages)
    except UnreadableFile:
        # Locked or damaged: the document around it can be read.
        content.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
        return
    start = content.pages
    content.part_starts.append(start)
    content.pdfs.append(pdf)
    # Without what nobody sees on them: the reason that it is a proposal is not kept below.
    content.lines += [replace(line, page=start + line.page) for line in read.lines if line.is_visible]
    content.pages += read.pages
    # A picture in a file in the file is out of OCR's reach: its reason must not be taken for a page's.
    content.unread |= {ReviewReason.EMBEDDED_FILES_NOT_READ} if read.unread else set()
    if depth < MAX_DEPTH:
        _read_files(read.attachments, content, page_limit, depth=depth + 1)
    elif read.attachments:
        content.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
