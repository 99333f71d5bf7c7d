"""The reader that the parser process is asked for: a file of any content type becomes a transcript."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, Transcript, detect_content_type
from ingestion.readers import image, pdf_text
from ingestion.readers.embedded_files import read_embedded_files
from ingestion.readers.joined_files import holds_several_pdfs
from mailroom_common.parser import JSON, UnreadableFile

NAME = "mailroom-local/1"

# The weightiest first: what a person has to look at before anything else.
_UNREAD_BY_WEIGHT = (
    ReviewReason.XML_UNREADABLE,
    ReviewReason.SEVERAL_E_INVOICES,
    ReviewReason.SEVERAL_INVOICES,
    ReviewReason.TEXT_NOT_VISIBLE,
    ReviewReason.TEXT_GARBLED,
    ReviewReason.NO_TEXT_LAYER,
    ReviewReason.FORM_NOT_READ,
    ReviewReason.EMBEDDED_FILES_NOT_READ,
    ReviewReason.PAGES_NOT_READ,
)


def transcribe_document(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """The document as `Transcript.to_json` has it; `password` opens a locked one.

    Raises:
        UnreadableFile: `not_a_document`, `password_required`, `password_wrong`, `unreadable` or `extraction_too_large`.
    """
    content_type = detect_content_type(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type is None:
        raise UnreadableFile(DocumentSkipReason.NOT_A_DOCUMENT)
    if content_type != PDF:
        pages = image.count_image_pages(file, content_type)
        return Transcript(content_type, pages, pictured_pages=tuple(range(pages))).to_json()
    pdf = pdf_text.read_pdf_text(file, arguments.get("password"))
    # The page is read of an e-invoice too: where it contradicts the XML a person decides.
    embedded = read_embedded_files(pdf.attachments, pdf.pages)
    unread = pdf.unread | embedded.unread
    if holds_several_pdfs(file):
        unread.add(ReviewReason.SEVERAL_INVOICES)
    has_unread_files = ReviewReason.EMBEDDED_FILES_NOT_READ in unread
    if embedded.pictured:
        unread = {*unread, ReviewReason.EMBEDDED_FILES_NOT_READ}
    return Transcript(
        content_type,
        embedded.pages,
        (*pdf.lines, *embedded.lines),
        next(iter(embedded.e_invoices), None),
        tuple(reason for reason in _UNREAD_BY_WEIGHT if reason in unread),
        (*pdf.pictured, *embedded.pictured),
        tuple(embedded.part_starts),
        has_unread_files=has_unread_files,
        marks=pdf.marks + embedded.marks,
        looked_over=pdf.looked_over,
    ).to_json()
