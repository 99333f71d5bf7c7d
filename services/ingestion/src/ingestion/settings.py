"""The settings of each process, read from the environment."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from ingestion.domain.extraction_router import DEFAULT_TRADE_CONFIDENCE
from ingestion.domain.model_use import ModelUses
from ingestion.domain.ocr_alphabet import LANGUAGES
from ingestion.domain.order_matching import MAX_TOLERATED_DAYS, OrderTolerance
from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    DatabaseSettings,
    KafkaSettings,
    MailroomSettings,
    OptionalSealingSettings,
    ParserSettings,
    ProcessSettings,
    TLSSettings,
    build_conflict,
)
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.transport_security import HTTPSAddress

_ANTHROPIC_URL = "https://api.anthropic.com"

_MiB = 1024 * 1024
_LONGEST_OPEN_DAYS = 366


class OCRSettings(MailroomSettings):
    """Of reading pages that are pictures."""

    # As many documents are read by OCR at once, beside those of `MAILROOM_PARSER_PROCESSES`; 0: OCR is off.
    ocr_processes: int = Field(default=0, ge=0, le=16)
    # Languages of the documents, with commas between: letters that none of them has are not read.
    ocr_languages: str = "en,de,fr,es,it,nl,pt,pl,cs,da,sv"
    # Pages of one document that are read by OCR: its first and last ones.
    ocr_pages: int = Field(default=10, ge=1)
    # Address space that an OCR process may use, the models included.
    ocr_memory_bytes: int = Field(default=2048 * _MiB, ge=1024 * _MiB)
    # CPU time that one document may cost in OCR: 7 s a page, and twice that on a machine with other work.
    ocr_cpu_s: int = Field(default=240, ge=1)
    # Time that one document may take in OCR, waiting included.
    ocr_wall_s: float = Field(default=600, gt=0)

    @property
    def ocr_language_list(self) -> list[str]:
        return [language.strip() for language in self.ocr_languages.split(",")]

    @field_validator("ocr_languages")
    @classmethod
    def _require_known_languages(cls, value: str) -> str:
        if unknown := sorted({language.strip() for language in value.split(",")} - LANGUAGES):
            raise ValueError(f"has {', '.join(unknown)}, and should name some of {', '.join(sorted(LANGUAGES))}")
        return value


class PasswordSettings(OptionalSealingSettings):
    """Of passwords of locked documents, between their request and the reading that uses them."""

    @property
    def password_keys(self) -> SealingKeys | None:
        return None if self.token_keys is None else SealingKeys.parse_keys(self.token_keys.get_secret_value())


class LanguageModelSettings(TLSSettings):
    """Of a language model that reads documents too. Off by default: no document leaves the site."""

    # What the model's endpoint speaks: `anthropic`, or `openai` for any server with OpenAI's chat completions.
    llm_api: Literal["anthropic", "openai"] = "anthropic"
    # Base URL of the endpoint; `openai`: what stands before `/chat/completions`, with its version.
    llm_url: HTTPSAddress = _ANTHROPIC_URL
    # Key for the endpoint.
    llm_key: SecretStr | None = None
    # Name of the model, as the endpoint calls it.
    llm_model: str = ""
    # What the model is given: the `text` that the local reader found, or the `pdf` itself (`anthropic` only).
    llm_input: Literal["text", "pdf"] = "text"
    # Most tokens that one document may cost, question and answer; a document that may cost more is not asked about.
    llm_document_tokens: int = Field(default=60_000, ge=1)
    # Most tokens of an answer.
    llm_answer_tokens: int = Field(default=8_000, ge=100)
    # Longest wait for the answer about one document, with its retries.
    llm_document_s: float = Field(default=90, gt=0)
    # Most tokens that the documents of one tenant may cost in a day (UTC).
    llm_day_tokens: int = Field(default=5_000_000, ge=1)
    # Most that one document may cost, in the currency of the prices; empty: only tokens count.
    llm_document_cost: float | None = Field(default=None, gt=0)
    # Most that the documents of one tenant may cost in a day (UTC).
    llm_day_cost: float | None = Field(default=None, gt=0)
    # Price of a million tokens that the model reads.
    llm_input_price: float = Field(default=0, ge=0)
    # Price of a million tokens that it writes.
    llm_output_price: float = Field(default=0, ge=0)
    # Documents of which answers are awaited at once, beside those that are read.
    llm_concurrent: int = Field(default=2, ge=1, le=64)

    # Whose documents a language model reads too, and for what: comma-separated `tenant:profile:task`, none by default.
    # Tenant `*` is any; a task is `classify`, `extract`, `unsure` (what the local reader leaves to a person) or `off`.
    llm_use: str = ""

    @property
    def llm_uses(self) -> ModelUses:
        return ModelUses.parse(self.llm_use)

    @field_validator("llm_use")
    @classmethod
    def _has_whole_model(cls, value: str, info: ValidationInfo) -> str:
        if ModelUses.parse(value) and (mistake := _find_model_mistake(info.data)):
            raise build_conflict(mistake)
        return value


def _find_model_mistake(given: Mapping[str, Any]) -> str | None:
    """`given` has the valid settings only: what is wrong by itself is said by itself."""
    if given.get("llm_model") == "":
        return "MAILROOM_LLM_USE asks for a language model, and MAILROOM_LLM_MODEL does not name it"
    if given.get("llm_api") == "anthropic" and given.get("llm_key", "wrong") is None:
        return "MAILROOM_LLM_USE asks for a language model, and MAILROOM_LLM_KEY is missing"
    if given.get("llm_api") == "openai" and given.get("llm_url") == _ANTHROPIC_URL:
        return "MAILROOM_LLM_API is openai, and MAILROOM_LLM_URL does not say where that is"
    if given.get("llm_api") == "openai" and given.get("llm_input") == "pdf":
        return "MAILROOM_LLM_INPUT is pdf, which MAILROOM_LLM_API=openai cannot take: use text"
    has_cost = given.get("llm_document_cost") or given.get("llm_day_cost")
    if has_cost and not (given.get("llm_input_price", 1) and given.get("llm_output_price", 1)):
        return (
            "MAILROOM_LLM_DOCUMENT_COST and MAILROOM_LLM_DAY_COST need MAILROOM_LLM_INPUT_PRICE and "
            "MAILROOM_LLM_OUTPUT_PRICE"
        )
    return None


class OrderMatchingSettings(MailroomSettings):
    """Of linking trades to pending orders."""

    # JSON: doc source id, tenant, or `*` for all others → how far a trade may be from its pending order:
    # `quantity_percent` (0), `price_percent` beyond the limit (0), `days` before it and after its last day (1), and
    # `open_days` (30), how long an order is open that names no last day.
    order_tolerances: dict[str, OrderTolerance] = Field(default_factory=dict)

    @field_validator("order_tolerances", mode="before")
    @classmethod
    def _require_known_tolerances(cls, value: Any) -> Any:
        """A name that is misspelt would otherwise be a tolerance that was never set."""
        given = {
            str(name)
            for one in (value.values() if isinstance(value, dict) else ())
            if isinstance(one, dict)
            for name in one
        }
        if unknown := sorted(given - {field.name for field in fields(OrderTolerance)}):
            raise ValueError(f"has {', '.join(unknown)}, which is no tolerance")
        return value

    @field_validator("order_tolerances")
    @classmethod
    def _require_small_tolerances(cls, value: dict[str, OrderTolerance]) -> dict[str, OrderTolerance]:
        for name, one in value.items():
            if not (0 <= one.quantity_percent <= 100 and 0 <= one.price_percent <= 100):
                raise ValueError(f"has a percentage for {name} that is not from 0 to 100")
            if not (0 <= one.days <= MAX_TOLERATED_DAYS and 0 <= one.open_days <= _LONGEST_OPEN_DAYS):
                raise ValueError(
                    f"has days for {name} that are not from 0 to {MAX_TOLERATED_DAYS}, "
                    f"or open_days that are not from 0 to {_LONGEST_OPEN_DAYS}"
                )
        return value


class WorkerSettings(
    ProcessSettings,
    KafkaSettings,
    DatabaseSettings,
    BlobSettings,
    ParserSettings,
    PasswordSettings,
    OCRSettings,
    LanguageModelSettings,
    OrderMatchingSettings,
):
    http_port: int = 8085
    document_lease_s: float = Field(default=30, ge=1)  # a worker that died is taken over after at most so long
    # Attempts before a document ends as `failed`; a dependency that is away costs none.
    document_attempts: int = Field(default=5, ge=1)
    document_pause_s: float = Field(default=5, gt=0)  # after the first failure; it doubles
    # Longest pause between two attempts.
    document_longest_pause_s: float = Field(default=300, gt=0)
    # The least confidence with which trades are confirmed without a person; below it they go to review.
    trade_confidence: float = Field(default=DEFAULT_TRADE_CONFIDENCE, ge=0, le=1)
    # JSON: doc source id → the least confidence for what is read from it, invoices included.
    confidence_by_doc_source: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    # How long events are kept for streams that resume.
    document_event_days: float = Field(default=30, gt=0)


class DocumentsAPISettings(
    ProcessSettings, DatabaseSettings, BlobSettings, APISettings, ParserSettings, PasswordSettings
):
    http_port: int = 8082
    parser_processes: int = Field(default=1, ge=1, le=64)  # as many pages are drawn at once
    parser_memory_bytes: int = Field(default=512 * _MiB, ge=128 * _MiB)
    parser_cpu_s: int = Field(default=10, ge=1)
    parser_wall_s: float = Field(default=20, gt=0)
    # How long a browser's ticket for the event stream is valid.
    event_ticket_s: float = Field(default=60, gt=0)
    # Pause between two heartbeats of an idle event stream.
    event_heartbeat_s: float = Field(default=15, gt=0)
