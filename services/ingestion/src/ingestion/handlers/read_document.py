"""Reading one document with the readers of one parser process: transcribe → classify → extract → where it goes.

Classifying comes after transcribing, since what tells an invoice from a newsletter is its text.
"""

from dataclasses import dataclass, field
from pathlib import Path

from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript
from ingestion.handlers.read_by_templates import TenantTemplates, read_by_templates
from ingestion.ports.readers import DocumentReaders
from mailroom_common.errors import Rejected
from mailroom_common.events import Profile


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """Where a document goes, and the text that was read for it. `pictures_error` ended OCR before all was read."""

    outcome: DocumentOutcome
    transcript: Transcript
    pictures_error: Rejected | None = None


@dataclass(frozen=True, slots=True)
class ReadingPurpose:
    """What a document is read for, and how it is routed then. `doc_source_id` None: it came from none. `templates`
    None: no tenant's. `queue` is where it waits for OCR."""

    profile: Profile = Profile.INVOICE
    doc_source_id: str | None = None
    router: ExtractionRouter = field(default_factory=ExtractionRouter)
    templates: TenantTemplates | None = None
    queue: str = ""


_AS_INVOICE = ReadingPurpose()


async def read_document(
    readers: DocumentReaders, file: Path, purpose: ReadingPurpose = _AS_INVOICE, *, password: str | None = None
) -> DocumentReading:
    """`password` opens a locked file.

    Raises:
        UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
    """
    transcript = await readers.transcriber.transcribe_file(file, password=password)
    return DocumentReading(await read_transcript(readers, transcript, purpose), transcript)


async def read_transcript(
    readers: DocumentReaders, transcript: Transcript, purpose: ReadingPurpose = _AS_INVOICE
) -> DocumentOutcome:
    if not transcript.lines and transcript.e_invoice is None:
        return routing.route_without_text(transcript)
    classification = await readers.classifier.classify_transcript(transcript)
    by_template = await read_by_templates(readers, transcript, purpose.templates)
    if classification.document_type is None and not _is_whole(by_template):
        return purpose.router.route_unwanted(purpose.profile, classification, transcript)
    extraction = by_template or await readers.extractor.extract_fields(transcript)
    return purpose.router.route_extraction(extraction, transcript.unread, purpose.doc_source_id)


def _is_whole(by_template: Extraction | None) -> bool:
    """Whether a template found an invoice where the general rules see none: suppliers send other letters as well."""
    fields = {} if by_template is None else by_template.fields
    return fields.get("invoice_number") is not None and fields.get("total_gross") is not None
