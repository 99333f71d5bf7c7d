"""The reader that the parser process is asked for: a file of any content type becomes a transcript."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from ingestion.domain.reasons import DocumentSkipReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, Transcript, detect_content_type
from ingestion.readers import einvoice, image, pdf_text
from mailroom_common.parser import JSON, UnreadableFile

NAME = "mailroom-local/1"


def transcribe_document(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """The document as `Transcript.to_json` has it.

    Raises:
        UnreadableFile: `not_a_document`, `encrypted`, `unreadable` or `extraction_too_large`.
    """
    content_type = detect_content_type(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type is None:
        raise UnreadableFile(DocumentSkipReason.NOT_A_DOCUMENT)
    if content_type != PDF:
        return Transcript(content_type, image.count_image_pages(file, content_type)).to_json()
    pdf = pdf_text.read_pdf_text(file)
    file.seek(0)
    # The page is read of an e-invoice too: where it contradicts the XML a person decides.
    e_invoice, notes = _read_e_invoice(file) if pdf.has_attachments else (None, ())
    return Transcript(content_type, pdf.pages, tuple(pdf.lines), e_invoice, notes).to_json()


def _read_e_invoice(file: BinaryIO) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    try:
        return einvoice.read_embedded_invoice(file), ()
    # Limits, and a judgement on the whole file, are not the attachment's alone.
    except (MemoryError, RecursionError, UnreadableFile):
        raise
    except Exception:  # noqa: BLE001  # the page can be read: a broken e-invoice loses the e-invoice only
        return None, ("attachment_unreadable",)
