"""The settings of each process, read from the environment."""

from typing import Annotated

from pydantic import Field

from ingestion.domain.extraction_router import DEFAULT_TRADE_CONFIDENCE
from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    DatabaseSettings,
    KafkaSettings,
    ParserSettings,
    ProcessSettings,
)


class WorkerSettings(ProcessSettings, KafkaSettings, DatabaseSettings, BlobSettings, ParserSettings):
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
