"""The language model, what it may cost, and the check of its answers."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import ModelReply, PageEvidence
from ingestion.domain.model_question import ModelQuestion
from ingestion.domain.trade import Trade
from ingestion.domain.transcript import Transcript


class LanguageModel(Protocol):
    """`api` is a label of metrics, `name` says which model read a document."""

    api: str
    name: str

    async def ask(self, question: ModelQuestion) -> ModelReply:
        """Tries again what may pass within the time of a document; what fails for good is said in the reply."""
        ...


class ModelBudget(Protocol):
    async def reserve_tokens(
        self, tenant_id: str, day: date, tokens: int, cost: float, *, day_tokens: int, day_cost: float | None
    ) -> bool:
        """False when the tenant would have used more than a day's tokens or cost, those of calls under way included."""
        ...

    async def return_tokens(self, tenant_id: str, day: date, tokens: int, cost: float) -> None:
        """What was reserved and not used."""
        ...


class PageChecker(Protocol):
    async def check_invoice(self, transcript: Transcript, invoice: Invoice) -> PageEvidence:
        """
        Raises:
            ParserLimitReached, ParserCrashed, UnreadableFile: as `Transcriber`.
        """
        ...

    async def check_trades(self, transcript: Transcript, trades: Sequence[Trade]) -> list[frozenset[str]]:
        """For each trade the names of fields whose value is not on the page. Raises as `check_invoice`."""
        ...
