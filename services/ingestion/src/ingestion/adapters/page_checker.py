"""Holding a language model's answer against the page, in a parser process of its own."""

from typing import Any

import orjson

from ingestion.adapters.reader_runner import ReaderRunner
from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import PageEvidence
from ingestion.domain.transcript import Transcript

_NAMES = frozenset(Invoice().to_json())


class ParserPageChecker:
    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def check_invoice(self, transcript: Transcript, invoice: Invoice) -> PageEvidence:
        asked = {"transcript": transcript.to_json(), "invoice": invoice.to_json()}
        return await self._parser.run_reader(
            "ingestion.extract.page_evidence:check_invoice", orjson.dumps(asked), _decode_evidence
        )


def _decode_evidence(answer: Any) -> PageEvidence:
    unprinted, ambiguous = frozenset(answer["unprinted"]), frozenset(answer["ambiguous"])
    if not unprinted | ambiguous <= _NAMES:
        raise ValueError("our checker does not answer so")
    return PageEvidence(unprinted, ambiguous)
