"""A document and its life: pending → processing → one of four final states. Nothing leaves a final state by itself.

A final document that is read again keeps its state and result until that reading ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NewType, Self
from uuid import UUID

from ingestion.domain.document_password import GivenPassword, is_locked
from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.lanes import Lane
from ingestion.domain.missing_readers import MissingReaders, ReadingTraits, is_less_for_want
from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason
from mailroom_common.events import Profile, ResultStatus

DocumentId = NewType("DocumentId", str)
AttachmentId = NewType("AttachmentId", str)

FINAL_STATUSES = frozenset(
    {ResultStatus.COMPLETED, ResultStatus.NEEDS_REVIEW, ResultStatus.SKIPPED, ResultStatus.FAILED}
)


# The reader reached a limit or ended: another reader, or the same on a quieter machine, may do better.
_NOT_A_READING = frozenset({ReviewReason.READER_LIMIT, ReviewReason.READER_CRASHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAttachment:
    """One attachment with the content of a document: a row of `ingestion.intake`."""

    attachment_id: AttachmentId
    tenant_id: str
    doc_source_id: str
    provider: str
    message_id: str
    internet_message_id: str | None
    part_path: str
    filename: str | None
    detected_content_type: str
    size_bytes: int
    uploaded_blob_key: str
    sender_address: str | None
    subject: str | None
    received_at: datetime | None
    folder: str | None

    def build_source_metadata(self) -> dict[str, Any]:
        """What the API shows of the first attachment (design 7.2)."""
        return {
            "provider": self.provider,
            "message_id": self.message_id,
            "internet_message_id": self.internet_message_id,
            "from": self.sender_address,
            "subject": self.subject,
            "received_at": None if self.received_at is None else format_rfc3339(self.received_at),
            "attachment_filename": self.filename,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLease:
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
    first_attachment: DocumentAttachment
    former: "DocumentOutcome | None" = None  # set: it is read again, and this is the outcome that stands meanwhile
    password: GivenPassword | None = None  # that somebody gave for this reading
    is_decided: bool = False  # a person decided: the former outcome stands, whatever is read now
    lane: Lane = Lane.LIVE

    def find_current_outcome(self, reading: "DocumentOutcome") -> "DocumentOutcome":
        """What the document says once this reading has ended."""
        if self.former is not None and (self.is_decided or reading.lacks_readers_of(self.former)):
            return self.former
        return reading


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOutcome:
    """The final state of a document, and what was read of it. Every status but `completed` has a reason."""

    status: ResultStatus
    reason: Reason | None = None
    document_type: str | None = None
    extraction: Mapping[str, Any] | None = field(default=None, hash=False)
    confidence: float | None = None
    reader: str | None = None
    archive_path: str | None = None
    # Where the values stand; another reading that says the same of other places says the same.
    boxes: tuple[EvidenceBox, ...] = field(default=(), compare=False, repr=False)
    # Pages (from 0) of which nothing was read, or not all.
    pages_not_read: tuple[int, ...] = field(default=(), compare=False)
    missing_readers: MissingReaders = field(default_factory=MissingReaders, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.status not in FINAL_STATUSES:
            raise ValueError(f"{self.status} is no final state of a document")
        if (self.reason is None) != (self.status is ResultStatus.COMPLETED):
            raise ValueError("an outcome has a reason unless it is completed")
        if (self.status is ResultStatus.SKIPPED) != isinstance(self.reason, DocumentSkipReason):
            raise ValueError(f"{self.reason} is no reason for {self.status}")

    @property
    def is_reading(self) -> bool:
        """Whether the document was read, as far as it can be: otherwise the attempt says nothing about its content."""
        return self.status is not ResultStatus.FAILED and self.reason not in _NOT_A_READING

    def takes_place_of(self, former: "DocumentOutcome") -> bool:
        """Whether another reading of a document replaces what the former one said."""
        if is_locked(former.reason):
            # Nothing was read of it: how far a reading came with its password is more.
            return self.status is not ResultStatus.FAILED
        # What a password opened once, a reading without it finds locked again.
        return self.is_reading and not is_locked(self.reason) and not self.lacks_readers_of(former)

    def lacks_readers_of(self, former: "DocumentOutcome") -> bool:
        """Whether the former outcome was read by OCR or a language model that this reading had to do without."""
        return is_less_for_want(self.missing_readers, self._list_traits(), former._list_traits())

    def _list_traits(self) -> ReadingTraits:
        return ReadingTraits(self.reader, self.reason, self.pages_not_read)

    def list_trades(self) -> list[Mapping[str, Any]]:
        """The trades that were read and stand: not those that the document takes back, nor any of a skipped one."""
        return [trade for _, trade in self.list_placed_trades()]

    def list_placed_trades(self) -> list[tuple[int, Mapping[str, Any]]]:
        """The same, each behind its place in the document."""
        if self.status is ResultStatus.SKIPPED:
            return []  # one that a person rejected still says what was read of it
        trades = (self.extraction or {}).get("trades", [])
        return [(place, trade) for place, trade in enumerate(trades) if not trade["is_cancellation"]]

    def with_archive_path(self, path: str) -> Self:
        return replace(self, archive_path=path)

    @property
    def skip_reason(self) -> DocumentSkipReason | None:
        return self.reason if isinstance(self.reason, DocumentSkipReason) else None

    @property
    def review_reason(self) -> ReviewReason | None:
        return self.reason if isinstance(self.reason, ReviewReason) else None


@dataclass(frozen=True, slots=True)
class AttemptPolicy:
    """How often a document is tried, and how long it waits in between: twice as long each time, up to a longest."""

    max_attempts: int
    first_pause: timedelta
    longest_pause: timedelta

    def is_spent(self, attempt: int) -> bool:
        return attempt >= self.max_attempts

    def pause_after(self, attempt: int) -> timedelta:
        return min(self.first_pause * float(2 ** min(attempt - 1, 20)), self.longest_pause)


def format_rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
