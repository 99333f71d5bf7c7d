"""Transcribing, classifying and extracting without a network, by our own readers and rules in the parser process."""

from pathlib import Path
from typing import Any

import orjson

from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from mailroom_common.parser import ParserPool

# Imported by each parser process before it is confined: what a reader loads cannot depend on a file.
READER_MODULES = ("ingestion.readers.document", "ingestion.extract.rule_based")


class LocalReader:
    """`Transcriber`, `DocumentClassifier` and `FieldExtractor` in one: the same processes and rules serve all three."""

    def __init__(self, parser: ParserPool) -> None:
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
