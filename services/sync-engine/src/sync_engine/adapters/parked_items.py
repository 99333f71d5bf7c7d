"""Messages and parts that could not be processed, and when each is tried again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

import asyncpg

from mailroom_common.events import DocSource
from mailroom_common.postgres import DatabaseSession, acquire_session
from sync_engine.domain.message_records import (
    DueMessage,
    DuePart,
    FailedMessage,
    PageUpdate,
    ParkedItem,
    ParkedPart,
    ParkedReason,
)
from sync_engine.domain.run_planning import LAST_RETRY_DELAY, MAX_RETRIES_PER_RUN, RETRY_DELAYS

# In its time, the longest due first. What is tried once a day is due for a run for all too,
# and what access was refused to for each full run, so that it is back as soon as access is; but not within minutes, as
# that may be repeated every few seconds. Workers of an older version, which run beside newer ones for a while, write no
# time for what is tried once a day: it is due.
_LIST_DUE = """
select message_id, reason, attempts, first_failed_at from sync_engine.parked_item
where doc_source_id = $1
  and (next_attempt_at is null or next_attempt_at <= $2
       or ((($3 and attempts > $4) or ($6 and reason = 'access_denied'))
           and last_failed_at < $2::timestamptz - interval '5 minutes'))
order by next_attempt_at nulls first, seq limit $5
"""
_LIST_DUE_PARTS = """
with due as (
    select message_id, min(next_attempt_at) as next_attempt_at from sync_engine.message_part
    where doc_source_id = $1 and parked_reason is not null
      and (parked_reason = 'not_fetched' or next_attempt_at <= $2
           or ((($3 and attempts > $4) or ($6 and parked_reason = 'access_denied'))
               and last_failed_at < $2::timestamptz - interval '5 minutes'))
    group by message_id order by 2, 1 limit $5)
select p.message_id, m.folder_id, m.folder, m.state_id, p.part_path, p.filename, p.content_type, p.size_bytes,
       p.parked_reason, p.parked_detail, p.attempts, p.first_failed_at
from due join sync_engine.message m on m.doc_source_id = $1 and m.message_id = due.message_id
join sync_engine.message_part p on p.doc_source_id = $1 and p.message_id = due.message_id
where p.parked_reason is not null order by due.next_attempt_at, p.message_id, p.position
"""
_COUNT_BY_REASON = """
select reason, 'message' as kind, count(*) from sync_engine.parked_item group by reason
union all
select parked_reason, 'part', count(*) from sync_engine.message_part where parked_reason is not null
group by parked_reason
"""
# Beyond the last of the growing delays about a day, for ever; spread out, so that what failed together does not return
# together. What begins to be gone is so from now on: only after a day of that it is given up, whatever kept it parked
# before.
_PARK = """
insert into sync_engine.parked_item as old (
    doc_source_id, message_id, tenant_id, reason, detail, attempts, first_failed_at, last_failed_at, next_attempt_at)
select $1, f.message_id, $2, f.reason, f.detail, 1, $4, $4, $4::timestamptz + ($5::interval[])[1]
from unnest($3::text[], $6::text[], $7::text[]) as f(message_id, reason, detail) order by f.message_id
on conflict (doc_source_id, message_id) do update set
    reason = excluded.reason, detail = excluded.detail, attempts = old.attempts + 1, last_failed_at = $4,
    first_failed_at = case when excluded.reason = 'gone' and old.reason <> 'gone' then $4 else old.first_failed_at end,
    next_attempt_at = $4::timestamptz
        + coalesce(($5::interval[])[old.attempts + 1], $8::interval * (0.9 + 0.2 * random()))
"""
# Shown as a message too, from the start; one that was processed before keeps its row.
_INSERT_PARKED_MESSAGES = """
insert into sync_engine.message as old (doc_source_id, message_id, tenant_id, state, parked_reason)
select $1, f.message_id, $2, 'parked', f.reason from unnest($3::text[], $4::text[]) as f(message_id, reason)
order by f.message_id
on conflict (doc_source_id, message_id) do update set parked_reason = excluded.parked_reason where old.state = 'parked'
"""


class PgParkedItems:
    """`ParkedItems` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_due(
        self, doc_source_id: str, now: datetime, *, include_retried_daily: bool, include_access_denied: bool
    ) -> Sequence[ParkedItem]:
        retried_daily_after = len(RETRY_DELAYS)
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                _LIST_DUE,
                doc_source_id,
                now,
                include_retried_daily,
                retried_daily_after,
                MAX_RETRIES_PER_RUN,
                include_access_denied,
            )
        return [ParkedItem(row["message_id"], row["reason"], row["attempts"], row["first_failed_at"]) for row in rows]

    async def list_due_parts(
        self, doc_source_id: str, now: datetime, *, include_retried_daily: bool, include_access_denied: bool
    ) -> Sequence[DueMessage]:
        retried_daily_after = len(RETRY_DELAYS)
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                _LIST_DUE_PARTS,
                doc_source_id,
                now,
                include_retried_daily,
                retried_daily_after,
                MAX_RETRIES_PER_RUN,
                include_access_denied,
            )
        return [_to_due_message(list(group)) for _, group in groupby(rows, key=lambda row: row["message_id"])]

    async def count_by_reason(self) -> Mapping[tuple[str, str], int]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_COUNT_BY_REASON)
        return {(row["reason"], row["kind"]): row["count"] for row in rows}


def _to_due_message(rows: Sequence[asyncpg.Record]) -> DueMessage:
    first = rows[0]
    return DueMessage(
        message_id=first["message_id"],
        folder_id=first["folder_id"],
        folder=first["folder"],
        due_parts=tuple(_to_due_part(row) for row in rows),
        state_id=first["state_id"],
    )


def _to_due_part(row: asyncpg.Record) -> DuePart:
    part = ParkedPart(
        part_path=row["part_path"],
        filename=row["filename"],
        content_type=row["content_type"],
        size_bytes=row["size_bytes"],
        parked_reason=ParkedReason(row["parked_reason"]),
        detail=row["parked_detail"],
    )
    return DuePart(part=part, attempts=row["attempts"], first_failed_at=row["first_failed_at"])


async def resolve_items(conn: DatabaseSession, source: DocSource, update: PageUpdate) -> None:
    """Within the page transaction: what was processed, or is gone, is parked no longer."""
    resolved = [*update.resolved_item_ids, *(message.message_id for message in update.messages)]
    if resolved:
        await conn.execute(
            "delete from sync_engine.parked_item where doc_source_id = $1 and message_id = any($2)",
            source.doc_source_id,
            resolved,
        )
    if update.resolved_item_ids:
        # A message that is not watched where it lies now may be moved to where it is: a row that says "parked" would
        # hide it for ever.
        await conn.execute(
            "delete from sync_engine.message where doc_source_id = $1 and message_id = any($2) and state = 'parked'",
            source.doc_source_id,
            list(update.resolved_item_ids),
        )


async def park_messages(
    conn: DatabaseSession, source: DocSource, failed: Sequence[FailedMessage], now: datetime
) -> None:
    """Within the page transaction: count one more failure of each, or park it for the first time."""
    if not failed:
        return
    ids, reasons, details = zip(*((item.message_id, item.reason, item.detail) for item in failed), strict=True)
    await conn.execute(
        _PARK,
        source.doc_source_id,
        source.tenant_id,
        list(ids),
        now,
        list(RETRY_DELAYS),
        list(reasons),
        list(details),
        LAST_RETRY_DELAY,
    )
    await conn.execute(_INSERT_PARKED_MESSAGES, source.doc_source_id, source.tenant_id, list(ids), list(reasons))
