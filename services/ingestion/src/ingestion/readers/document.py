"""The reader that the parser process is asked for: a file of any content type becomes a transcript."""

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, Transcript, detect_content_type
from ingestion.readers import einvoice, image, pdf_text
from mailroom_common.parser import JSON, UnreadableFile

NAME = "mailroom-local/1"

# The weightiest first: what a person has to look at before anything else.
_UNREAD_BY_WEIGHT = (
    ReviewReason.XML_UNREADABLE,
    ReviewReason.SEVERAL_E_INVOICES,
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
        UnreadableFile: `not_a_document`, `password_required`, `unreadable` or `extraction_too_large`.
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
    e_invoice, not_read = _read_attachments(pdf.attachments)
    unread = tuple(reason for reason in _UNREAD_BY_WEIGHT if reason in pdf.unread | not_read)
    return Transcript(content_type, pdf.pages, tuple(pdf.lines), e_invoice, unread, tuple(pdf.pictured)).to_json()


def _read_attachments(attachments: Iterable[pdf_text.EmbeddedFile]) -> tuple[dict[str, Any] | None, set[ReviewReason]]:
    """The e-invoice among them, and why they may say more than that."""
    found: list[dict[str, Any]] = []
    unread: set[ReviewReason] = set()
    for attachment in attachments:
        if attachment.content is None or not einvoice.is_xml(attachment.content):
            unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
        elif (invoice := _read_e_invoice(attachment.content)) is not None:
            found += [invoice] if invoice not in found else []
        elif einvoice.claims_to_be_invoice(attachment.name, attachment.content):
            unread.add(ReviewReason.XML_UNREADABLE)
    if len(found) > 1:
        unread.add(ReviewReason.SEVERAL_E_INVOICES)
    return (found[0] if found else None), unread


def _read_e_invoice(xml: bytes) -> dict[str, Any] | None:
    try:
        return einvoice.parse_invoice_xml(xml)
    # Limits, and a judgement on the whole file, are not the attachment's alone.
    except (MemoryError, RecursionError, UnreadableFile):
        raise
    except Exception:  # noqa: BLE001  # the page can be read: a broken e-invoice loses the e-invoice, and it is said
        return None
