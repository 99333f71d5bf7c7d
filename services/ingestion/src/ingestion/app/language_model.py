"""The language model that a worker asks, made from its settings; none unless a tenant's documents are to have it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from secrets import token_hex

from ingestion.adapters.page_checker import ParserPageChecker
from ingestion.adapters.reader_runner import ReaderRunner
from ingestion.handlers.assist_reading import ModelLimits, ReadingAssistant
from ingestion.ports.language_model import LanguageModel, ModelBudget
from ingestion.settings import LanguageModelSettings


@asynccontextmanager
async def open_assistant(
    settings: LanguageModelSettings, budget: ModelBudget, parser: ReaderRunner, *, clock: Callable[[], datetime]
) -> AsyncIterator[ReadingAssistant | None]:
    """None where no document is to have a model: then its client is not even imported."""
    uses = settings.llm_uses
    if not uses:
        yield None
        return
    async with open_model(settings) as model:
        yield ReadingAssistant(
            model,
            budget,
            ParserPageChecker(parser),
            uses=uses,
            limits=build_limits(settings),
            sends_pdf=settings.llm_input == "pdf",
            make_mark=lambda: token_hex(8),
            clock=clock,
        )


def open_model(settings: LanguageModelSettings) -> AbstractAsyncContextManager[LanguageModel]:
    key = settings.llm_key.get_secret_value() if settings.llm_key is not None else None
    if settings.llm_api == "anthropic":
        from ingestion.adapters.anthropic_model import open_anthropic_model

        return open_anthropic_model(
            settings,
            url=settings.llm_url,
            key=key or "",
            model=settings.llm_model,
            timeout_s=settings.llm_document_s,
        )
    from ingestion.adapters.openai_model import open_openai_model

    return open_openai_model(
        settings, url=settings.llm_url, key=key, model=settings.llm_model, timeout_s=settings.llm_document_s
    )


def build_limits(settings: LanguageModelSettings) -> ModelLimits:
    return ModelLimits(
        document_tokens=settings.llm_document_tokens,
        answer_tokens=settings.llm_answer_tokens,
        document_s=settings.llm_document_s,
        day_tokens=settings.llm_day_tokens,
        document_cost=settings.llm_document_cost,
        day_cost=settings.llm_day_cost,
        input_price=settings.llm_input_price,
        output_price=settings.llm_output_price,
    )
