"""Transcribing, classifying and extracting without a network, by our own readers and rules in the parser process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from ingestion.ports import DocumentReaders
from mailroom_common.parser.pool import DocumentParser, ParserPool

# Imported before the parser processes are forked and confined: what a reader loads cannot depend on a file.
READER_MODULES = ("ingestion.readers.document", "ingestion.extract.rule_based")


@asynccontextmanager
async def open_local_readers(pool: ParserPool) -> AsyncIterator[DocumentReaders]:
    """The readers for one document, in a process that ends with the block."""
    async with pool.open_document() as parser:
        reader = LocalReader(parser)
        yield DocumentReaders(transcriber=reader, classifier=reader, extractor=reader)


class LocalReader:
    """`Transcriber`, `DocumentClassifier` and `FieldExtractor` in one: the same process and rules serve all three."""

    def __init__(self, parser: DocumentParser) -> None:
        self._parser = parser

    async def transcribe_file(self, file: Path) -> Transcript:
        answer: Any = await self._parser.run_reader("ingestion.readers.document:transcribe_document", file)
        return Transcript.from_json(answer)

    async def classify_transcript(self, transcript: Transcript) -> Classification:
        answer: Any = await self._parser.run_reader(
            "ingestion.extract.rule_based:classify_document", orjson.dumps(transcript.to_json())
        )
        return Classification(answer["document_type"], answer["confidence"])

    async def extract_fields(self, transcript: Transcript) -> Extraction:
        answer: Any = await self._parser.run_reader(
            "ingestion.extract.rule_based:extract_invoice", orjson.dumps(transcript.to_json())
        )
        return Extraction(
            answer["document_type"],
            answer["extraction"],
            answer["confidence"],
            answer["reader"],
            tuple(answer["doubts"]),
        )
