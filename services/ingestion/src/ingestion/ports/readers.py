"""What reads a document."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from ingestion.ports.templates import TemplateReader


class Transcriber(Protocol):
    async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
        """
        Raises:
            UnreadableFile, ParserLimitReached, ParserCrashed: as `ParserPool.run_reader`.
        """
        ...


class DocumentClassifier(Protocol):
    async def classify_transcript(self, transcript: Transcript) -> Classification: ...


class FieldExtractor(Protocol):
    async def extract_fields(self, transcript: Transcript) -> Extraction: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReaders:
    """What reads one document, and no other: the next one gets readers of its own. `templates` None: it has none."""

    transcriber: Transcriber
    classifier: DocumentClassifier
    extractor: FieldExtractor
    templates: TemplateReader | None = None


class PictureReader(Protocol):
    def read_pictures(
        self, file: Path, transcript: Transcript, *, password: str | None = None, queue: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        """The transcript with what OCR reads on the first page that is a picture, then with what it reads on all.

        Raises:
            OCRBusy: no process is free for it; it is told when the turn of its `queue` is likely to come.
            UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
        """
        ...
