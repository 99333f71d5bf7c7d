from dataclasses import dataclass, field
from enum import StrEnum

from mailroom_common.events.base import Event


class ResultStatus(StrEnum):
    """Every status but `pending` and `processing` is final, and only final ones are published."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    NEEDS_REVIEW = "needs_review"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionResult(Event):
    """What became of one attachment. `extraction` and each of `trades` are JSON texts; `confidence` is 0 to 1."""

    attachment_id: str
    document_id: str
    duplicate_of: str | None = None
    message_id: str | None = None
    status: ResultStatus
    reason: str | None = None
    document_type: str | None = None
    confidence: float | None = None
    extraction: str | None = None
    trades: list[str] = field(default_factory=list)
    archive_path: str | None = None
    reader: str | None = None
    attempt: int = 1
