"""Asking a language model about a document that the local reader has read, within limits and never trusting it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.model_answer import ModelFailure, ModelTokens, ModelUnusable, parse_answer
from ingestion.domain.model_question import ModelQuestion, build_question
from ingestion.domain.model_reading import combine_outcome
from ingestion.domain.model_trade_question import build_trade_question
from ingestion.domain.model_trades import combine_trades, parse_trades
from ingestion.domain.model_use import ModelTask, ModelUses, is_model_asked, lack_model
from ingestion.domain.transcript import PDF, Transcript
from ingestion.ports.blobs import FetchedFile
from ingestion.ports.language_model import LanguageModel, ModelBudget, PageChecker
from mailroom_common.events import Profile
from mailroom_common.logs import get_logger
from mailroom_common.metrics import LLM_CALL_S, LLM_CALLS, LLM_COST, LLM_TOKENS
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile

log = get_logger()

# The model is given the text of what is larger: its pages would cost more than most limits allow.
_MAX_PDF_BYTES = 8 * 1024 * 1024
_MAX_PDF_PAGES = 30
# Of a part of the input that the provider had in its cache.
_CACHED_SHARE = 0.1
_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """Of one document, and of one tenant and day. Prices are for a million tokens; costs are in their currency, None is
    no limit."""

    document_tokens: int
    answer_tokens: int
    document_s: float
    day_tokens: int
    document_cost: float | None = None
    day_cost: float | None = None
    input_price: float = 0.0
    output_price: float = 0.0

    def compute_cost(self, tokens: ModelTokens) -> float:
        read = tokens.read - tokens.cached + tokens.cached * _CACHED_SHARE
        return (read * self.input_price + tokens.written * self.output_price) / _PER_PRICE


class DocumentIdentity(Protocol):
    """Whose document it is, and for which profile it is read: a lease has both."""

    @property
    def document_id(self) -> str: ...

    @property
    def tenant_id(self) -> str: ...

    @property
    def profile(self) -> Profile: ...


class ReadingAssistant:
    """`make_mark` gives random text. `sends_pdf` says whether the model gets the file in place of its text."""

    def __init__(
        self,
        model: LanguageModel,
        budget: ModelBudget,
        checker: PageChecker,
        *,
        uses: ModelUses,
        limits: ModelLimits,
        sends_pdf: bool,
        make_mark: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        self._model = model
        self._budget = budget
        self._checker = checker
        self._uses = uses
        self._limits = limits
        self._sends_pdf = sends_pdf
        self._make_mark = make_mark
        self._clock = clock

    async def assist_outcome(
        self, document: DocumentIdentity, file: FetchedFile, outcome: DocumentOutcome, transcript: Transcript
    ) -> DocumentOutcome:
        """The outcome with what the model adds; the same outcome where it is not asked, or gives no usable answer. It
        notes that the model is missing then, unless the document has no question for it."""
        tasks = self._uses.find_tasks(document.tenant_id, document.profile)
        if not tasks:
            return lack_model(outcome, transcript)
        if not is_model_asked(tasks, outcome, transcript):
            return outcome
        with_fields = bool(tasks & {ModelTask.EXTRACT, ModelTask.UNSURE}) or outcome.extraction is None
        try:
            pdf = await self._choose_pdf(file, transcript)
            read = self._read_trades if document.profile is Profile.CONTRACT_NOTE else self._read_invoice
            assisted = await read(document.tenant_id, outcome, transcript, pdf, with_fields=with_fields)
        except ModelUnusable as error:
            LLM_CALLS.labels(self._model.api, error.failure.value).inc()
            # The document ends as the local reader left it. The reason is the model's or its provider's, or a limit.
            log.warning("model_answer_unusable", document_id=document.document_id, reason=error.failure.value)
            return lack_model(outcome, transcript)
        LLM_CALLS.labels(self._model.api, "answered").inc()
        return assisted

    async def _choose_pdf(self, file: FetchedFile, transcript: Transcript) -> bytes | None:
        if not self._sends_pdf or file.content_type != PDF or transcript.pages > _MAX_PDF_PAGES:
            return None
        content = await asyncio.to_thread(file.path.read_bytes)
        return content if len(content) <= _MAX_PDF_BYTES else None

    async def _read_invoice(
        self, tenant_id: str, outcome: DocumentOutcome, transcript: Transcript, pdf: bytes | None, *, with_fields: bool
    ) -> DocumentOutcome:
        question = build_question(
            transcript,
            mark=self._make_mark(),
            with_fields=with_fields,
            answer_tokens=self._limits.answer_tokens,
            pdf=pdf,
        )
        answer = parse_answer(await self._ask(tenant_id, question), with_fields=with_fields)
        with _raise_check_failures_as_unusable():
            evidence = await self._checker.check_invoice(transcript, answer.invoice)
        return combine_outcome(outcome, answer, evidence, unread=transcript.unread, model=self._model.name)

    async def _read_trades(
        self, tenant_id: str, outcome: DocumentOutcome, transcript: Transcript, pdf: bytes | None, *, with_fields: bool
    ) -> DocumentOutcome:
        """Whether there are trades, and what they are, is one question: `with_fields` is always."""
        del with_fields
        question = build_trade_question(
            transcript, mark=self._make_mark(), answer_tokens=self._limits.answer_tokens, pdf=pdf
        )
        answer = parse_trades(await self._ask(tenant_id, question))
        with _raise_check_failures_as_unusable():
            unprinted = await self._checker.check_trades(transcript, answer.trades)
        return combine_trades(outcome, answer, unprinted, unread=transcript.unread, model=self._model.name)

    async def _ask(self, tenant_id: str, question: ModelQuestion) -> str:
        at_most = ModelTokens(read=question.most_input_tokens, written=question.answer_tokens)
        cost = self._limits.compute_cost(at_most)
        if at_most.total > self._limits.document_tokens or _exceeds(cost, self._limits.document_cost):
            raise ModelUnusable(ModelFailure.DOCUMENT_LIMIT)
        day = self._clock().date()
        is_within = await self._budget.reserve_tokens(
            tenant_id,
            day,
            at_most.total,
            cost,
            day_tokens=self._limits.day_tokens,
            day_cost=self._limits.day_cost,
        )
        if not is_within:
            raise ModelUnusable(ModelFailure.DAY_LIMIT)
        try:
            async with asyncio.timeout(self._limits.document_s):
                with LLM_CALL_S.labels(self._model.api).time():
                    reply = await self._model.ask(question)
        except TimeoutError as error:
            # What was reserved stays counted: the provider may have answered, and charges for it.
            raise ModelUnusable(ModelFailure.TOO_SLOW) from error
        # Of a worker that dies before this, all that was reserved counts: too much rather than too little.
        spent = self._limits.compute_cost(reply.tokens)
        await self._budget.return_tokens(tenant_id, day, at_most.total - reply.tokens.total, cost - spent)
        self._count(reply.tokens, spent)
        if reply.failure is not None or reply.text is None:
            raise ModelUnusable(reply.failure or ModelFailure.BROKEN)
        return reply.text

    def _count(self, tokens: ModelTokens, spent: float) -> None:
        LLM_TOKENS.labels(self._model.api, "read").inc(tokens.read - tokens.cached)
        LLM_TOKENS.labels(self._model.api, "cached").inc(tokens.cached)
        LLM_TOKENS.labels(self._model.api, "written").inc(tokens.written)
        LLM_COST.labels(self._model.api).inc(spent)


@contextmanager
def _raise_check_failures_as_unusable() -> Iterator[None]:
    try:
        yield
    except (ParserLimitReached, ParserCrashed, UnreadableFile) as error:
        raise ModelUnusable(ModelFailure.NOT_CHECKED) from error


def _exceeds(cost: float, limit: float | None) -> bool:
    return limit is not None and cost > limit
