"""Documents as the API asks for them: always of one tenant."""

from typing import Any

import asyncpg

from ingestion.adapters.bounded_rows import fetch_bounded, open_search_transaction
from ingestion.adapters.document_evidence import find_evidence
from ingestion.adapters.document_search import (
    LEDGER_STATES,
    POSSIBLE_DUPLICATES,
    build_search,
    build_selection,
    has_words,
)
from ingestion.adapters.word_search import WordMatches, find_word_matches
from ingestion.domain.views import build_attachment_view, build_document_view
from ingestion.ports.documents import DocumentFilter, StoredContent
from mailroom_common.postgres import acquire_session

_FIND = f"""
    select document.*, {POSSIBLE_DUPLICATES}, {LEDGER_STATES} from ingestion.document
    where document_id = $1 and tenant_id = $2
"""  # noqa: S608  # a constant
# One sender may have sent the same content a hundred thousand times, 500 times with each mail.
_LIST_ATTACHMENTS = "select * from ingestion.intake where document_id = $1 order by seq limit 1000"
_FIND_CONTENT = """
    select document.content_type, document.content_sha256, document.size_bytes, document.blob_key, intake.filename,
           array(select copy.uploaded_blob_key from ingestion.intake copy
                 where copy.document_id = document.document_id and copy.uploaded_blob_key <> document.blob_key
                 order by copy.seq desc limit 100) as copy_keys
    from ingestion.document left join ingestion.intake on intake.attachment_id = document.document_id
    where document.document_id = $1 and document.tenant_id = $2
"""


class PgDocumentCatalog:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_documents(
        self, tenant_id: str, document_filter: DocumentFilter, *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        if has_words(document_filter):
            async with open_search_transaction(self._pool) as conn:
                matches = await find_word_matches(conn, tenant_id, document_filter, before=before, limit=limit)
            if matches is not None:
                return await self._list_matches(tenant_id, matches)
        # One row more than asked for says whether there is another page.
        statement, values = build_search(tenant_id, document_filter, before=before, limit=limit + 1)
        rows, has_more = await fetch_bounded(self._pool, statement, *values)
        page = rows[:limit]
        has_more = has_more or len(rows) > limit
        return [build_document_view(dict(row)) for row in page], page[-1]["seq"] if has_more else None

    async def _list_matches(self, tenant_id: str, matches: WordMatches) -> tuple[list[dict[str, Any]], int | None]:
        statement, values = build_selection(tenant_id, matches.positions)
        rows, is_cut = await fetch_bounded(self._pool, statement, *values)
        return [build_document_view(dict(row)) for row in rows], rows[-1]["seq"] if is_cut else matches.next_before

    async def find_document(self, tenant_id: str, document_id: str) -> dict[str, Any] | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_FIND, document_id, tenant_id)
            if row is None:
                return None
            attachments = await conn.fetch(_LIST_ATTACHMENTS, document_id)
            evidence = await find_evidence(conn, document_id)
        return {
            **build_document_view(dict(row)),
            "evidence": evidence,
            "attachments": [build_attachment_view(dict(intake)) for intake in attachments],
        }

    async def find_content(self, tenant_id: str, document_id: str) -> StoredContent | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_FIND_CONTENT, document_id, tenant_id)
        return None if row is None else StoredContent(**row)
