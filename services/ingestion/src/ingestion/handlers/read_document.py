"""Reading one document with the readers of one parser process: transcribe → classify → extract → where it goes.

Classifying comes after transcribing, since what tells an invoice from a newsletter is its text.
"""

from dataclasses import dataclass
from pathlib import Path

from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.transcript import Transcript
from ingestion.ports import DocumentReaders


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """Where a document goes, and the text that was read for it."""

    outcome: DocumentOutcome
    transcript: Transcript


async def read_document(readers: DocumentReaders, file: Path) -> DocumentReading:
    """
    Raises:
        UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
    """
    transcript = await readers.transcriber.transcribe_file(file)
    return DocumentReading(await read_transcript(readers, transcript), transcript)


async def read_transcript(readers: DocumentReaders, transcript: Transcript) -> DocumentOutcome:
    if not transcript.lines and transcript.e_invoice is None:
        return routing.route_without_text(transcript)
    classification = await readers.classifier.classify_transcript(transcript)
    if classification.document_type is None:
        return routing.route_not_an_invoice(classification, transcript)
    return routing.route_extraction(await readers.extractor.extract_fields(transcript), transcript.unread)
