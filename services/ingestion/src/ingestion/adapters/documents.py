"""Documents as the API asks for them: always of one tenant."""

from dataclasses import dataclass
from typing import Any

import asyncpg

from ingestion.domain.view import attachment_view, document_view
from mailroom_common.postgres import acquire_session

_LIST = """
    select * from ingestion.document
    where tenant_id = $1
      and ($2::text is null or doc_source_id = $2)
      and ($3::text is null or status = $3)
      and ($4::text is null or content_sha256 = $4)
      and ($5::bigint is null or seq < $5)
    order by seq desc
    limit $6
"""
_ONE = "select * from ingestion.document where document_id = $1 and tenant_id = $2"
_ATTACHMENTS = "select * from ingestion.intake where document_id = $1 order by seq"
_CONTENT = """
    select document.content_type, document.size_bytes, document.blob_key, intake.filename
    from ingestion.document left join ingestion.intake on intake.attachment_id = document.document_id
    where document.document_id = $1 and document.tenant_id = $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    doc_source_id: str | None = None
    status: str | None = None
    content_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    content_type: str
    size_bytes: int
    blob_key: str
    filename: str | None


class PgDocuments:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def page(
        self, tenant_id: str, wanted: DocumentFilter, *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        """The newest first, and the place where the next page begins."""
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                _LIST, tenant_id, wanted.doc_source_id, wanted.status, wanted.content_sha256, before, limit + 1
            )
        shown = [document_view(dict(row)) for row in rows[:limit]]
        return shown, rows[limit - 1]["seq"] if len(rows) > limit else None

    async def one(self, tenant_id: str, document_id: str) -> dict[str, Any] | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_ONE, document_id, tenant_id)
            if row is None:
                return None
            attachments = await conn.fetch(_ATTACHMENTS, document_id)
        return {**document_view(dict(row)), "attachments": [attachment_view(dict(intake)) for intake in attachments]}

    async def content(self, tenant_id: str, document_id: str) -> StoredContent | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_CONTENT, document_id, tenant_id)
        return None if row is None else StoredContent(**row)
