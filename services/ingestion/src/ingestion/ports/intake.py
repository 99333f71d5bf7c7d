"""Attachments and uploads as they come in, and requests to read their documents again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ingestion.domain.lanes import Lane
from mailroom_common.events import AttachmentStored


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateBlob:
    """The blob of an attachment whose bytes are kept at `kept_key`, as far as the rows know. `content_sha256` is what
    its record said."""

    attachment_id: str
    tenant_id: str
    doc_source_id: str
    content_sha256: str
    key: str
    kept_key: str


class UndeletedDuplicates(Protocol):
    """Blobs of duplicates, from the transaction that records them until they are deleted."""

    async def claim_duplicate(self) -> DuplicateBlob | None:
        """One that nobody has deleted for an hour; it is not claimed again for a day. None where there is none."""
        ...

    async def forget_duplicate(self, attachment_id: str) -> None: ...

    async def count_duplicates(self, *, up_to: int) -> int: ...


class IntakeStore(UndeletedDuplicates, Protocol):
    async def record_attachment(self, stored: AttachmentStored, lane: Lane = Lane.LIVE) -> DuplicateBlob | None:
        """Record an attachment and its document, in one transaction; a record that comes again changes nothing.

        Returns:
            the blob that nobody needs any more, where this is a duplicate.
        """
        ...


class ManualUploads(Protocol):
    """Uploads by hand, from before their first byte until their attachment is recorded."""

    async def record_upload_start(self, attachment_id: str, blob_key: str) -> None: ...

    async def finish_upload(self, attachment_id: str) -> str:
        """Once the attachment is recorded: the id of its document."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadFilter:
    """Final documents of a tenant; None matches any. `reason` is a skip or review reason."""

    doc_source_id: str | None = None
    status: str | None = None
    reason: str | None = None
    reader: str | None = None
    except_reader: str | None = None
    created_since: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class RereadPage:
    """`next_after` is where the next page begins, None after the last one. A page may match nothing and have another
    behind it: only so many documents are looked at for each."""

    matching: int
    requested: int
    next_after: int | None


class Rereads(Protocol):
    """Requests to read final documents again; a document is read again once for each `replay_id`."""

    async def request_by_attachment(self, stored: AttachmentStored, replay_id: str) -> bool:
        """False when the attachment was never recorded.

        Raises:
            Rejected: it is another tenant's, or another doc source's, than the record says.
        """
        ...

    async def request_from_copy(self, copy: DuplicateBlob) -> None:
        """Have the document of this attachment, whose blob is good, read anew unless it was read: once for each
        copy, and also where it is being read at this moment. Raises as `request_by_attachment` does."""
        ...

    async def has_content(self, doc_source_id: str, content_sha256: str) -> bool:
        """Whether the doc source has a document with this content."""
        ...

    async def request_document(self, tenant_id: str, document_id: str, replay_id: str) -> bool:
        """False when the tenant has no such document."""
        ...

    async def count_documents(self, tenant_id: str, wanted: RereadFilter, replay_id: str | None) -> int: ...

    async def request_page(
        self, tenant_id: str, wanted: RereadFilter, replay_id: str, *, after: int, limit: int
    ) -> RereadPage:
        """The next documents that match, in the order in which they were recorded."""
        ...
