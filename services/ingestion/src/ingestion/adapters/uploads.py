"""Uploads by hand in Postgres: what is being written to the blob store, and the sweeper of what was cut off."""

from datetime import timedelta

import asyncpg

from ingestion.ports.housekeeping import MAX_UNDELETED_COUNTED, SweptBlob
from mailroom_common.blobs import BlobStore
from mailroom_common.blobs.deletion import try_to_delete_blob
from mailroom_common.logs import get_logger
from mailroom_common.postgres import acquire_session, open_transaction

log = get_logger()

_MAX_DURATION = timedelta(days=1)

_START = "insert into ingestion.upload (attachment_id, blob_key) values ($1, $2)"
_FINISH = "delete from ingestion.upload where attachment_id = $1"
_FIND_DOCUMENT = "select document_id from ingestion.intake where attachment_id = $1"
_LOCK_OLDEST = """
    select attachment_id, blob_key,
           exists (select from ingestion.intake where intake.attachment_id = upload.attachment_id) as is_recorded
    from ingestion.upload where greatest(started_at, delete_failed_at) < now() - $1::interval
    order by greatest(started_at, delete_failed_at) limit 1 for update of upload skip locked
"""
_COUNT_POSTPONED = """
    select count(*)
    from (select from ingestion.upload where delete_failed_at is not null limit $1) as counted
"""
_POSTPONE = "update ingestion.upload set delete_failed_at = now() where attachment_id = $1"


class PgManualUploads:
    """`ManualUploads` of ports/intake.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def record_upload_start(self, attachment_id: str, blob_key: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_START, attachment_id, blob_key)

    async def finish_upload(self, attachment_id: str) -> str:
        async with open_transaction(self._pool) as conn:
            document_id: str = await conn.fetchval(_FIND_DOCUMENT, attachment_id)
            await conn.execute(_FINISH, attachment_id)
            return document_id


class UploadSweeper:
    """`BlobSweep` of ports/housekeeping.py."""

    def __init__(self, pool: asyncpg.Pool, blobs: BlobStore, *, max_duration: timedelta = _MAX_DURATION) -> None:
        self._pool = pool
        self._blobs = blobs
        self._max_duration = max_duration

    @property
    def kind(self) -> str:
        return "upload"

    async def count_undeleted(self) -> int:
        async with acquire_session(self._pool) as conn:
            count: int = await conn.fetchval(_COUNT_POSTPONED, MAX_UNDELETED_COUNTED)
            return count

    async def sweep_blob(self) -> SweptBlob | None:
        async with open_transaction(self._pool) as conn:
            row = await conn.fetchrow(_LOCK_OLDEST, self._max_duration)
            if row is None:
                return None
            swept = SweptBlob.KEPT if row["is_recorded"] else await self._delete_blob(row)
            await conn.execute(_POSTPONE if swept is SweptBlob.POSTPONED else _FINISH, row["attachment_id"])
            return swept

    async def _delete_blob(self, row: asyncpg.Record) -> SweptBlob:
        kept_because = await try_to_delete_blob(self._blobs, row["blob_key"], kind=self.kind)
        if kept_because is not None:
            # The store did not delete this blob, as one under a retention lock; it is tried again a day later.
            log.warning("unfinished_upload_kept", attachment_id=row["attachment_id"], reason=kept_because)
            return SweptBlob.POSTPONED
        log.info("unfinished_upload_deleted", attachment_id=row["attachment_id"])
        return SweptBlob.DELETED
