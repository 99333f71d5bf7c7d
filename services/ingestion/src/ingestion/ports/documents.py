"""Documents as the API shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from ingestion.domain.evidence import PageImage


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    """A document has to match all that is given. `text` and `supplier` are words, in any order."""

    doc_source_id: str | None = None
    status: str | None = None
    content_sha256: str | None = None
    profile: str | None = None
    document_type: str | None = None
    reason: str | None = None
    supplier: str | None = None
    number: str | None = None
    text: str | None = None
    amount_from: Decimal | None = None
    amount_to: Decimal | None = None
    currency: str | None = None
    issued_from: date | None = None
    issued_to: date | None = None
    possible_duplicate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """`copy_keys` are those of its further attachments: after a restore one of these may be what is left."""

    content_type: str
    content_sha256: str
    size_bytes: int
    blob_key: str
    copy_keys: Sequence[str]
    filename: str | None


class DocumentCatalog(Protocol):
    """Documents as the API shows them (`domain/views.py`): always those of one tenant."""

    async def list_documents(
        self, tenant_id: str, document_filter: DocumentFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, and the position where the next page begins."""
        ...

    async def find_document(self, tenant_id: str, document_id: str) -> dict[str, Any] | None: ...

    async def find_content(self, tenant_id: str, document_id: str) -> StoredContent | None: ...


class PageDrawer(Protocol):
    async def draw_page(self, tenant_id: str, file: Path, page: int) -> PageImage | None:
        """The page, counted from 0; None where the file has no such page.

        Raises:
            UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
            ParserUnconfined: no process may open a file here.
            Unavailable: too many pages are waited for.
        """
        ...
