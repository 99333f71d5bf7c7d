"""What ingestion's tests need again and again: attachments, leases, and ports without the world behind them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from ingestion.domain.content import content_type_of
from ingestion.domain.document import Attachment, AttachmentId, DocumentId, Lease, Outcome
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from ingestion.ports import Fetched
from mailroom_common.blobs import BlobNotFound
from mailroom_common.errors import Unavailable
from mailroom_common.events import AttachmentStored, Profile, derive_attachment_id, derive_event_id

NOW = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)
PDF = b"%PDF-1.7 a document"


def an_attachment(**changed: Any) -> Attachment:
    usual: dict[str, Any] = {
        "attachment_id": AttachmentId("5d1cbe51-0000-5000-8000-000000000001"),
        "tenant_id": "acme",
        "doc_source_id": "source-1",
        "provider": "gmail",
        "message_id": "message-1",
        "internet_message_id": "<m1@x.example>",
        "part_path": "1",
        "filename": "invoice.pdf",
        "content_type": "application/pdf",
        "size_bytes": len(PDF),
        "blob_key": "documents/1.pdf",
        "sender": "billing@shop.example",
        "subject": "Your invoice",
        "received_at": NOW,
        "folder": "INBOX",
    }
    return Attachment(**{**usual, **changed})


def stored(
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


def a_lease(content: bytes = PDF, **changed: Any) -> Lease:
    attachment = an_attachment()
    usual: dict[str, Any] = {
        "document_id": DocumentId(attachment.attachment_id),
        "token": uuid4(),
        "attempt": 1,
        "tenant_id": "acme",
        "doc_source_id": "source-1",
        "profile": Profile.INVOICE,
        "content_sha256": sha256(content).hexdigest(),
        "content_type": "application/pdf",
        "blob_key": attachment.blob_key,
        "first": attachment,
    }
    return Lease(**{**usual, **changed})


T = TypeVar("T", Transcript, Extraction)


@dataclass
class FakeLeases:
    """Hands out the leases given, and remembers what became of them."""

    waiting: list[Lease] = field(default_factory=list)
    is_lost: bool = False
    renewals: int = 0
    failing_renewals: int = 0
    renewed_thrice: asyncio.Event = field(default_factory=asyncio.Event)
    finished: list[tuple[Lease, Outcome]] = field(default_factory=list)
    put_backs: list[tuple[Lease, datetime, str, bool]] = field(default_factory=list)
    reserved: list[str] = field(default_factory=list)

    async def claim(self) -> Lease | None:
        return self.waiting.pop(0) if self.waiting else None

    async def renew(self, lease: Lease) -> bool:
        self.renewals += 1
        if self.renewals == 3:
            self.renewed_thrice.set()
        if self.renewals <= self.failing_renewals:
            raise Unavailable("Postgres")
        return not self.is_lost

    async def finish(self, lease: Lease, outcome: Outcome) -> bool:
        if not self.is_lost:
            self.finished.append((lease, outcome))
        return not self.is_lost

    async def put_back(self, lease: Lease, *, not_before: datetime, error: str, counts: bool) -> bool:
        self.put_backs.append((lease, not_before, error, counts))
        return not self.is_lost

    async def reserve_archive_path(self, lease: Lease, paths: Iterable[str]) -> str | None:
        if self.is_lost:
            return None
        self.reserved.append(next(iter(paths)))
        return self.reserved[-1]


@dataclass
class FakeBlobs:
    """Blobs in memory, through a folder of the test's."""

    folder: Path
    blobs: dict[str, bytes] = field(default_factory=dict)
    archived: dict[str, dict[str, str]] = field(default_factory=dict)

    @asynccontextmanager
    async def fetched(self, key: str) -> AsyncIterator[Fetched]:
        if key not in self.blobs:
            raise BlobNotFound(f"there is no blob {key}")
        content = self.blobs[key]
        path = self.folder / "document"
        path.write_bytes(content)
        yield Fetched(path, sha256(content).hexdigest(), content_type_of(content))

    async def archive(self, file: Fetched, path: str, *, metadata: Mapping[str, str]) -> None:
        self.archived[path] = dict(metadata)

    async def delete(self, key: str) -> None:
        self.blobs.pop(key, None)


@dataclass
class FakeReading:
    """Transcribes, classifies and extracts as told; an exception in place of an answer is raised."""

    transcript: Transcript | Exception
    classification: Classification = field(default_factory=lambda: Classification("invoice", 0.9))
    extraction: Extraction | Exception | None = None

    async def transcribe(self, file: Path) -> Transcript:
        return _told(self.transcript)

    async def classify(self, transcript: Transcript) -> Classification:
        return self.classification

    async def extract(self, transcript: Transcript) -> Extraction:
        if self.extraction is None:
            raise AssertionError("nothing was to be extracted")
        return _told(self.extraction)


def _told(answer: T | Exception) -> T:
    if isinstance(answer, Exception):
        raise answer
    return answer
