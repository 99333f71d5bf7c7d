"""Transcribe, classify and extract without a network, in the parser process."""

from pathlib import Path
from typing import Any

import orjson

from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from mailroom_common.parser import ParserPool

READERS = ("ingestion.readers.document", "ingestion.extract.local")


class LocalReading:
    """All three ports: the same processes do the work, and the same rules read in each."""

    def __init__(self, parser: ParserPool) -> None:
        self._parser = parser

    async def transcribe(self, file: Path) -> Transcript:
        answer: Any = await self._parser.run_reader("ingestion.readers.document:transcribe", file)
        return Transcript.from_json(answer)

    async def classify(self, transcript: Transcript) -> Classification:
        answer: Any = await self._parser.run_reader(
            "ingestion.extract.local:classify", orjson.dumps(transcript.to_json())
        )
        return Classification(answer["document_type"], answer["confidence"])

    async def extract(self, transcript: Transcript) -> Extraction:
        answer: Any = await self._parser.run_reader(
            "ingestion.extract.local:extract", orjson.dumps(transcript.to_json())
        )
        return Extraction(
            answer["document_type"],
            answer["extraction"],
            answer["confidence"],
            answer["reader"],
            tuple(answer["doubts"]),
        )
