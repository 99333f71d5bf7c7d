"""Rows of `blob_upload`, which record what is being written to the blob store, and the sweeper of what is old."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto

import asyncpg

from mailroom_common.blobs import BlobStore
from mailroom_common.blobs.deletion import try_to_delete_blob
from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from sync_engine.domain.message_records import ProcessedMessage
from sync_engine.domain.run_outcomes import SourceNotActive

log = get_logger()

_MAX_UPLOAD_DURATION = timedelta(days=1)
_RUN_RETENTION = timedelta(days=30)
_IDLE_RUN_RETENTION = timedelta(days=1)  # a mailbox is synced a hundred times a day, and mostly nothing is new
_BATCH_SIZE = 5000  # rows that one statement deletes
# A store that is away, or deletes nothing, is not asked for each blob; whoever is passed over is tried a day later.
_MAX_FAILURES_IN_A_ROW = 10

# What a part names already needs no row: it is ingestion's. In one statement with the question whether the source is
# forgotten: a deletion marks it before it takes the first part, so that whoever misses the part sees the mark. A row
# that were made then would have the sweeper take a blob that a document names.
_RECORD_UPLOAD = """
with source as (
    select forgotten_at is not null as is_forgotten from sync_engine.sync_state where doc_source_id = $2
), recorded as (
    insert into sync_engine.blob_upload (attachment_id, doc_source_id, blob_key)
    select $1, $2, $3
    where not exists (select from sync_engine.message_part where attachment_id = $1)
      and not exists (select from source where is_forgotten)
    on conflict (attachment_id) do update set upload_started_at = now()
)
select is_forgotten from source
"""
_DELETE_UPLOADS = """
delete from sync_engine.blob_upload u where u.attachment_id = any($1)
  and exists (select from sync_engine.message_part p where p.attachment_id = u.attachment_id)
"""
# The row's lock is the uploader's too: who starts the same upload again waits until the blob is gone, then writes.
_LOCK_OLDEST = """
select u.attachment_id, u.blob_key, exists (
    select from sync_engine.message_part p where p.attachment_id = u.attachment_id) as is_named
from sync_engine.blob_upload u where greatest(u.upload_started_at, u.delete_failed_at) < $1
order by greatest(u.upload_started_at, u.delete_failed_at) limit 1 for update of u skip locked
"""
_POSTPONE = "update sync_engine.blob_upload set delete_failed_at = $2 where attachment_id = $1"
# Each by an index of its own, and in batches: on a site with 100,000 mailboxes one statement for all would run into its
# time limit, and be begun again for ever. Two workers pass over each other's rows.
_DELETE_RUNS = """
delete from sync_engine.sync_run where run_id in (
    select run_id from sync_engine.sync_run where {condition} order by started_at limit $2 for update skip locked)
"""
_DELETE_OLD_MAIL_EVENTS = """
delete from sync_engine.mail_event where event_id in (
    select event_id from sync_engine.mail_event where recorded_at < $1 order by recorded_at limit $2
    for update skip locked)
"""
_DELETE_OLD_RUNS = _DELETE_RUNS.format(condition="started_at < $1")
_DELETE_IDLE_RUNS = _DELETE_RUNS.format(
    condition="started_at < $1 and outcome = 'done' and new_messages = 0 and parked_items = 0"
)


class _SweptUpload(Enum):
    """What became of an upload that is a day old."""

    DELETED = auto()
    NAMED = auto()  # a part names its blob, which stays
    POSTPONED = auto()  # the store did not delete its blob


class PgUploads:
    """`Uploads` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def record_upload_start(self, doc_source_id: str, attachment_id: str, blob_key: str) -> None:
        async with acquire_session(self._pool) as conn:
            if await conn.fetchval(_RECORD_UPLOAD, attachment_id, doc_source_id, blob_key):
                raise SourceNotActive("forgotten")

    async def delete_upload_record(self, attachment_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute("delete from sync_engine.blob_upload where attachment_id = $1", attachment_id)


async def delete_upload_records(conn: DatabaseSession, messages: Sequence[ProcessedMessage]) -> None:
    """Within the page transaction. Of all, also where another run was first: its blob has the same name and bytes.

    But for what no part names even so, as a judgement that came too late wrote it: that is the sweeper's.
    """
    uploaded = [part.attachment_id for message in messages for part in message.stored_parts]
    if uploaded:
        await conn.execute(_DELETE_UPLOADS, uploaded)


class Housekeeping:
    """Removes blobs that a crash left behind, old sync runs, and old mail events."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        blobs: BlobStore,
        clock: Callable[[], datetime],
        *,
        mail_event_retention: timedelta = timedelta(days=90),
        batch_size: int = _BATCH_SIZE,
    ) -> None:
        self._pool = pool
        self._blobs = blobs
        self._clock = clock
        self._mail_event_retention = mail_event_retention
        self._batch_size = batch_size
        self._stopping = asyncio.Event()

    async def sweep_repeatedly(self, stopping: asyncio.Event, *, interval_s: float) -> None:
        self._stopping = stopping
        while not stopping.is_set():
            try:
                await self.sweep_once()
            except Unavailable as error:
                # Postgres or the blob store is away; the next round removes what this one did not.
                log.warning("housekeeping_postponed", reason=str(error))
            except Exception:  # one blob that cannot be removed must not end the syncing of mail
                # A bug of ours or one blob that cannot be removed; fetching mail does not depend on it.
                log.exception("housekeeping_failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), interval_s)

    async def sweep_once(self) -> int:
        """How many blobs were removed. A stop ends it after the row or the batch that it is at."""
        now = self._clock()
        # Rows first: a blob store that refuses to delete would otherwise have them grow for ever.
        await self._delete_rows(_DELETE_OLD_RUNS, now - _RUN_RETENTION)
        await self._delete_rows(_DELETE_IDLE_RUNS, now - _IDLE_RUN_RETENTION)
        await self._delete_rows(_DELETE_OLD_MAIL_EVENTS, now - self._mail_event_retention)
        return await self._sweep_uploads()

    async def _sweep_uploads(self) -> int:
        removed = failed_in_a_row = 0
        while not self._stopping.is_set() and failed_in_a_row < _MAX_FAILURES_IN_A_ROW:
            swept = await self._sweep_upload()
            if swept is None:
                break
            removed += swept is _SweptUpload.DELETED
            failed_in_a_row = failed_in_a_row + 1 if swept is _SweptUpload.POSTPONED else 0
        return removed

    async def _delete_rows(self, statement: str, before: datetime) -> None:
        is_done = False
        while not is_done and not self._stopping.is_set():
            async with acquire_session(self._pool) as conn:
                status = await conn.execute(statement, before, self._batch_size)
            is_done = status == "DELETE 0"

    async def _sweep_upload(self) -> _SweptUpload | None:
        async with open_transaction(self._pool) as conn:
            row = await conn.fetchrow(_LOCK_OLDEST, self._clock() - _MAX_UPLOAD_DURATION)
            if row is None:
                return None
            # What a part names is ingestion's, whether its row was deleted or not.
            swept = _SweptUpload.NAMED if row["is_named"] else await self._delete_blob(row)
            if swept is _SweptUpload.POSTPONED:
                await conn.execute(_POSTPONE, row["attachment_id"], self._clock())
            else:
                await conn.execute("delete from sync_engine.blob_upload where attachment_id = $1", row["attachment_id"])
            return swept

    async def _delete_blob(self, row: asyncpg.Record) -> _SweptUpload:
        kept_because = await try_to_delete_blob(self._blobs, row["blob_key"], kind="upload")
        if kept_because is not None:
            # The store did not delete this blob, as one under a retention lock; it is tried again a day later.
            log.warning("orphaned_blob_kept", attachment_id=row["attachment_id"], reason=kept_because)
            return _SweptUpload.POSTPONED
        log.info("orphaned_blob_removed", attachment_id=row["attachment_id"])
        return _SweptUpload.DELETED
