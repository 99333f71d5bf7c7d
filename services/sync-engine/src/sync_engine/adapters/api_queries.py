"""The queries of the API: newest first, a page at a time, always within one tenant.

Pages are bounded by `seq`, which only rises: rows that are added while somebody pages neither shift nor repeat an item.
"""

from collections.abc import Sequence

import asyncpg

from mailroom_common.postgres import acquire_session

_MESSAGES = """
select doc_source_id, tenant_id, seq, message_id, internet_message_id, state, skip_reason, parked_reason,
       folder, subject, sender_address, received_at, processed_at, closed_at
from sync_engine.message
where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3) and ($4::text is null or state = $4)
order by seq desc limit $5
"""
# The parts of all messages of a page in one query.
_PARTS = """
select doc_source_id, message_id, part_path, filename, content_type, size_bytes, content_sha256, stored, skip_reason,
       attachment_id, document_id, result_status, result_reason
from sync_engine.message_part
where (doc_source_id, message_id) in (select * from unnest($1::text[], $2::text[]))
order by doc_source_id, message_id, position
"""
_RUNS = """
select run_id, doc_source_id, tenant_id, seq, kind, reasons, started_at, finished_at, outcome, detail, new_messages,
       unannounced_messages, stored_parts, parked_items
from sync_engine.sync_run
where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3)
order by seq desc limit $4
"""
_PARKED = """
select doc_source_id, tenant_id, seq, message_id, reason, detail, attempts, first_failed_at, last_failed_at,
       next_attempt_at
from sync_engine.parked_item
where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3)
order by seq desc limit $4
"""


class PgMessageQueries:
    """`MessageQueries` of api/routes.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_messages(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, state: str | None, limit: int
    ) -> Sequence[dict[str, object]]:
        """Each message with its `parts`, in the order of the mail."""
        async with acquire_session(self._pool) as conn:
            messages = [
                dict(row) for row in await conn.fetch(_MESSAGES, tenant_id, before, doc_source_id, state, limit)
            ]
            parts: dict[tuple[object, object], list[dict[str, object]]] = {}
            sources = [message["doc_source_id"] for message in messages]
            for row in await conn.fetch(_PARTS, sources, [message["message_id"] for message in messages]):
                parts.setdefault((row["doc_source_id"], row["message_id"]), []).append(dict(row))
        return [
            {**message, "parts": parts.get((message["doc_source_id"], message["message_id"]), [])}
            for message in messages
        ]

    async def list_runs(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]:
        async with acquire_session(self._pool) as conn:
            return [dict(row) for row in await conn.fetch(_RUNS, tenant_id, before, doc_source_id, limit)]

    async def list_parked_items(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]:
        async with acquire_session(self._pool) as conn:
            return [dict(row) for row in await conn.fetch(_PARKED, tenant_id, before, doc_source_id, limit)]
