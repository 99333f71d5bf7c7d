"""A document and its life: pending → processing → one of four ends. Nothing leaves an end by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NewType, Self
from uuid import UUID

from mailroom_common.events import Profile, ResultStatus

DocumentId = NewType("DocumentId", str)
AttachmentId = NewType("AttachmentId", str)

FINAL = frozenset({ResultStatus.COMPLETED, ResultStatus.NEEDS_REVIEW, ResultStatus.SKIPPED, ResultStatus.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One attachment that was taken in: where a document came from."""

    attachment_id: AttachmentId
    tenant_id: str
    doc_source_id: str
    provider: str
    message_id: str
    internet_message_id: str | None
    part_path: str
    filename: str | None
    content_type: str
    size_bytes: int
    blob_key: str
    sender: str | None
    subject: str | None
    received_at: datetime | None
    folder: str | None

    def source_metadata(self) -> dict[str, Any]:
        """What the API shows of the first attachment (design 7.2)."""
        return {
            "provider": self.provider,
            "message_id": self.message_id,
            "internet_message_id": self.internet_message_id,
            "from": self.sender,
            "subject": self.subject,
            "received_at": None if self.received_at is None else rfc3339(self.received_at),
            "attachment_filename": self.filename,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A time-limited sole claim on a document. `attempt` counts claims, this one included."""

    document_id: DocumentId
    token: UUID
    attempt: int
    tenant_id: str
    doc_source_id: str
    profile: Profile
    content_sha256: str
    content_type: str
    blob_key: str
    first: Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a document ends, and what was read of it. `reason` goes with every status but `completed`."""

    status: ResultStatus
    reason: str | None = None
    document_type: str | None = None
    extraction: Mapping[str, Any] | None = field(default=None, hash=False)
    confidence: float | None = None
    reader: str | None = None
    archive_path: str | None = None

    def __post_init__(self) -> None:
        if self.status not in FINAL:
            raise ValueError(f"{self.status} is no end of a document")
        if (self.reason is None) != (self.status is ResultStatus.COMPLETED):
            raise ValueError("an outcome has a reason unless it is completed")

    def archived(self, path: str) -> Self:
        return replace(self, archive_path=path)

    @property
    def skip_reason(self) -> str | None:
        return self.reason if self.status is ResultStatus.SKIPPED else None

    @property
    def review_reason(self) -> str | None:
        """A failed document needs a person as much as one in review."""
        return self.reason if self.status in (ResultStatus.NEEDS_REVIEW, ResultStatus.FAILED) else None


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often a document is tried, and how long it rests in between."""

    attempts: int
    first_pause: timedelta
    longest_pause: timedelta

    def is_spent(self, attempt: int) -> bool:
        return attempt >= self.attempts

    def pause_after(self, attempt: int) -> timedelta:
        return min(self.first_pause * float(2 ** min(attempt - 1, 20)), self.longest_pause)


def rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
