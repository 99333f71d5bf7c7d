"""Document events in Postgres: numbering, retention, and reading on from a number."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg

from ingestion.adapters.channels import NUMBERED
from mailroom_common.postgres import acquire_session, open_transaction

_BATCH = 500

# The lock on the head is what makes numbers rise in the order in which rows can be seen: the next transaction that
# gives numbers begins to read when this one has committed.
_LOCK_HEAD = "select last_seq from ingestion.document_event_head for update"
_NUMBER = """
    update ingestion.document_event as event set seq = $1 + fresh.place
    from (
        select id, row_number() over (order by id) as place
        from (select id from ingestion.document_event where seq is null order by id limit $2) as unnumbered
    ) as fresh
    where event.id = fresh.id
"""
_MOVE_HEAD = "update ingestion.document_event_head set last_seq = last_seq + $1"
_FORGET = """
    with forgotten as (
        delete from ingestion.document_event
        where id in (
            select id from ingestion.document_event
            where seq is not null and created_at < now() - $1::interval order by seq limit $2
        )
        returning seq
    )
    select count(*) as count, max(seq) as highest from forgotten
"""
_HEAD = "select last_seq, forgotten_seq from ingestion.document_event_head"
_AFTER = """
    select seq, document from ingestion.document_event
    where tenant_id = $1 and seq > $2 order by seq limit $3
"""


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    seq: int
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Head:
    """`forgotten_seq`: what is at or below it may be gone."""

    last_seq: int
    forgotten_seq: int


class PgDocumentEvents:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def number(self) -> int:
        """Give numbers to what has none, in a short transaction under its own lock; how many it were."""
        async with open_transaction(self._pool) as conn:
            last = await conn.fetchval(_LOCK_HEAD)
            status = await conn.execute(_NUMBER, last, _BATCH)
            numbered = int(status.rpartition(" ")[2])
            if numbered:
                await conn.execute(_MOVE_HEAD, numbered)
                await conn.execute("select pg_notify($1, '')", NUMBERED)
            return numbered

    async def forget(self, older_than: timedelta) -> int:
        """Delete a batch of old events; how many it were."""
        async with open_transaction(self._pool) as conn:
            # Locked first: a reader who sees the rows gone also sees that they are.
            await conn.execute(_LOCK_HEAD)
            (row,) = await conn.fetch(_FORGET, older_than, _BATCH)
            if row["count"]:
                await conn.execute(
                    "update ingestion.document_event_head set forgotten_seq = greatest(forgotten_seq, $1)",
                    row["highest"],
                )
            return int(row["count"])

    async def head(self) -> Head:
        async with acquire_session(self._pool) as conn:
            (row,) = await conn.fetch(_HEAD)
            return Head(row["last_seq"], row["forgotten_seq"])

    async def after(self, tenant_id: str, seq: int, *, limit: int) -> list[NumberedEvent]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_AFTER, tenant_id, seq, limit)
            return [NumberedEvent(row["seq"], row["document"]) for row in rows]
