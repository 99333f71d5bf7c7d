"""The log of document events in Postgres: writing, numbering, retention, and reading on from a number."""

from datetime import timedelta
from typing import Any

import asyncpg

from ingestion.adapters.bounded_rows import fetch_bounded
from ingestion.adapters.document_search import LEDGER_STATES, POSSIBLE_DUPLICATES, index_document
from ingestion.domain.views import build_document_view
from ingestion.ports.events import Channel, EventLogRange, NumberedEvent
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

_BATCH = 500
_MAX_BATCH_BYTES = 1024 * 1024  # of those that a stream reads at once

_INSERT = "insert into ingestion.document_event (tenant_id, document_id, document) values ($1, $2, $3)"
# What its view has of other tables.
_FIND_RELATED = f"""
    select {POSSIBLE_DUPLICATES}, {LEDGER_STATES} from ingestion.document where document_id = $1
"""  # noqa: S608  # ours
# The lock on the head is what makes numbers rise in the order in which rows can be seen: the next transaction that
# gives numbers begins to read when this one has committed.
_LOCK_HEAD = "select last_seq from ingestion.document_event_head for update"
_ASSIGN_NUMBERS = """
    update ingestion.document_event as event set seq = $1 + fresh.place
    from (
        select id, row_number() over (order by id) as place
        from (select id from ingestion.document_event where seq is null order by id limit $2) as unnumbered
    ) as fresh
    where event.id = fresh.id
"""
_MOVE_HEAD = "update ingestion.document_event_head set last_seq = last_seq + $1"
# By their age: in the order of numbers the last look, which finds none any more, goes through the whole log, while
# nobody gives out numbers.
_DELETE_OLD = """
    with deleted as (
        delete from ingestion.document_event
        where id in (
            select id from ingestion.document_event
            where seq is not null and created_at < now() - $1::interval order by created_at limit $2
        )
        returning seq
    )
    select count(*) as count, max(seq) as highest from deleted
"""
_READ_RANGE = """
    select deleted_seq, coalesce(
        (select max(seq) from ingestion.document_event where tenant_id = $1 and seq is not null), deleted_seq
    ) as newest_seq
    from ingestion.document_event_head
"""
_LIST_AFTER = """
    select seq, document, octet_length(document::text) as json_bytes from ingestion.document_event
    where tenant_id = $1 and seq > $2 order by seq limit $3
"""


class PgEventLog:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def assign_numbers(self) -> int:
        async with open_transaction(self._pool) as conn:
            last = await conn.fetchval(_LOCK_HEAD)
            status = await conn.execute(_ASSIGN_NUMBERS, last, _BATCH)
            numbered = int(status.rpartition(" ")[2])
            if numbered:
                await conn.execute(_MOVE_HEAD, numbered)
                await conn.execute("select pg_notify($1, '')", Channel.EVENT_NUMBERED.value)
            return numbered

    async def delete_events(self, *, older_than: timedelta) -> int:
        async with open_transaction(self._pool) as conn:
            # Locked first, and in one transaction: a reader who sees the rows gone also sees `deleted_seq`.
            await conn.execute(_LOCK_HEAD)
            (row,) = await conn.fetch(_DELETE_OLD, older_than, _BATCH)
            if row["count"]:
                await conn.execute(
                    "update ingestion.document_event_head set deleted_seq = greatest(deleted_seq, $1)",
                    row["highest"],
                )
            return int(row["count"])

    async def read_range(self, tenant_id: str) -> EventLogRange:
        async with acquire_session(self._pool) as conn:
            (row,) = await conn.fetch(_READ_RANGE, tenant_id)
            return EventLogRange(row["newest_seq"], row["deleted_seq"])

    async def list_events(self, tenant_id: str, *, after: int, limit: int) -> list[NumberedEvent]:
        # Held until its reader has taken it, for each reader.
        rows, _ = await fetch_bounded(self._pool, _LIST_AFTER, tenant_id, after, limit, max_bytes=_MAX_BATCH_BYTES)
        return [NumberedEvent(row["seq"], row["document"]) for row in rows]


async def append_document_event(conn: DatabaseSession, document: Any) -> None:
    """Record a change of a document, and what it is found by from then on, in the transaction that made it."""
    await index_document(conn, document)
    (related,) = await conn.fetch(_FIND_RELATED, document["document_id"])
    view = build_document_view({**dict(document), **dict(related)})
    await conn.execute(_INSERT, document["tenant_id"], document["document_id"], view)
    await conn.execute("select pg_notify($1, '')", Channel.EVENT_UNNUMBERED.value)
