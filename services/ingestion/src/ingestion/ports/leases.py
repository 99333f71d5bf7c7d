"""Claims on documents that are to be read."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.lanes import Lane


class DocumentLeases(Protocol):
    """Claims on documents. Where a lease is asked for, another holder of it makes the answer False or None."""

    async def claim_document(self, lanes: Sequence[Lane] = ...) -> DocumentLease | None:
        """From the first of the lanes that has one."""
        ...

    async def read_seconds_until_due(self, lanes: Iterable[Lane] = ...) -> float | None:
        """Seconds until a document may be claimed, negative when it may be now; None when none waits."""
        ...

    async def renew_lease(self, lease: DocumentLease) -> bool: ...

    async def finish_document(
        self, lease: DocumentLease, outcome: DocumentOutcome, *, failed: DocumentOutcome | None = None
    ) -> DocumentOutcome | None:
        """Make the outcome final and emit the result of every attachment of the document, in one transaction. An
        outcome that equals the former one repeats the former results. `failed` is how another reading ended that read
        nothing, where `outcome` is the former one.

        Returns:
            the outcome that the document has then: a person's decision stands, and an account that is new for its
            supplier puts it to review.
        """
        ...

    async def release_document(
        self, lease: DocumentLease, *, not_before: datetime, error: str, count_attempt: bool
    ) -> bool:
        """Let the document wait for another attempt. `count_attempt` False: this one says nothing about it."""
        ...

    async def list_copies(self, lease: DocumentLease) -> Sequence[str]:
        """Keys under which other attachments of the document were uploaded; most of these blobs are deleted."""
        ...

    async def reserve_archive_path(self, lease: DocumentLease, paths: Iterable[str]) -> str | None:
        """The path that an earlier attempt reserved, else the first that no other document has; None when the lease is
        lost, or all are taken."""
        ...
