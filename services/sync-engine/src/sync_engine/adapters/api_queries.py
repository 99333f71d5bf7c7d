"""The queries of the API: newest first, a page at a time, always within one tenant.

Pages are bounded by `seq`, which only rises: rows that are added while somebody pages neither shift nor repeat an item.
"""

from collections.abc import Sequence

import asyncpg

from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

# A deleted source shows nothing from its first moment on: to delete its rows may take minutes.
_MESSAGES = """
select doc_source_id, tenant_id, seq, message_id, internet_message_id, state, skip_reason, parked_reason,
       folder, subject, sender_address, received_at, processed_at, closed_at
from sync_engine.message m
where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3) and ($4::text is null or state = $4)
  and not exists (
      select from sync_engine.sync_state s where s.doc_source_id = m.doc_source_id and s.forgotten_at is not null)
order by seq desc limit $5
"""
# A message that was never fetched has no row of its own yet: it is parked, and all that is known is why.
_FIND_MESSAGES = """
select doc_source_id, tenant_id, seq, message_id, internet_message_id, state, skip_reason, parked_reason,
       folder, subject, sender_address, received_at, processed_at, closed_at
from sync_engine.message m
where message_id = $2 and tenant_id = $1 and ($3::text is null or doc_source_id = $3)
  and not exists (
      select from sync_engine.sync_state s where s.doc_source_id = m.doc_source_id and s.forgotten_at is not null)
union all
select p.doc_source_id, p.tenant_id, p.seq, p.message_id, null, 'parked', null, p.reason,
       null, null, null, null, p.last_failed_at, null
from sync_engine.parked_item p
where p.message_id = $2 and p.tenant_id = $1 and ($3::text is null or p.doc_source_id = $3) and not exists (
    select from sync_engine.message m where m.doc_source_id = p.doc_source_id and m.message_id = p.message_id)
  and not exists (
      select from sync_engine.sync_state s where s.doc_source_id = p.doc_source_id and s.forgotten_at is not null)
order by doc_source_id limit 20
"""
# The parts of all messages of a page in one query, in the order of the messages.
_PARTS = """
select doc_source_id, message_id, part_path, filename, content_type, size_bytes, content_sha256, stored, skip_reason,
       coalesce(via, '{}') as via, parked_reason, attachment_id, document_id, result_status, result_reason
from unnest($1::text[], $2::text[]) with ordinality as listed(doc_source_id, message_id, number)
join sync_engine.message_part using (doc_source_id, message_id)
order by number, position, part_path limit $3
"""
# A mail may have three thousand, two hundred such mails more than this process may hold: who writes them chooses that.
_MAX_PAGE_PARTS = 5000
_RUNS = """
select run_id, doc_source_id, tenant_id, seq, kind, reasons, started_at, finished_at, outcome, detail, new_messages,
       unannounced_messages, stored_parts, parked_items, relist_number
from sync_engine.sync_run r
where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3)
  and not exists (
      select from sync_engine.sync_state s where s.doc_source_id = r.doc_source_id and s.forgotten_at is not null)
order by seq desc limit $4
"""
# Whole messages, and parts of messages: both are numbered by one sequence.
_PARKED = """
(select doc_source_id, tenant_id, seq, message_id, null as part_path, reason, detail, attempts, first_failed_at,
        last_failed_at, next_attempt_at
 from sync_engine.parked_item p
 where tenant_id = $1 and seq < $2 and ($3::text is null or doc_source_id = $3)
   and not exists (
       select from sync_engine.sync_state s where s.doc_source_id = p.doc_source_id and s.forgotten_at is not null)
 order by seq desc limit $4)
union all
(select m.doc_source_id, m.tenant_id, p.parked_seq, m.message_id, p.part_path, p.parked_reason, p.parked_detail,
        p.attempts, p.first_failed_at, p.last_failed_at, p.next_attempt_at
 from sync_engine.message_part p join sync_engine.message m using (doc_source_id, message_id)
 where p.parked_reason is not null and m.tenant_id = $1 and p.parked_seq < $2
   and ($3::text is null or m.doc_source_id = $3)
   and not exists (
       select from sync_engine.sync_state s where s.doc_source_id = m.doc_source_id and s.forgotten_at is not null)
 order by p.parked_seq desc limit $4)
order by seq desc limit $4
"""
# Due at once: the next run of each doc source takes them, as many as one run may. After a long outage there may be a
# million: each batch is a transaction of its own and goes on behind the one before it ($4 to $6, the last of parts
# only). What a worker has locked is being tried already; to wait for it with other rows locked could end in a deadlock,
# as workers lock the message first.
_RETRY_ITEMS = """
with batch as (
    select doc_source_id, message_id from sync_engine.parked_item
    where tenant_id = $1 and reason = $2 and ($3::text is null or doc_source_id = $3)
      and (next_attempt_at is null or next_attempt_at > now())
      and (doc_source_id, message_id) > ($4, $5) and $6::text is not null
    order by doc_source_id, message_id limit $7 for update skip locked
), made_due as (
    update sync_engine.parked_item p set next_attempt_at = now() from batch
    where p.doc_source_id = batch.doc_source_id and p.message_id = batch.message_id
    returning p.doc_source_id, p.message_id, '' as part_path
)
select * from made_due order by doc_source_id, message_id
"""
_RETRY_PARTS = """
with batch as (
    select p.doc_source_id, p.message_id, p.part_path
    from sync_engine.message_part p join sync_engine.message m using (doc_source_id, message_id)
    where m.tenant_id = $1 and p.parked_reason = $2 and ($3::text is null or p.doc_source_id = $3)
      and p.next_attempt_at > now() and (p.doc_source_id, p.message_id, p.part_path) > ($4, $5, $6)
    order by p.doc_source_id, p.message_id, p.part_path limit $7 for update of p skip locked
), made_due as (
    update sync_engine.message_part p set next_attempt_at = now() from batch
    where p.doc_source_id = batch.doc_source_id and p.message_id = batch.message_id and p.part_path = batch.part_path
    returning p.doc_source_id, p.message_id, p.part_path
)
select * from made_due order by doc_source_id, message_id, part_path
"""
_RETRY_BATCH_SIZE = 1000
_SYNC_STATES = """
select s.doc_source_id, s.tenant_id, s.source_state, s.full_due_mark is not null as is_full_run_due,
       s.refused_generation is not null and s.refused_generation >= s.grant_generation as is_grant_refused,
       s.not_before, s.failed_attempts, s.modified_listed_until,
       s.last_completed_full_started_at as last_full_run_started_at,
       s.last_completed_full_ended_at as last_full_run_ended_at,
       r.started_at as last_run_started_at, r.outcome as last_run_outcome, s.missing_folders,
       (select count(*) from sync_engine.message m where m.doc_source_id = s.doc_source_id and m.state = 'open')
           as open_messages,
       (select count(*) from sync_engine.parked_item p where p.doc_source_id = s.doc_source_id)
       + (select count(*) from sync_engine.message_part p
          where p.doc_source_id = s.doc_source_id and p.parked_reason is not null) as parked_items
from sync_engine.sync_state s
left join lateral (
    select started_at, outcome from sync_engine.sync_run where doc_source_id = s.doc_source_id order by seq desc limit 1
) r on true
where s.tenant_id = $1 and s.forgotten_at is null and s.doc_source_id > $2
  and ($3::text is null or s.doc_source_id = $3)
order by s.doc_source_id limit $4
"""


class PgMessageQueries:
    """`MessageQueries` of api/routes.py."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        *,
        retry_batch_size: int = _RETRY_BATCH_SIZE,
        max_page_parts: int = _MAX_PAGE_PARTS,
    ) -> None:
        self._pool = pool
        self._max_page_parts = max_page_parts
        self._retry_batch_size = retry_batch_size

    async def list_messages(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, state: str | None, limit: int
    ) -> tuple[Sequence[dict[str, object]], bool]:
        """Each message with its `parts`, in the order of the mail; and whether there are more messages."""
        async with acquire_session(self._pool) as conn:
            messages = await conn.fetch(_MESSAGES, tenant_id, before, doc_source_id, state, limit + 1)
            shown = await _add_parts(conn, messages[:limit], self._max_page_parts)
        return shown, len(shown) < len(messages)

    async def find_messages(
        self, tenant_id: str, message_id: str, *, doc_source_id: str | None
    ) -> Sequence[dict[str, object]]:
        async with acquire_session(self._pool) as conn:
            found = await conn.fetch(_FIND_MESSAGES, tenant_id, message_id, doc_source_id)
            return await _add_parts(conn, found, self._max_page_parts) if len(found) == 1 else [*map(dict, found)]

    async def list_sync_states(
        self, tenant_id: str, *, after: str, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]:
        async with acquire_session(self._pool) as conn:
            return [dict(row) for row in await conn.fetch(_SYNC_STATES, tenant_id, after, doc_source_id, limit)]

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

    async def retry_parked(self, tenant_id: str, reason: str, *, doc_source_id: str | None) -> tuple[int, int]:
        items = await self._retry_in_batches(_RETRY_ITEMS, tenant_id, reason, doc_source_id)
        parts = await self._retry_in_batches(_RETRY_PARTS, tenant_id, reason, doc_source_id)
        return items, parts

    async def _retry_in_batches(self, statement: str, tenant_id: str, reason: str, doc_source_id: str | None) -> int:
        """Where it fails midway, what was done stays done, and the same request again goes on."""
        position: tuple[str, ...] = ("", "", "")
        count = 0
        while True:
            async with open_transaction(self._pool) as conn:
                rows = await conn.fetch(statement, tenant_id, reason, doc_source_id, *position, self._retry_batch_size)
            count += len(rows)
            if len(rows) < self._retry_batch_size:
                return count
            position = tuple(rows[-1])


async def _add_parts(
    conn: DatabaseSession, messages: Sequence[asyncpg.Record], max_parts: int
) -> list[dict[str, object]]:
    """The first messages with all of their parts, so many as `max_parts` allow; one at least."""
    parts: dict[tuple[object, object], list[dict[str, object]]] = {}
    sources = [message["doc_source_id"] for message in messages]
    rows = await conn.fetch(_PARTS, sources, [message["message_id"] for message in messages], max_parts + 1)
    for row in rows[:max_parts]:
        parts.setdefault((row["doc_source_id"], row["message_id"]), []).append(dict(row))
    shown = [
        {**message, "parts": parts.get((message["doc_source_id"], message["message_id"]), [])} for message in messages
    ]
    if len(rows) <= max_parts:
        return shown
    # The message of the first part that is left out is the first one that is left out.
    keys = [(message["doc_source_id"], message["message_id"]) for message in messages]
    return shown[: max(1, keys.index((rows[-1]["doc_source_id"], rows[-1]["message_id"])))]
