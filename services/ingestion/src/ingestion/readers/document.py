"""The reader that the parser process is asked for: bytes in, transcript out."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from ingestion.domain.content import HEAD_BYTES, PDF, content_type_of
from ingestion.domain.transcript import Transcript
from ingestion.readers import einvoice, image, pdf_text
from mailroom_common.parser import JSON, UnreadableFile

NAME = "mailroom-local/1"


def transcribe(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """The document as `Transcript.to_json` has it.

    Raises:
        UnreadableFile: `not_a_document`, `encrypted`, `unreadable` or `extraction_too_large`.
    """
    content_type = content_type_of(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type is None:
        raise UnreadableFile("not_a_document")
    if content_type != PDF:
        return Transcript(content_type, image.pages_of(file, content_type)).to_json()
    pdf = pdf_text.read(file)
    file.seek(0)
    e_invoice, notes = _e_invoice(file) if pdf.has_attachments else (None, ())
    return Transcript(content_type, pdf.pages, tuple(pdf.lines), e_invoice, notes).to_json()


def _e_invoice(file: BinaryIO) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    try:
        return einvoice.embedded(file), ()
    except (MemoryError, RecursionError, UnreadableFile):
        raise
    except Exception:  # noqa: BLE001  # the page can be read, so whatever broke in the attachment loses the attachment only
        return None, ("attachment_unreadable",)
