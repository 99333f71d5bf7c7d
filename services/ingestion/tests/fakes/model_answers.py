"""Answers of a language model about one page, and a model that gives them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import orjson

from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import ModelFailure, ModelReply, ModelTokens, PageEvidence
from ingestion.domain.model_question import ModelQuestion
from ingestion.domain.trade import Trade
from ingestion.domain.transcript import Transcript

ROWS = (
    "Shop GmbH  Hauptstrasse 1",
    "Invoice RE-2026/17",
    "Date  01.04.2026",
    "Paper A4  2  50.00  100.00",
    "Net  100.00",
    "VAT 19%  19.00",
    "Total EUR  119.00",
    "IBAN DE89 3704 0044 0532 0130 00",
)
PAGE = Transcript.from_rows(ROWS)
ANSWER: dict[str, Any] = {
    "document_type": "invoice",
    "supplier_name": "Shop GmbH",
    "invoice_number": "RE-2026/17",
    "issue_date": "2026-04-01",
    "due_date": None,
    "currency": "EUR",
    "total_gross": "119.00",
    "total_net": "100.00",
    "total_tax": "19.00",
    "vat_id": None,
    "iban": "DE89370400440532013000",
    "amount_due": None,
    "line_amounts": "net",
    "lines": [
        {"description": "Paper A4", "quantity": "2", "unit_price": "50.00", "amount": "100.00", "tax_rate": None}
    ],
}


def change_answer(**changed: Any) -> str:
    return orjson.dumps({**ANSWER, **changed}).decode()


@dataclass
class FakeModel:
    """Answers as told, and remembers what it was asked; an event in place of an answer is waited for."""

    reply: str | ModelFailure | asyncio.Event
    tokens: ModelTokens = field(default_factory=lambda: ModelTokens(1_000, 200, 100))
    questions: list[ModelQuestion] = field(default_factory=list)
    api: str = "scripted"
    name: str = "scripted:model"

    async def ask(self, question: ModelQuestion) -> ModelReply:
        self.questions.append(question)
        if isinstance(self.reply, asyncio.Event):
            await self.reply.wait()
        if isinstance(self.reply, ModelFailure):
            return ModelReply(None, self.tokens, self.reply)
        return ModelReply(str(self.reply), self.tokens)


@dataclass
class FakeBudget:
    left: int = 1_000_000
    spent: dict[str, int] = field(default_factory=dict)
    cost: float = 0.0

    async def reserve_tokens(
        self, tenant_id: str, day: date, tokens: int, cost: float, *, day_tokens: int, day_cost: float | None
    ) -> bool:
        if self.spent.get(tenant_id, 0) + tokens > min(self.left, day_tokens):
            return False
        self.spent[tenant_id] = self.spent.get(tenant_id, 0) + tokens
        self.cost += cost
        return True

    async def return_tokens(self, tenant_id: str, day: date, tokens: int, cost: float) -> None:
        self.spent[tenant_id] -= tokens
        self.cost -= cost


class FakeChecker:
    """The rules themselves, in this process."""

    error: Exception | None = None

    async def check_invoice(self, transcript: Transcript, invoice: Invoice) -> PageEvidence:
        from io import BytesIO

        from ingestion.extract.page_evidence import check_invoice

        if self.error is not None:
            raise self.error
        asked = {"transcript": transcript.to_json(), "invoice": invoice.to_json()}
        found: Any = check_invoice(BytesIO(orjson.dumps(asked)), {})
        return PageEvidence(frozenset(found["unprinted"]), frozenset(found["ambiguous"]))

    async def check_trades(self, transcript: Transcript, trades: Sequence[Trade]) -> list[frozenset[str]]:
        from io import BytesIO

        from ingestion.extract.trade_evidence import check_trades

        asked = {"transcript": transcript.to_json(), "trades": [trade.to_json() for trade in trades]}
        found: Any = check_trades(BytesIO(orjson.dumps(asked)), {})
        return [frozenset(names) for names in found]
