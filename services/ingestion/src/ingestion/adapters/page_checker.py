"""Holding a language model's answer against the page, in a parser process of its own."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from ingestion.adapters.reader_runner import ReaderRunner, require_agreed
from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import PageEvidence
from ingestion.domain.trade import TRADE_FIELDS, Trade
from ingestion.domain.transcript import Transcript

_INVOICE_NAMES = frozenset(Invoice().to_json())
_TRADE_NAMES = frozenset(TRADE_FIELDS)


class ParserPageChecker:
    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def check_invoice(self, transcript: Transcript, invoice: Invoice) -> PageEvidence:
        asked = {"transcript": transcript.to_json(), "invoice": invoice.to_json()}
        return await self._parser.run_reader(
            "ingestion.extract.page_evidence:check_invoice", orjson.dumps(asked), _decode_evidence
        )

    async def check_trades(self, transcript: Transcript, trades: Sequence[Trade]) -> list[frozenset[str]]:
        asked = {"transcript": transcript.to_json(), "trades": [trade.to_json() for trade in trades]}
        return await self._parser.run_reader(
            "ingestion.extract.trade_evidence:check_trades",
            orjson.dumps(asked),
            partial(_decode_unprinted, trades=len(trades)),
        )


def _decode_unprinted(answer: Any, trades: int) -> list[frozenset[str]]:
    unprinted = [frozenset(names) for names in answer]
    require_agreed(len(unprinted) == trades and all(names <= _TRADE_NAMES for names in unprinted))
    return unprinted


def _decode_evidence(answer: Any) -> PageEvidence:
    unprinted, ambiguous = frozenset(answer["unprinted"]), frozenset(answer["ambiguous"])
    require_agreed(unprinted | ambiguous <= _INVOICE_NAMES)
    return PageEvidence(unprinted, ambiguous)
