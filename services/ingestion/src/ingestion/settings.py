"""The settings of each process, read from the environment."""

from typing import Annotated

from pydantic import Field, field_validator

from ingestion.domain.extraction_router import DEFAULT_TRADE_CONFIDENCE
from ingestion.domain.ocr_alphabet import LANGUAGES
from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    DatabaseSettings,
    KafkaSettings,
    MailroomSettings,
    ParserSettings,
    ProcessSettings,
)

_MiB = 1024 * 1024


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
    # CPU time that one document may cost in OCR.
    ocr_cpu_s: int = Field(default=120, ge=1)
    # Time that one document may take in OCR, waiting included.
    ocr_wall_s: float = Field(default=300, gt=0)

    @property
    def ocr_language_list(self) -> list[str]:
        return [language.strip() for language in self.ocr_languages.split(",")]

    @field_validator("ocr_languages")
    @classmethod
    def _require_known_languages(cls, value: str) -> str:
        if unknown := sorted({language.strip() for language in value.split(",")} - LANGUAGES):
            raise ValueError(f"has {', '.join(unknown)}, and should name some of {', '.join(sorted(LANGUAGES))}")
        return value


class WorkerSettings(ProcessSettings, KafkaSettings, DatabaseSettings, BlobSettings, ParserSettings, OCRSettings):
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


class DocumentsAPISettings(ProcessSettings, DatabaseSettings, BlobSettings, APISettings):
    http_port: int = 8082
    # How long a browser's ticket for the event stream is valid.
    event_ticket_s: float = Field(default=60, gt=0)
    # Pause between two heartbeats of an idle event stream.
    event_heartbeat_s: float = Field(default=15, gt=0)
