"""What people say about documents: decisions and passwords."""

from collections.abc import Sequence
from typing import Any, Protocol

from ingestion.domain.review import Review


class StaleVersion(Exception):
    """The document has another version by now than the one that the reviewer saw."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the document has version {version} by now")
        self.version = version


class DocumentReviews(Protocol):
    """What people decide about documents, and what became of those: always of one tenant."""

    async def decide_document(self, tenant_id: str, document_id: str, review: Review) -> bool:
        """Make the decision the document's outcome and emit the result of each of its attachments, in one transaction.
        False when the tenant has no such document.

        Raises:
            StaleVersion: it was decided, or read again, since the reviewer looked.
            ReviewRefused: it is not read yet, or the decision makes no sense for it.
        """
        ...

    async def list_history(
        self, tenant_id: str, document_id: str, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None] | None:
        """The newest first, and the position where the next page begins. None when the tenant has no such document."""
        ...


class DocumentPasswords(Protocol):
    async def give_password(self, tenant_id: str, document_id: str, password: str, *, api_key_id: str) -> bool:
        """Keep the password sealed until the document was read with it, which begins as soon as a worker is free.
        False when the tenant has no such document.

        Raises:
            NoPasswordNeeded: the document is not locked, or not read yet.
            TooManyPasswords
        """
        ...
