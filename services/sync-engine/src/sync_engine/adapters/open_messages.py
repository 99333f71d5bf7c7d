"""Messages whose results have not come: counts them, and has their records of `attachments` sent again."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

import asyncpg

from mailroom_common.events import DocSource, DocSourceState
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.providers.types import MessageSummary
from mailroom_common.topics import ATTACHMENTS_BACKFILL
from sync_engine.domain.mail_events import map_attachment_event
from sync_engine.domain.message_records import MessageState, ProcessedMessage, StoredPart
from sync_engine.ports import ReemittedBatch

_BATCH_SIZE = 20  # messages of one transaction; one of them may have hundreds of parts
# The lock on the message is what a result takes too, and orders the outbox rows of this aggregate. Messages are marked
# whether their source still takes part or not: what is left out here would be found first, again and again.
_MARK_OVERDUE = """
with due as (
    select m.doc_source_id, m.message_id from sync_engine.message m
    where m.state = 'open' and coalesce(m.reemitted_at, m.processed_at) < $1 and exists (
        select from sync_engine.message_part p
        where p.doc_source_id = m.doc_source_id and p.message_id = m.message_id
          and p.stored and p.result_occurred_at is null)
    order by coalesce(m.reemitted_at, m.processed_at) limit $3 for update of m skip locked
), marked as (
    update sync_engine.message m set reemitted_at = $2 from due
    where m.doc_source_id = due.doc_source_id and m.message_id = due.message_id
    returning m.doc_source_id, m.message_id, m.internet_message_id, m.subject, m.sender_address, m.received_at, m.folder
)
select marked.*, p.part_path, p.attachment_id, p.filename, p.content_type, p.size_bytes, p.content_sha256, p.blob_key
from marked join sync_engine.message_part p using (doc_source_id, message_id)
where p.stored and p.result_occurred_at is null
order by marked.doc_source_id, marked.message_id, p.position
"""
# One that is open only for a parked part waits for the provider, and may for ever: behind it a result that is lost
# would not be seen.
_COUNT_OVERDUE = """
select count(*) from (
    select from sync_engine.message m
    where m.state = 'open' and m.processed_at < $1 and exists (
        select from sync_engine.message_part p
        where p.doc_source_id = m.doc_source_id and p.message_id = m.message_id
          and p.stored and p.result_occurred_at is null)
    limit $2) as overdue
"""


class PgOpenMessages:
    """`OpenMessages` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, *, batch_size: int = _BATCH_SIZE) -> None:
        self._pool = pool
        self._outbox = outbox
        self._batch_size = batch_size

    async def reemit_batch(
        self, find_source: Callable[[str], DocSource | None], before: datetime, now: datetime
    ) -> ReemittedBatch:
        attachments: Counter[str] = Counter()
        async with open_transaction(self._pool) as conn:
            rows = await conn.fetch(_MARK_OVERDUE, before, now, self._batch_size)
            messages = [list(parts) for _, parts in groupby(rows, key=itemgetter("doc_source_id", "message_id"))]
            for parts in messages:
                source = find_source(parts[0]["doc_source_id"])
                if source is not None and source.state in (DocSourceState.ACTIVE, DocSourceState.PAUSED):
                    attachments[source.doc_source_id] += await self._append_parts(conn, source, parts, now)
        return ReemittedBatch(attachments, is_last=len(messages) < self._batch_size)

    async def count_overdue(self, before: datetime, *, up_to: int) -> int:
        async with acquire_session(self._pool) as conn:
            count: int = await conn.fetchval(_COUNT_OVERDUE, before, up_to)
            return count

    async def _append_parts(
        self, conn: DatabaseSession, source: DocSource, rows: Sequence[asyncpg.Record], now: datetime
    ) -> int:
        message = _to_message(rows)
        key = f"{source.doc_source_id}:{message.message_id}"
        for part in message.stored_parts:
            # The same event id: where ingestion has the attachment, the record is a repeat, and its result is repeated.
            event = map_attachment_event(source, message, part, now)
            await self._outbox.append_record(conn, ATTACHMENTS_BACKFILL, key, event, aggregate=key)
        return len(message.stored_parts)


def _to_message(rows: Sequence[asyncpg.Record]) -> ProcessedMessage:
    summary_columns = ("message_id", "internet_message_id", "subject", "sender_address", "received_at")
    part_columns = (
        "part_path",
        "attachment_id",
        "filename",
        "content_type",
        "size_bytes",
        "content_sha256",
        "blob_key",
    )
    first = rows[0]
    return ProcessedMessage(
        summary=MessageSummary(**{name: first[name] for name in summary_columns}),
        state=MessageState.OPEN,
        folder=first["folder"],
        parts=tuple(StoredPart(**{name: row[name] for name in part_columns}) for row in rows),
    )
