"""What ingestion's tests need again and again: attachments, leases, and ports without the world behind them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from ingestion.domain.document import AttachmentId, DocumentAttachment, DocumentId, DocumentLease, DocumentOutcome
from ingestion.domain.lanes import Lane
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.trade import Direction, Trade
from ingestion.domain.transcript import Transcript, detect_content_type
from ingestion.ports.blobs import FetchedFile
from ingestion.ports.readers import DocumentReaders
from mailroom_common.blobs import BlobNotFound
from mailroom_common.errors import Unavailable
from mailroom_common.events import AttachmentStored, Profile, derive_attachment_id, derive_event_id

NOW = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)
PDF = b"%PDF-1.7 a document"


def build_attachment(**changed: Any) -> DocumentAttachment:
    usual: dict[str, Any] = {
        "attachment_id": AttachmentId("5d1cbe51-0000-5000-8000-000000000001"),
        "tenant_id": "acme",
        "doc_source_id": "source-1",
        "provider": "gmail",
        "message_id": "message-1",
        "internet_message_id": "<m1@x.example>",
        "part_path": "1",
        "filename": "invoice.pdf",
        "detected_content_type": "application/pdf",
        "size_bytes": len(PDF),
        "uploaded_blob_key": "documents/1.pdf",
        "sender_address": "billing@shop.example",
        "subject": "Your invoice",
        "received_at": NOW,
        "folder": "INBOX",
    }
    return DocumentAttachment(**{**usual, **changed})


def build_record(
    content: bytes = PDF,
    *,
    source: str = "source-1",
    message: str = "message-1",
    part: str = "1",
    tenant: str = "acme",
    **changed: Any,
) -> AttachmentStored:
    """A record of `attachments`."""
    identity = derive_attachment_id(source, message, part)
    usual: dict[str, Any] = {
        "event_id": derive_event_id("attachments", identity),
        "occurred_at": NOW,
        "tenant_id": tenant,
        "doc_source_id": source,
        "attachment_id": identity,
        "provider": "outlook",
        "profile": Profile.INVOICE,
        "message_id": message,
        "internet_message_id": f"<{message}@x.example>",
        "part_path": part,
        "filename": "invoice.pdf",
        "content_type": "application/pdf",
        "size_bytes": len(content),
        "content_sha256": sha256(content).hexdigest(),
        "blob_key": f"documents/{identity}.pdf",
        "from_": "billing@shop.example",
        "subject": "Your invoice",
        "received_at": NOW,
        "folder": "Inbox",
    }
    return AttachmentStored(**{**usual, **changed})


def build_trade(**changed: Any) -> Trade:
    """A trade that is whole and adds up."""
    usual: dict[str, Any] = {
        "direction": Direction.BUY,
        "trade_date": date(2026, 4, 1),
        "quantity": Decimal(10),
        "price": Decimal("20.5"),
        "isin": "DE0008404005",
        "currency": "EUR",
        "gross_amount": Decimal(205),
        "fees": Decimal("4.95"),
        "taxes": Decimal(0),
        "settled_amount": Decimal("209.95"),
    }
    return Trade(**{**usual, **changed})


def build_lease(content: bytes = PDF, **changed: Any) -> DocumentLease:
    attachment = build_attachment()
    usual: dict[str, Any] = {
        "document_id": DocumentId(attachment.attachment_id),
        "token": uuid4(),
        "attempt": 1,
        "tenant_id": "acme",
        "doc_source_id": "source-1",
        "profile": Profile.INVOICE,
        "content_sha256": sha256(content).hexdigest(),
        "content_type": "application/pdf",
        "blob_key": attachment.uploaded_blob_key,
        "first_attachment": attachment,
    }
    return DocumentLease(**{**usual, **changed})


T = TypeVar("T", Transcript, Extraction)


@dataclass
class FakeLeases:
    """Hands out the leases given, and remembers what became of them."""

    waiting: list[DocumentLease] = field(default_factory=list)
    is_lost: bool = False
    renewals: int = 0
    failing_renewals: int = 0
    renewed_thrice: asyncio.Event = field(default_factory=asyncio.Event)
    finished: list[tuple[DocumentLease, DocumentOutcome]] = field(default_factory=list)
    failed: DocumentOutcome | None = None
    releases: list[tuple[DocumentLease, datetime, str, bool]] = field(default_factory=list)
    reserved: list[str] = field(default_factory=list)
    paths: dict[DocumentId, str] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)

    async def claim_document(self, lanes: Sequence[Lane] = tuple(Lane)) -> DocumentLease | None:
        return self.waiting.pop(0) if self.waiting else None

    async def renew_lease(self, lease: DocumentLease) -> bool:
        self.renewals += 1
        if self.renewals == 3:
            self.renewed_thrice.set()
        if self.renewals <= self.failing_renewals:
            raise Unavailable("Postgres")
        return not self.is_lost

    async def finish_document(
        self, lease: DocumentLease, outcome: DocumentOutcome, *, failed: DocumentOutcome | None = None
    ) -> DocumentOutcome | None:
        self.failed = failed
        if not self.is_lost:
            self.finished.append((lease, outcome))
        return None if self.is_lost else outcome

    async def read_seconds_until_due(self, lanes: Iterable[Lane] = tuple(Lane)) -> float | None:
        return None

    async def release_document(
        self, lease: DocumentLease, *, not_before: datetime, error: str, count_attempt: bool
    ) -> bool:
        self.releases.append((lease, not_before, error, count_attempt))
        return not self.is_lost

    async def list_copies(self, lease: DocumentLease) -> Sequence[str]:
        return self.copies

    async def reserve_archive_path(self, lease: DocumentLease, paths: Iterable[str]) -> str | None:
        if self.is_lost:
            return None
        if lease.document_id not in self.paths:
            self.paths[lease.document_id] = next(path for path in paths if path not in self.paths.values())
        self.reserved.append(self.paths[lease.document_id])
        return self.reserved[-1]


@dataclass
class FakeBlobs:
    """DocumentBlobs in memory, through a folder of the test's."""

    folder: Path
    blobs: dict[str, bytes] = field(default_factory=dict)
    archived: dict[str, dict[str, str]] = field(default_factory=dict)

    @asynccontextmanager
    async def fetch_blob(self, key: str) -> AsyncIterator[FetchedFile]:
        if key not in self.blobs:
            raise BlobNotFound(f"there is no blob {key}")
        content = self.blobs[key]
        path = self.folder / "document"
        path.write_bytes(content)
        yield FetchedFile(path, sha256(content).hexdigest(), detect_content_type(content))

    async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
        self.archived[path] = dict(metadata)

    async def compute_sha256(self, key: str) -> str | None:
        return sha256(self.blobs[key]).hexdigest() if key in self.blobs else None

    async def delete_blob(self, key: str) -> None:
        self.blobs.pop(key, None)

    async def has_blob(self, key: str) -> bool:
        return key in self.blobs


@dataclass
class FakeReading:
    """Transcriber, classifies and extracts as told; an exception in place of an answer is raised."""

    transcript: Transcript | Exception
    classification: Classification = field(default_factory=lambda: Classification("invoice", 0.9))
    extraction: Extraction | Exception | None = None
    opened: int = 0
    closed: int = 0
    profiles: list[Profile] = field(default_factory=list)
    passwords: list[str | None] = field(default_factory=list)

    @asynccontextmanager
    async def open_readers(self, profile: Profile = Profile.INVOICE) -> AsyncIterator[DocumentReaders]:
        self.opened += 1
        self.profiles.append(profile)
        try:
            yield DocumentReaders(transcriber=self, classifier=self, extractor=self)
        finally:
            self.closed += 1

    async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
        self.passwords.append(password)
        return _return_or_raise(self.transcript)

    async def classify_transcript(self, transcript: Transcript) -> Classification:
        return self.classification

    async def extract_fields(self, transcript: Transcript) -> Extraction:
        if self.extraction is None:
            raise AssertionError("nothing was to be extracted")
        return _return_or_raise(self.extraction)


def _return_or_raise(answer: T | Exception) -> T:
    if isinstance(answer, Exception):
        raise answer
    return answer
