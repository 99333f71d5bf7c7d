"""The files in a PDF: XML of e-invoices, and PDFs and pictures, whose pages are further pages of the document.

A portfolio is a cover with its invoices attached, which may be scans; an e-invoice is a page with its XML. Bounded in
number, bytes and depth: what lies beyond, and every file that nothing reads, is reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from ingestion.domain.page_marks import NO_MARKS, PageMarks
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, TextLine, detect_content_type
from ingestion.readers import einvoice, image, pdf_text, ubl
from mailroom_common.parser import UnreadableFile

MAX_PARTS = 20  # PDFs and pictures
MAX_PART_BYTES = 25_000_000  # in all
MAX_DEPTH = 2  # a PDF in a PDF in the document
MAX_PAGES = 60  # of all of them, beside the document's own

_OF_PICTURED_PAGES = {ReviewReason.NO_TEXT_LAYER, ReviewReason.TEXT_NOT_VISIBLE, ReviewReason.TEXT_GARBLED}


@dataclass(slots=True)
class EmbeddedContent:
    """What the files say. `part_starts` are the numbers of the first pages of `parts`, the PDFs and pictures that are
    read, `pages` counts all pages from the document's first one on, and `pictured` are those that OCR may say more of;
    `unread` is why the files may say more than this, whatever OCR finds."""

    pages: int
    lines: list[TextLine] = field(default_factory=list)
    part_starts: list[int] = field(default_factory=list)
    e_invoices: list[dict[str, Any]] = field(default_factory=list)
    unread: set[ReviewReason] = field(default_factory=set)
    parts: list[bytes] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)
    marks: PageMarks = NO_MARKS
    part_count: int = 0
    part_bytes: int = 0

    def admit_part(self, content: bytes) -> bool:
        """Count one more PDF or picture; False where it is beyond the limits."""
        self.part_count += 1
        self.part_bytes += len(content)
        return self.part_count <= MAX_PARTS and self.part_bytes <= MAX_PART_BYTES

    def add_part(self, part: bytes, pages: int, pictured: Iterable[int]) -> int:
        """The number of its first page."""
        start = self.pages
        self.part_starts.append(start)
        self.parts.append(part)
        self.pictured += [start + page for page in pictured]
        self.pages += pages
        return start


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
    """The file that a page of the document is in, and its number there; None of a page that there is not."""
    if number >= content.pages:
        return None
    found = [
        (part, number - start)
        for part, start in zip(content.parts, content.part_starts, strict=True)
        if start <= number
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
        elif (
            (content_type := detect_content_type(file.content[:HEAD_BYTES])) is not None
            and content.pages < page_limit
            and content.admit_part(file.content)
        ):
            if content_type == PDF:
                _read_pdf(file.content, content, page_limit, depth=depth)
            else:
                _add_picture(file.content, content_type, content, page_limit)
        else:
            _report_unread(file, content)


def _report_unread(file: pdf_text.EmbeddedFile, content: EmbeddedContent) -> None:
    """A file that other programs take for the invoice, by its name or by what is in it, is more than one not read."""
    is_invoice = einvoice.claims_to_be_invoice(file.name, file.content)
    content.unread.add(ReviewReason.XML_UNREADABLE if is_invoice else ReviewReason.EMBEDDED_FILES_NOT_READ)


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
    start = content.add_part(pdf, read.pages, read.pictured)
    # Without what nobody sees on them: the reason that it is a proposal is not kept below.
    content.lines += [replace(line, page=start + line.page) for line in read.lines if line.is_visible]
    content.marks += read.marks
    # That a page is a picture is no reason here: it must not be taken for one of the document's own.
    content.unread |= {ReviewReason.EMBEDDED_FILES_NOT_READ} if read.unread - _OF_PICTURED_PAGES else set()
    if depth < MAX_DEPTH:
        _read_files(read.attachments, content, page_limit, depth=depth + 1)
    elif read.attachments:
        content.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)


def _add_picture(picture: bytes, content_type: str, content: EmbeddedContent, page_limit: int) -> None:
    try:
        # Not decoded: twenty large ones would take the document's time. OCR says which of them are damaged.
        pages = image.count_image_pages(BytesIO(picture), content_type, decodes=False)
    except UnreadableFile as error:
        if error.reason != DocumentSkipReason.NOT_A_DOCUMENT:  # an icon has nothing to say
            content.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
        return
    read = min(pages, page_limit - content.pages)
    content.add_part(picture, read, range(read))
    if read < pages:
        content.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
