"""The tables of a sync run, and the page transaction (design 5.3, 5.4): everything of a page, or nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import uuid4

import asyncpg

from mailroom_common.events import DocSource, DocSourceState, Profile
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.providers.types import Folder
from mailroom_common.topics import ATTACHMENTS, MAIL_EVENTS
from sync_engine.adapters.sync_states import raised
from sync_engine.domain.plan import RETRY_AFTER
from sync_engine.domain.records import (
    RELIST,
    Committed,
    Cursor,
    FailedItem,
    JudgedMessage,
    KnownMessage,
    MessageState,
    Page,
    ParkedItem,
    RunKind,
    Standing,
    TakenPart,
)
from sync_engine.domain.told import attachment_stored
from sync_engine.run_ports import CursorMoved, NotToBeSynced, RunReport

_SUCCEEDED = """
update sync_engine.sync_state set
    not_before = null, attempts = 0,
    last_full_at = greatest(last_full_at, $3),
    full_due = case when $3::timestamptz is not null and full_due = $4 then null else full_due end
where doc_source_id = $1 and grant_generation <= $2
  and (attempts > 0 or not_before is not null or $3::timestamptz is not null)
"""
_KNOWN = """
select m.message_id, m.state, m.folder_id, m.version, p.message_id is not null as is_parked
from sync_engine.message m left join sync_engine.parked_item p using (doc_source_id, message_id)
where m.doc_source_id = $1 and m.message_id = any($2)
union all
select p.message_id, 'parked', null, null, true from sync_engine.parked_item p
where p.doc_source_id = $1 and p.message_id = any($2) and not exists (
    select from sync_engine.message m where m.doc_source_id = $1 and m.message_id = p.message_id)
"""
_UNSEEN = """
select message_id, state, folder_id, version, false as is_parked from sync_engine.message
where doc_source_id = $1 and state = 'observed' and ($2::text is null or folder_id = $2) and seen_at < $3
"""
_ANNOUNCE = """
insert into sync_engine.blob_upload (attachment_id, doc_source_id, blob_key)
select $1, $2, $3
where not exists (select from sync_engine.message_part where attachment_id = $1)
on conflict (attachment_id) do update set announced_at = now()
"""
# What is ours already stays as it is, but for an observed mail that changed and a parked one that could be taken.
_MESSAGES = """
insert into sync_engine.message as old (
    doc_source_id, message_id, tenant_id, state, reason, folder_id, folder, internet_message_id, version, received_at,
    subject, sender_address, sender_name, seen_at, taken_at, closed_at)
select $1, m.message_id, $2, m.state, m.reason, m.folder_id, m.folder, m.internet_message_id, m.version, m.received_at,
       m.subject, m.sender_address, m.sender_name, $4, $4, case when m.state = 'closed' then $4::timestamptz end
from jsonb_to_recordset($3::jsonb) as m(
    message_id text, state text, reason text, folder_id text, folder text, internet_message_id text, version text,
    received_at timestamptz, subject text, sender_address text, sender_name text)
order by m.message_id
on conflict (doc_source_id, message_id) do update set
    state = excluded.state,
    reason = excluded.reason,
    folder_id = coalesce(excluded.folder_id, old.folder_id),
    folder = coalesce(excluded.folder, old.folder),
    internet_message_id = coalesce(excluded.internet_message_id, old.internet_message_id),
    version = coalesce(excluded.version, old.version),
    received_at = coalesce(excluded.received_at, old.received_at),
    subject = coalesce(excluded.subject, old.subject),
    sender_address = coalesce(excluded.sender_address, old.sender_address),
    sender_name = coalesce(excluded.sender_name, old.sender_name),
    seen_at = excluded.seen_at,
    taken_at = case when old.state = 'parked' then excluded.taken_at else old.taken_at end,
    closed_at = excluded.closed_at
where old.state = 'parked'
   or (excluded.state in ('observed', 'removed')
       and (old.state, old.version, old.folder_id)
           is distinct from (excluded.state, coalesce(excluded.version, old.version), excluded.folder_id))
returning message_id
"""
_PARTS = """
insert into sync_engine.message_part (
    doc_source_id, message_id, part_path, position, taken, reason, attachment_id, filename, content_type, size_bytes,
    content_sha256, blob_key)
select $1, p.message_id, p.part_path, p.position, p.attachment_id is not null, p.reason, p.attachment_id, p.filename,
       p.content_type, p.size_bytes, p.content_sha256, p.blob_key
from jsonb_to_recordset($2::jsonb) as p(
    message_id text, part_path text, position integer, reason text, attachment_id text, filename text,
    content_type text, size_bytes bigint, content_sha256 text, blob_key text)
"""
# Beyond the last interval the subscript is out of range, hence null: the item rests.
_PARK = """
insert into sync_engine.parked_item as old (
    doc_source_id, message_id, tenant_id, reason, detail, attempts, first_failed_at, last_failed_at, next_attempt_at)
select $1, f.message_id, $2, f.reason, f.detail, 1, $4, $4, $4::timestamptz + ($5::interval[])[1]
from unnest($3::text[], $6::text[], $7::text[]) as f(message_id, reason, detail) order by f.message_id
on conflict (doc_source_id, message_id) do update set
    reason = excluded.reason, detail = excluded.detail, attempts = old.attempts + 1, last_failed_at = $4,
    next_attempt_at = $4::timestamptz + ($5::interval[])[old.attempts + 1]
returning message_id, reason, next_attempt_at
"""
_AT_REST = """
insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, reason)
select $1, r.message_id, $2, 'parked', r.reason from unnest($3::text[], $4::text[]) as r(message_id, reason)
on conflict do nothing
"""
_BEGIN_RELIST = """
insert into sync_engine.cursor as old (doc_source_id, scope, round_began_at, moved_at) values ($1, $2, $3, $3)
on conflict (doc_source_id, scope) do update
set position = null, page_token = null, round_began_at = $3, moved_at = $3, version = old.version + 1
"""


class PgRunTables:
    """`RunTables` of run_ports.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox) -> None:
        self._pool = pool
        self._outbox = outbox

    async def enter(self, source: DocSource) -> Standing:
        async with acquire_session(self._pool) as conn:
            return await raised(conn, source)

    async def begin_run(self, source: DocSource, kind: RunKind, reasons: Iterable[str], started_at: datetime) -> str:
        run_id = str(uuid4())
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at) "
                "values ($1, $2, $3, $4, $5, $6)",
                run_id,
                source.doc_source_id,
                source.tenant_id,
                str(kind),
                [str(reason) for reason in reasons],
                started_at,
            )
        return run_id

    async def end_run(self, run_id: str, report: RunReport, finished_at: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update sync_engine.sync_run set finished_at = $2, outcome = $3, detail = $4, found_new = $5, "
                "unannounced = $6, parts_taken = $7, parked = $8 where run_id = $1",
                run_id,
                finished_at,
                report.outcome,
                report.detail,
                report.found_new,
                report.unannounced,
                report.parts_taken,
                report.parked,
            )

    async def succeeded(self, source: DocSource, *, full_since: datetime | None, full_due: int | None) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_SUCCEEDED, source.doc_source_id, source.grant_generation, full_since, full_due)

    async def refuse_grant(self, source: DocSource, generation: int) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update sync_engine.sync_state set refused_generation = greatest(refused_generation, $2) "
                "where doc_source_id = $1",
                source.doc_source_id,
                generation,
            )

    async def listed(self, source: DocSource, until: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update sync_engine.sync_state set listed_until = $2 "
                "where doc_source_id = $1 and (listed_until is null or listed_until < $2)",
                source.doc_source_id,
                until,
            )

    async def folders(self, doc_source_id: str) -> Sequence[Folder]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select folder_id, path, well_known from sync_engine.folder where doc_source_id = $1", doc_source_id
            )
        return [Folder(row["folder_id"], row["path"], row["well_known"]) for row in rows]

    async def save_folders(self, doc_source_id: str, folders: Sequence[Folder]) -> None:
        ids = [folder.folder_id for folder in folders]
        async with open_transaction(self._pool) as conn:
            await conn.execute(
                "delete from sync_engine.folder where doc_source_id = $1 and folder_id <> all($2)", doc_source_id, ids
            )
            await conn.execute(
                "insert into sync_engine.folder as old (doc_source_id, folder_id, path, well_known) "
                "select $1, f.* from unnest($2::text[], $3::text[], $4::text[]) as f order by 2 "
                "on conflict (doc_source_id, folder_id) do update set path = excluded.path, "
                "well_known = excluded.well_known "
                "where (old.path, old.well_known) is distinct from (excluded.path, excluded.well_known)",
                doc_source_id,
                ids,
                [folder.path for folder in folders],
                [folder.well_known for folder in folders],
            )

    async def cursor(self, doc_source_id: str, scope: str) -> Cursor:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                "select scope, position, page_token, round_began_at, version from sync_engine.cursor "
                "where doc_source_id = $1 and scope = $2",
                doc_source_id,
                scope,
            )
        return Cursor(scope=scope) if row is None else Cursor(**dict(row))

    async def drop_cursor(self, doc_source_id: str, scope: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "delete from sync_engine.cursor where doc_source_id = $1 and scope = $2", doc_source_id, scope
            )

    async def gone_folders(self, doc_source_id: str) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select scope from sync_engine.cursor c where doc_source_id = $1 and not exists ("
                "select from sync_engine.folder f where f.doc_source_id = $1 and f.folder_id = c.scope) order by scope",
                doc_source_id,
            )
        return [row["scope"] for row in rows]

    async def known(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, KnownMessage]:
        if not message_ids:
            return {}
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_KNOWN, doc_source_id, list(message_ids))
        return {row["message_id"]: _known(row) for row in rows}

    async def unseen(self, doc_source_id: str, folder_id: str | None, since: datetime) -> Sequence[KnownMessage]:
        async with acquire_session(self._pool) as conn:
            return [_known(row) for row in await conn.fetch(_UNSEEN, doc_source_id, folder_id, since)]

    async def parked_due(self, doc_source_id: str, now: datetime, *, all_of_them: bool) -> Sequence[ParkedItem]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select message_id, reason, attempts from sync_engine.parked_item "
                "where doc_source_id = $1 and (next_attempt_at <= $2 or ($3 and last_failed_at < $2)) order by seq",
                doc_source_id,
                now,
                all_of_them,
            )
        return [ParkedItem(row["message_id"], row["reason"], row["attempts"]) for row in rows]

    async def announce_upload(self, doc_source_id: str, attachment_id: str, blob_key: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_ANNOUNCE, attachment_id, doc_source_id, blob_key)

    async def withdraw_upload(self, attachment_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute("delete from sync_engine.blob_upload where attachment_id = $1", attachment_id)

    async def commit(self, source: DocSource, page: Page, now: datetime) -> Committed:
        async with open_transaction(self._pool) as conn:
            await _hold_source(conn, source)
            await _move_cursor(conn, source, page, now)
            new = await _write_messages(conn, source, page.messages, now)
            taken = await self._write_parts(conn, source, page.messages, new, now)
            await _park(conn, source, page, now)
            if page.seen:
                await conn.execute(
                    "update sync_engine.message set seen_at = $3 where doc_source_id = $1 and message_id = any($2)",
                    source.doc_source_id,
                    list(page.seen),
                    now,
                )
        return Committed(frozenset(new), taken)

    async def _write_parts(
        self,
        conn: DatabaseSession,
        source: DocSource,
        messages: Sequence[JudgedMessage],
        new: Collection[str],
        now: datetime,
    ) -> int:
        written = [message for message in messages if message.message_id in new]
        await conn.execute(_PARTS, source.doc_source_id, [row for message in written for row in _part_rows(message)])
        # The announcements of all, also of what somebody else was first with: the blob has the same name and bytes.
        announced = [part.attachment_id for message in messages for part in message.taken]
        await conn.execute("delete from sync_engine.blob_upload where attachment_id = any($1)", announced)
        for message in written:
            await self._tell(conn, source, message, now)
        return sum(len(message.taken) for message in written)

    async def _tell(self, conn: DatabaseSession, source: DocSource, message: JudgedMessage, now: datetime) -> None:
        key = f"{source.doc_source_id}:{message.message_id}"
        for part in message.taken:
            event = attachment_stored(source, message, part, now)
            await self._outbox.append_record(conn, ATTACHMENTS, key, event, aggregate=key)
        for told in message.told:
            await self._outbox.append_record(
                conn, MAIL_EVENTS, source.doc_source_id, told, aggregate=source.doc_source_id
            )


async def _hold_source(conn: DatabaseSession, source: DocSource) -> None:
    """The source stays as it is until this page is through: pausing and deleting wait, and then the page is refused.

    The events of an observed mailbox are in one order, so its pages follow one another, a zombie's too.
    """
    lock = "no key update" if source.profile is Profile.OBSERVATION else "share"
    row = await conn.fetchrow(
        "select state, refused_generation, forgotten_at from sync_engine.sync_state "  # noqa: S608  # one of two words
        f"where doc_source_id = $1 for {lock}",
        source.doc_source_id,
    )
    if row is None or row["forgotten_at"] is not None:
        raise NotToBeSynced("forgotten")
    if row["state"] != DocSourceState.ACTIVE:
        raise NotToBeSynced(row["state"])
    if row["refused_generation"] is not None and row["refused_generation"] >= source.grant_generation:
        raise NotToBeSynced("without a grant")


async def _move_cursor(conn: DatabaseSession, source: DocSource, page: Page, now: datetime) -> None:
    if page.read is not None and page.cursor is not None:
        to = page.cursor
        if page.read.version == 0:
            statement = (
                "insert into sync_engine.cursor (doc_source_id, scope, position, page_token, round_began_at, moved_at) "
                "values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning version"
            )
            moved = await conn.fetchval(
                statement, source.doc_source_id, to.scope, to.position, to.page_token, to.round_began_at, now
            )
        else:
            statement = (
                "update sync_engine.cursor set position = $3, page_token = $4, round_began_at = $5, moved_at = $6, "
                "version = version + 1 where doc_source_id = $1 and scope = $2 and version = $7 returning version"
            )
            moved = await conn.fetchval(
                statement,
                source.doc_source_id,
                to.scope,
                to.position,
                to.page_token,
                to.round_began_at,
                now,
                page.read.version,
            )
        if moved is None:
            raise CursorMoved(f"{to.scope} is not at version {page.read.version} any more")
    if page.begins_relist:
        await conn.execute(_BEGIN_RELIST, source.doc_source_id, RELIST, now)


async def _write_messages(
    conn: DatabaseSession, source: DocSource, messages: Sequence[JudgedMessage], now: datetime
) -> set[str]:
    if not messages:
        return set()
    rows = await conn.fetch(
        _MESSAGES, source.doc_source_id, source.tenant_id, [_message_row(message) for message in messages], now
    )
    return {row["message_id"] for row in rows}


async def _park(conn: DatabaseSession, source: DocSource, page: Page, now: datetime) -> None:
    settled = [*page.settled, *(message.message_id for message in page.messages)]
    if settled:
        await conn.execute(
            "delete from sync_engine.parked_item where doc_source_id = $1 and message_id = any($2)",
            source.doc_source_id,
            settled,
        )
    if page.settled:
        # What was not taken now may be shown where it is: a row that says it is parked would hide it for ever.
        await conn.execute(
            "delete from sync_engine.message where doc_source_id = $1 and message_id = any($2) and state = 'parked'",
            source.doc_source_id,
            list(page.settled),
        )
    if page.failed:
        failed = _columns(page.failed)
        rows = await conn.fetch(
            _PARK, source.doc_source_id, source.tenant_id, failed[0], now, list(RETRY_AFTER), failed[1], failed[2]
        )
        resting = [row for row in rows if row["next_attempt_at"] is None]
        await conn.execute(
            _AT_REST,
            source.doc_source_id,
            source.tenant_id,
            [row["message_id"] for row in resting],
            [row["reason"] for row in resting],
        )


def _columns(failed: Sequence[FailedItem]) -> tuple[list[str], list[str], list[str]]:
    return [item.message_id for item in failed], [item.reason for item in failed], [item.detail for item in failed]


def _message_row(message: JudgedMessage) -> dict[str, object]:
    summary = message.summary
    return {
        "message_id": summary.message_id,
        "state": message.state,
        "reason": message.reason,
        "folder_id": message.folder_id,
        "folder": message.folder,
        "internet_message_id": summary.internet_message_id,
        "version": summary.version,
        "received_at": summary.received_at,
        "subject": summary.subject,
        "sender_address": summary.sender_address,
        "sender_name": summary.sender_name,
    }


def _part_rows(message: JudgedMessage) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for position, part in enumerate(message.parts):
        row: dict[str, object] = {
            "message_id": message.message_id,
            "part_path": part.part_path,
            "position": position,
            "filename": part.filename,
            "content_type": part.content_type,
            "size_bytes": part.size_bytes,
        }
        if isinstance(part, TakenPart):
            row |= {
                "attachment_id": part.attachment_id,
                "content_sha256": part.content_sha256,
                "blob_key": part.blob_key,
            }
        else:
            row["reason"] = part.reason
        rows.append(row)
    return rows


def _known(row: asyncpg.Record) -> KnownMessage:
    return KnownMessage(
        row["message_id"], MessageState(row["state"]), row["folder_id"], row["version"], row["is_parked"]
    )
