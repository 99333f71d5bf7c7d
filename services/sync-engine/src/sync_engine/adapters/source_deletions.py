"""Deletes the rows of a deleted doc source, in batches: a mailbox may have a million messages."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

import asyncpg

from mailroom_common.events import ConnectionEvent, ConnectionKind, DocSource, derive_event_id
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import CONNECTION_EVENTS
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.sync_states import raise_and_read_state

# Rows of one transaction: some 50 ms of work, far from the limit of 30 s that a statement has.
BATCH_SIZE = 1000
# Of the sessions of the pool, which the runs of all other sources share.
_MAX_SESSIONS = 2
# Another worker deletes the same rows, and has not committed its batch yet.
_RECHECK_INTERVAL_S = 0.2

# From here on no page is taken and no API shows a row of the source. Once for each version: where the tables were
# restored to a time before a deletion it is done again, and what was reported of the first is no answer to the second.
_SOFT_DELETE = """
update sync_engine.sync_state
set forgotten_at = coalesce(forgotten_at, $2), modified_listed_until = null, last_completed_full_started_at = null,
    last_completed_full_ended_at = null, full_round_started_at = null, full_round_run_id = null,
    full_round_due_mark = null,
    full_due_mark = null, not_before = null, failed_attempts = 0, stalled_since = null, missing_folders = '{}'
where doc_source_id = $1 and (forgotten_at is null or forgotten_version is null or forgotten_version < $3)
returning doc_source_id
"""
# Parts before their messages: a cascade would delete the parts of a whole batch at once, however many there are. Their
# uploads too; a blob that no part names is the sweeper's to remove. Each batch goes on behind the one before it ($2),
# since the index still holds what was deleted: from its beginning, each batch would cost more than the last. Several
# workers delete side by side: each passes over what another has locked.
_DELETE_PARTS = """
with batch as (
    select message_id, part_path, attachment_id from sync_engine.message_part
    where doc_source_id = $1 and message_id >= $2
    order by message_id, part_path limit $3 for update skip locked
), uploads as (
    delete from sync_engine.blob_upload u using batch where u.attachment_id = batch.attachment_id
)
delete from sync_engine.message_part p using batch
where p.doc_source_id = $1 and p.message_id = batch.message_id and p.part_path = batch.part_path
returning p.message_id as position
"""
_DELETE_MESSAGES = """
with batch as (
    select message_id from sync_engine.message
    where doc_source_id = $1 and message_id >= $2 order by message_id limit $3 for update skip locked
)
delete from sync_engine.message m using batch where m.doc_source_id = $1 and m.message_id = batch.message_id
returning m.message_id as position
"""
_DELETE_MAIL_EVENTS = """
with batch as (
    select event_id, recorded_at from sync_engine.mail_event
    where doc_source_id = $1 and recorded_at >= coalesce(nullif($2, '')::timestamptz, '-infinity')
    order by recorded_at, seq limit $3 for update skip locked
)
delete from sync_engine.mail_event e using batch where e.event_id = batch.event_id
returning to_char(batch.recorded_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US+00') as position
"""
# The others are small beside these three: rows per folder, per message that is parked, and per run of the last weeks.
_DELETE_OTHERS = """
delete from sync_engine.{table} where ctid = any(array(
    select ctid from sync_engine.{table} where doc_source_id = $1 and $2::text is not null limit $3
    for update skip locked))
returning '' as position
"""
_OTHER_TABLES = ("cursor", "folder", "parked_item", "passed_over_message", "sync_run")
_STATEMENTS = (
    _DELETE_PARTS,
    _DELETE_MESSAGES,
    _DELETE_MAIL_EVENTS,
    *(_DELETE_OTHERS.format(table=table) for table in _OTHER_TABLES),
)
_HAS_ROWS = " or ".join(
    f"exists (select from sync_engine.{table} where doc_source_id = $1)"  # names of ours
    for table in ("message_part", "message", "mail_event", *_OTHER_TABLES)
)
_MARK_FORGOTTEN = """
update sync_engine.sync_state set forgotten_version = $2
where doc_source_id = $1 and (forgotten_version is null or forgotten_version < $2) returning doc_source_id
"""


class PgSourceDeletions:
    """`SourceDeletions` of ports.py."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        outbox: Outbox,
        clock: Callable[[], datetime],
        states: PgIngestionStates,
        *,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self._pool = pool
        self._outbox = outbox
        self._states = states
        self._clock = clock
        self._batch_size = batch_size
        # Who waits longest is next, so that each source gets its batch in turn: a small one never waits for a big one.
        self._sessions = asyncio.Semaphore(_MAX_SESSIONS)

    async def forget_source(self, source: DocSource) -> None:
        if not await self._soft_delete(source):
            return
        # While the messages still say which they are: no page is taken any more that could claim another.
        await self._states.give_up_claims(source.doc_source_id, batch_size=self._batch_size)
        await self._delete_rows(source.doc_source_id)
        while not await self._finish_deletion(source):
            await asyncio.sleep(_RECHECK_INTERVAL_S)
            await self._delete_rows(source.doc_source_id)

    async def _soft_delete(self, source: DocSource) -> bool:
        """False where this version was answered before."""
        async with self._open_transaction() as conn:
            await raise_and_read_state(conn, source)
            # Pages under way hold this row: they are committed first and their rows are deleted with the others.
            row = await conn.fetchval(_SOFT_DELETE, source.doc_source_id, self._clock(), source.version)
            return row is not None

    async def _delete_rows(self, doc_source_id: str) -> None:
        for statement in _STATEMENTS:
            position: str | None = ""
            while position is not None:
                async with self._open_transaction() as conn:
                    rows = await conn.fetch(statement, doc_source_id, position, self._batch_size)
                position = max((row["position"] for row in rows), default=None)

    async def _finish_deletion(self, source: DocSource) -> bool:
        """False while there are rows still, which another worker is deleting."""
        async with self._open_transaction() as conn:
            if await conn.fetchval(f"select {_HAS_ROWS}", source.doc_source_id):
                return False
            # Of several workers one marks the row, and it alone reports.
            if await conn.fetchval(_MARK_FORGOTTEN, source.doc_source_id, source.version) is not None:
                await self._report_forgotten(conn, source)
            return True

    async def _report_forgotten(self, conn: DatabaseSession, source: DocSource) -> None:
        event = ConnectionEvent(
            event_id=derive_event_id("connection", source.doc_source_id, ConnectionKind.FORGOTTEN, source.version),
            occurred_at=self._clock(),
            tenant_id=source.tenant_id,
            doc_source_id=source.doc_source_id,
            kind=ConnectionKind.FORGOTTEN,
            grant_generation=source.grant_generation,
            source_version=source.version,
        )
        await self._outbox.append_record(
            conn, CONNECTION_EVENTS, source.doc_source_id, event, aggregate=f"connection:{source.doc_source_id}"
        )

    @asynccontextmanager
    async def _open_transaction(self) -> AsyncIterator[DatabaseSession]:
        async with self._sessions, open_transaction(self._pool) as conn:
            yield conn
