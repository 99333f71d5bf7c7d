"""Transcribing, classifying and extracting without a network, by our own readers and rules in the parser process."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from ingestion.ports import DocumentReaders
from mailroom_common.parser import JSON, ParserCrashed
from mailroom_common.parser.pool import ParserPool

# Imported before the parser processes are forked and confined: what a reader loads cannot depend on a file.
READER_MODULES = ("ingestion.readers.document", "ingestion.extract.rule_based")

T = TypeVar("T")


class ReaderRunner(Protocol):
    async def run_reader(self, function: str, source: Path | bytes) -> JSON: ...


@asynccontextmanager
async def open_local_readers(pool: ParserPool) -> AsyncIterator[DocumentReaders]:
    """The readers for one document, in a process that ends with the block."""
    async with pool.open_document() as parser:
        reader = LocalReader(parser)
        yield DocumentReaders(transcriber=reader, classifier=reader, extractor=reader)


class LocalReader:
    """`Transcriber`, `DocumentClassifier` and `FieldExtractor` in one: the same process and rules serve all three."""

    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def transcribe_file(self, file: Path) -> Transcript:
        return await self._run_reader("ingestion.readers.document:transcribe_document", file, Transcript.from_json)

    async def classify_transcript(self, transcript: Transcript) -> Classification:
        return await self._run_reader(
            "ingestion.extract.rule_based:classify_document", orjson.dumps(transcript.to_json()), _to_classification
        )

    async def extract_fields(self, transcript: Transcript) -> Extraction:
        return await self._run_reader(
            "ingestion.extract.rule_based:extract_invoice", orjson.dumps(transcript.to_json()), _to_extraction
        )

    async def _run_reader(self, function: str, source: Path | bytes, build: Callable[[Any], T]) -> T:
        answer = await self._parser.run_reader(function, source)
        try:
            return build(answer)
        except (KeyError, TypeError, ValueError) as error:
            # Our readers answer in one shape: this is a process that the file has taken over.
            raise ParserCrashed(f"an answer of another shape: {type(error).__name__}") from error


def _to_classification(answer: Any) -> Classification:
    return Classification(answer["document_type"], answer["confidence"])


def _to_extraction(answer: Any) -> Extraction:
    return Extraction(
        answer["document_type"],
        answer["extraction"],
        answer["confidence"],
        answer["reader"],
        tuple(answer["doubts"]),
        None if answer["unseen"] is None else ReviewReason(answer["unseen"]),
    )
