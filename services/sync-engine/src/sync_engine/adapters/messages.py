"""Rows of `message` and `message_part`: what became of each mail and of each of its parts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime

import asyncpg

from mailroom_common.events import DocSource, IngestionResult
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import (
    EmptyPart,
    KnownMessage,
    MessageState,
    ParkedPart,
    PassedOverMessage,
    ProcessedMessage,
    RecordedPart,
    StoredPart,
)
from sync_engine.domain.run_planning import LAST_RETRY_DELAY, RETRY_DELAYS

_FIND_KNOWN = """
select m.message_id, m.state, m.folder_id, m.folder, m.version, m.skip_reason, m.last_seen_at,
       p.message_id is not null as is_parked, m.judgement_number, parts.has_stored_part, parts.has_parked_part,
       parts.has_gone_part, m.empty_parts
from sync_engine.message m left join sync_engine.parked_item p using (doc_source_id, message_id)
cross join lateral (
    select coalesce(bool_or(stored), false) as has_stored_part,
           coalesce(bool_or(parked_reason is not null), false) as has_parked_part,
           coalesce(bool_or(skip_reason = 'gone'), false) as has_gone_part
    from sync_engine.message_part part
    where part.doc_source_id = m.doc_source_id and part.message_id = m.message_id) as parts
where m.doc_source_id = $1 and m.message_id = any($2) and m.skip_reason is distinct from 'gone'
union all
select p.message_id, 'parked', null, null, null, null, null, true, 1, false, false, false, '[]'
from sync_engine.parked_item p
where p.doc_source_id = $1 and p.message_id = any($2) and not exists (
    select from sync_engine.message m where m.doc_source_id = $1 and m.message_id = p.message_id)
"""
_LIST_PARTS = """
select part_path, filename, content_type, size_bytes, stored as is_stored, skip_reason,
       parked_reason is not null as is_parked
from sync_engine.message_part where doc_source_id = $1 and message_id = $2 order by position
"""
# Among the newest only: a mailbox may have a million messages of which nothing is stored.
_LIST_PREVIOUSLY_READ = """
select m.message_id from (
    select message_id, state, seq from sync_engine.message where doc_source_id = $1 order by seq desc limit 500) as m
where m.state = 'observed' or exists (
    select from sync_engine.message_part p
    where p.doc_source_id = $1 and p.message_id = m.message_id and p.stored)
order by m.seq desc limit $2
"""
_FIND_PASSED_OVER = """
select message_id from sync_engine.passed_over_message
where doc_source_id = $1 and message_id = any($2) and received_at < $3
"""
_REMEMBER_PASSED_OVER = """
insert into sync_engine.passed_over_message (doc_source_id, message_id, received_at)
select $1, * from unnest($2::text[], $3::timestamptz[]) as p(message_id, received_at) order by message_id
on conflict (doc_source_id, message_id) do update set received_at = excluded.received_at
"""
_LIST_OBSERVED_NOT_LISTED = """
select message_id, state, folder_id, folder, version, skip_reason, last_seen_at, false as is_parked, judgement_number,
       false as has_stored_part, false as has_parked_part, false as has_gone_part, empty_parts
from sync_engine.message
where doc_source_id = $1 and state = 'observed' and ($2::text is null or folder_id = $2) and last_seen_at < $3
  and message_id > $4
order by message_id limit $5
"""
# Rows are written in the order of their ids, so that two transactions with the same messages cannot deadlock.
# A row that exists stays as it is, but for an observed mail that changed, for one that was parked or gone and could be
# processed now, and for one that is judged anew: compared and set by the number of its judgement, so that of two
# judgements that began with the same one changes nothing. It is opened, and closed once its parts are written.
_UPSERT_MESSAGES = """
insert into sync_engine.message as old (
    doc_source_id, message_id, tenant_id, state, skip_reason, folder_id, folder, internet_message_id, version,
    received_at, subject, sender_address, sender_name, state_id, last_seen_at, processed_at, closed_at,
    judgement_number, empty_parts)
select $1, m.message_id, $2, m.state, m.skip_reason, m.folder_id, m.folder, m.internet_message_id, m.version,
       m.received_at, m.subject, m.sender_address, m.sender_name, m.state_id, $4, $4,
       case when m.state = 'closed' then $4::timestamptz end, m.judgement_number, m.empty_parts
from jsonb_to_recordset($3::jsonb) as m(
    message_id text, state text, skip_reason text, folder_id text, folder text, internet_message_id text, version text,
    received_at timestamptz, subject text, sender_address text, sender_name text, state_id text,
    judgement_number integer, empty_parts jsonb)
order by m.message_id
on conflict (doc_source_id, message_id) do update set
    state = excluded.state,
    skip_reason = excluded.skip_reason,
    parked_reason = null,
    folder_id = coalesce(excluded.folder_id, old.folder_id),
    folder = coalesce(excluded.folder, old.folder),
    internet_message_id = coalesce(excluded.internet_message_id, old.internet_message_id),
    version = coalesce(excluded.version, old.version),
    received_at = coalesce(excluded.received_at, old.received_at),
    subject = coalesce(excluded.subject, old.subject),
    sender_address = coalesce(excluded.sender_address, old.sender_address),
    sender_name = coalesce(excluded.sender_name, old.sender_name),
    state_id = coalesce(old.state_id, excluded.state_id),
    last_seen_at = excluded.last_seen_at,
    processed_at = case when old.state in ('parked', 'closed', 'open') then excluded.processed_at
                        else old.processed_at end,
    closed_at = excluded.closed_at,
    reemitted_at = null,
    empty_parts = excluded.empty_parts,
    judgement_number = greatest(excluded.judgement_number, old.judgement_number)
where old.state = 'parked' or (old.state = 'closed' and old.skip_reason = 'gone')
   or (old.state in ('open', 'closed') and excluded.judgement_number = old.judgement_number + 1)
   or (excluded.state in ('observed', 'removed')
       and (old.state, old.version, old.folder_id, old.skip_reason) is distinct from
           (excluded.state, coalesce(excluded.version, old.version), excluded.folder_id, excluded.skip_reason))
returning message_id
"""
_INSERT_PARTS = """
insert into sync_engine.message_part (
    doc_source_id, message_id, part_path, position, stored, skip_reason, attachment_id, filename, content_type,
    size_bytes, content_sha256, blob_key, via, parked_reason, parked_detail, parked_seq, attempts, first_failed_at,
    last_failed_at, next_attempt_at)
select $1, p.message_id, p.part_path, p.position, p.attachment_id is not null, p.skip_reason, p.attachment_id,
       p.filename, p.content_type, p.size_bytes, p.content_sha256, p.blob_key, p.via, p.parked_reason, p.parked_detail,
       case when p.parked_reason is not null
            then nextval(pg_get_serial_sequence('sync_engine.parked_item', 'seq')) end,
       case when p.parked_reason <> 'not_fetched' then 1 else 0 end,
       case when p.parked_reason is not null then $3::timestamptz end,
       case when p.parked_reason is not null then $3::timestamptz end,
       case p.parked_reason when 'not_fetched' then $3 else $3::timestamptz + ($4::interval[])[1] end
from jsonb_to_recordset($2::jsonb) as p(
    message_id text, part_path text, position integer, skip_reason text, attachment_id text, filename text,
    content_type text, size_bytes bigint, content_sha256 text, blob_key text, via text[], parked_reason text,
    parked_detail text)
on conflict do nothing
returning message_id, part_path
"""
# Never what is stored: a document was made of it.
_DELETE_REPLACED_PARTS = """
delete from sync_engine.message_part where doc_source_id = $1 and message_id = $2 and part_path = any($3) and not stored
"""
# The message first, as a result of another of its parts does: of two that end at the same time one closes the message.
_LOCK_RETRIED = """
select from sync_engine.message where doc_source_id = $1 and message_id = any($2) order by message_id for update
"""
# Containers that could be opened at last: what was in each takes its place.
_LIST_PARKED = """
select message_id, part_path, position from sync_engine.message_part
where doc_source_id = $1 and message_id = any($2) and parked_reason is not null
"""
_DELETE_OPENED = """
delete from sync_engine.message_part p
using jsonb_to_recordset($2::jsonb) as opened(message_id text, part_path text)
where p.doc_source_id = $1 and p.message_id = opened.message_id and p.part_path = opened.part_path
  and p.parked_reason is not null
"""
# Only what is still parked: another run may have tried it meanwhile, and what it stored is announced already.
_UPDATE_RETRIED = """
update sync_engine.message_part as old set
    stored = p.attachment_id is not null, skip_reason = p.skip_reason, attachment_id = p.attachment_id,
    filename = p.filename, content_type = p.content_type, size_bytes = p.size_bytes,
    content_sha256 = p.content_sha256, blob_key = p.blob_key,
    parked_reason = p.parked_reason, parked_detail = p.parked_detail, attempts = old.attempts + 1,
    first_failed_at = case when p.parked_reason = 'gone' and old.parked_reason <> 'gone' then $3
                           else old.first_failed_at end,
    last_failed_at = case when p.parked_reason is null then old.last_failed_at else $3 end,
    next_attempt_at = case when p.parked_reason is not null then $3::timestamptz
        + coalesce(($4::interval[])[old.attempts + 1], $5::interval * (0.9 + 0.2 * random())) end
from jsonb_to_recordset($2::jsonb) as p(
    message_id text, part_path text, skip_reason text, attachment_id text, filename text, content_type text,
    size_bytes bigint, content_sha256 text, blob_key text, parked_reason text, parked_detail text)
where old.doc_source_id = $1 and old.message_id = p.message_id and old.part_path = p.part_path
  and old.parked_reason is not null
returning old.message_id, old.part_path
"""
# Where the message has no other part, nothing else says why it became no document.
_RECORD_EMPTY = """
update sync_engine.message m set
    empty_parts = m.empty_parts || empty.parts,
    skip_reason = case when exists (
        select from sync_engine.message_part p where p.doc_source_id = m.doc_source_id and p.message_id = m.message_id)
        then m.skip_reason else $3 end
from jsonb_to_recordset($2::jsonb) as empty(message_id text, parts jsonb)
where m.doc_source_id = $1 and m.message_id = empty.message_id
"""
_FIND_STATE_ID = """
select m.state_id from sync_engine.message m join sync_engine.message_part p using (doc_source_id, message_id)
where p.attachment_id = $1
"""
_LOCK_MESSAGE = """
select m.doc_source_id, m.message_id from sync_engine.message m
join sync_engine.message_part p using (doc_source_id, message_id)
where p.attachment_id = $1 for update of m
"""
# Results are repeated and may come out of order after a reprocessing: an older one overwrites no newer one.
_RECORD_RESULT = """
update sync_engine.message_part
set document_id = $2, result_status = $3, result_reason = $4, result_occurred_at = $5, trades = $6, archive_path = $7
where attachment_id = $1 and (result_occurred_at is null or result_occurred_at <= $5)
"""
_CLOSE_MESSAGE = """
update sync_engine.message m set state = 'closed', closed_at = now()
where m.doc_source_id = $1 and m.message_id = $2 and m.state = 'open' and not exists (
    select from sync_engine.message_part p
    where p.doc_source_id = $1 and p.message_id = $2
      and (p.parked_reason is not null or (p.stored and p.result_occurred_at is null)))
"""


class PgMessages:
    """`Messages` and `MessageResults` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, states: PgIngestionStates) -> None:
        self._pool = pool
        self._states = states

    async def find_known(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, KnownMessage]:
        if not message_ids:
            return {}
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_FIND_KNOWN, doc_source_id, list(message_ids))
        return {row["message_id"]: _to_known_message(row) for row in rows}

    async def list_parts(self, doc_source_id: str, message_id: str) -> Sequence[RecordedPart]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_LIST_PARTS, doc_source_id, message_id)
        return [RecordedPart(**row) for row in rows]

    async def list_previously_read(self, doc_source_id: str, *, limit: int) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            return [row["message_id"] for row in await conn.fetch(_LIST_PREVIOUSLY_READ, doc_source_id, limit)]

    async def find_passed_over(
        self, doc_source_id: str, message_ids: Collection[str], start_at: datetime
    ) -> frozenset[str]:
        if not message_ids:
            return frozenset()
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_FIND_PASSED_OVER, doc_source_id, list(message_ids), start_at)
        return frozenset(row["message_id"] for row in rows)

    async def list_observed_not_listed_since(
        self, doc_source_id: str, folder_id: str | None, since: datetime, *, after: str, limit: int
    ) -> Sequence[KnownMessage]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_LIST_OBSERVED_NOT_LISTED, doc_source_id, folder_id, since, after, limit)
        return [_to_known_message(row) for row in rows]

    async def record_result(self, result: IngestionResult) -> None:
        async with open_transaction(self._pool) as conn:
            state_id = await conn.fetchval(_FIND_STATE_ID, result.attachment_id)
            if state_id is not None:
                await self._states.lock_state(conn, state_id)
            # The message is locked first: of two parts whose results come at the same time, each transaction would
            # otherwise see the other part without a result, and nobody would close the message.
            message = await conn.fetchrow(_LOCK_MESSAGE, result.attachment_id)
            if message is None:
                return  # uploaded by hand, or of a source that is forgotten
            await conn.execute(
                _RECORD_RESULT,
                result.attachment_id,
                result.document_id,
                result.status,
                result.reason,
                result.occurred_at,
                len(result.trades),
                result.archive_path,
            )
            await conn.execute(_CLOSE_MESSAGE, message["doc_source_id"], message["message_id"])
            if state_id is not None:
                await self._states.mark_messages(conn, message["doc_source_id"], [message["message_id"]])


async def upsert_messages(
    conn: DatabaseSession, source: DocSource, messages: Sequence[ProcessedMessage], now: datetime
) -> frozenset[str]:
    """Within the page transaction; returns the ids of the rows that are new or changed."""
    if not messages:
        return frozenset()
    rows = [_to_message_row(message) for message in messages]
    written = await conn.fetch(_UPSERT_MESSAGES, source.doc_source_id, source.tenant_id, rows, now)
    return frozenset(row["message_id"] for row in written)


async def insert_parts(
    conn: DatabaseSession, source: DocSource, messages: Sequence[ProcessedMessage], now: datetime
) -> list[ProcessedMessage]:
    """Within the page transaction; returns the messages with those of their parts that are written now.

    Of a message that is judged anew, what another run stored meanwhile stays, and is announced already.
    """
    judged_anew = [message for message in messages if message.earlier is not None]
    for message in judged_anew:
        await conn.execute(
            _DELETE_REPLACED_PARTS, source.doc_source_id, message.message_id, list(message.replaced_paths)
        )
    rows = [row for message in messages for row in _to_part_rows(message)]
    inserted = await conn.fetch(_INSERT_PARTS, source.doc_source_id, rows, now, list(RETRY_DELAYS)) if rows else []
    for message in judged_anew:
        await conn.execute(_CLOSE_MESSAGE, source.doc_source_id, message.message_id)
    written = {(row["message_id"], row["part_path"]) for row in inserted}
    return [
        replace(message, parts=tuple(part for part in message.parts if (message.message_id, part.part_path) in written))
        for message in messages
    ]


async def remember_passed_over(conn: DatabaseSession, source: DocSource, messages: Sequence[PassedOverMessage]) -> None:
    """Within the page transaction."""
    if messages:
        ids, times = zip(*((message.message_id, message.received_at) for message in messages), strict=True)
        await conn.execute(_REMEMBER_PASSED_OVER, source.doc_source_id, list(ids), list(times))


async def update_retried_parts(
    conn: DatabaseSession, source: DocSource, messages: Sequence[ProcessedMessage], now: datetime
) -> list[ProcessedMessage]:
    """Within the page transaction; returns the messages with those of their parts that are stored now."""
    if not messages:
        return []
    ids = [message.message_id for message in messages]
    await conn.fetch(_LOCK_RETRIED, source.doc_source_id, ids)
    written = await _replace_opened_containers(conn, source, messages, now)
    rows = [row for message in messages for row in _to_part_rows(message)]
    updated = await conn.fetch(_UPDATE_RETRIED, source.doc_source_id, rows, now, list(RETRY_DELAYS), LAST_RETRY_DELAY)
    written |= {(row["message_id"], row["part_path"]) for row in updated}
    empty = [
        {"message_id": message.message_id, "parts": _to_empty_parts(message)}
        for message in messages
        if message.empty_parts
    ]
    if empty:
        await conn.execute(_RECORD_EMPTY, source.doc_source_id, empty, MailRejection.NO_PARTS)
    for message_id in ids:
        await conn.execute(_CLOSE_MESSAGE, source.doc_source_id, message_id)
    return [
        replace(
            message,
            parts=tuple(part for part in message.stored_parts if (message.message_id, part.part_path) in written),
        )
        for message in messages
    ]


async def _replace_opened_containers(
    conn: DatabaseSession, source: DocSource, messages: Sequence[ProcessedMessage], now: datetime
) -> set[tuple[str, str]]:
    """Returns message and path of the parts that are new. Only of containers that are still parked: another run may
    have opened them meanwhile, and what it stored is announced already."""
    ids = [message.message_id for message in messages]
    parked: dict[str, dict[str, int]] = {}
    for found in await conn.fetch(_LIST_PARKED, source.doc_source_id, ids):
        parked.setdefault(found["message_id"], {})[found["part_path"]] = found["position"]
    rows, opened = [], []
    for message in messages:
        positions = parked.get(message.message_id, {})
        for row in _to_part_rows(message):
            container = find_container_path(str(row["part_path"]), positions)
            if container is not None:
                rows.append(row | {"position": positions[container]})
        opened += [{"message_id": message.message_id, "part_path": path} for path in message.opened_part_paths]
    await conn.execute(_DELETE_OPENED, source.doc_source_id, opened)
    if not rows:
        return set()
    inserted = await conn.fetch(_INSERT_PARTS, source.doc_source_id, rows, now, list(RETRY_DELAYS))
    return {(row["message_id"], row["part_path"]) for row in inserted}


def find_container_path(part_path: str, container_paths: Collection[str]) -> str | None:
    """The container that the part was in: its path begins with that of the container."""
    found = [path for path in container_paths if part_path.startswith(f"{path}/")]
    return max(found, key=len) if found else None


async def mark_listed(conn: DatabaseSession, source: DocSource, message_ids: Sequence[str], now: datetime) -> None:
    if message_ids:
        await conn.execute(
            # Not what this transaction has just written: of a first sync that is every row.
            "update sync_engine.message set last_seen_at = $3 "
            "where doc_source_id = $1 and message_id = any($2) and last_seen_at < $3",
            source.doc_source_id,
            list(message_ids),
            now,
        )


def _to_message_row(message: ProcessedMessage) -> dict[str, object]:
    summary = message.summary
    return {
        "message_id": summary.message_id,
        "state": message.state,
        "skip_reason": message.skip_reason,
        "folder_id": message.folder_id,
        "folder": message.folder,
        "internet_message_id": summary.internet_message_id,
        "version": summary.version,
        "received_at": summary.received_at,
        "subject": summary.subject,
        "sender_address": summary.sender_address,
        "sender_name": summary.sender_name,
        "state_id": message.state_id,
        "empty_parts": _to_empty_parts(message),
        "judgement_number": 1 if message.earlier is None else message.earlier.number + 1,
    }


def _to_empty_parts(message: ProcessedMessage) -> list[dict[str, object]]:
    return [asdict(part) for part in message.empty_parts]


def _to_part_rows(message: ProcessedMessage) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    # What is judged anew stands behind what was there before.
    first_position = len(message.earlier.parts) if message.earlier else 0
    for position, part in enumerate(message.parts, start=first_position):
        row: dict[str, object] = {
            "message_id": message.message_id,
            "part_path": part.part_path,
            "position": position,
            "filename": part.filename,
            "content_type": part.content_type,
            "size_bytes": part.size_bytes,
        }
        if isinstance(part, StoredPart):
            row |= {
                "attachment_id": part.attachment_id,
                "content_sha256": part.content_sha256,
                "blob_key": part.blob_key,
            }
        elif isinstance(part, ParkedPart):
            row |= {"parked_reason": part.parked_reason, "parked_detail": part.detail}
        else:
            row["skip_reason"] = part.skip_reason
        if not isinstance(part, ParkedPart) and part.via:
            row["via"] = [kind.value for kind in part.via]
        rows.append(row)
    return rows


def _to_known_message(row: asyncpg.Record) -> KnownMessage:
    empty_parts = tuple(EmptyPart(**part) for part in row["empty_parts"])
    return KnownMessage(**{**row, "state": MessageState(row["state"]), "empty_parts": empty_parts})
