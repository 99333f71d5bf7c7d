"""Uploads by hand in Postgres: what is being written to the blob store, and the sweeper of what was cut off."""

from datetime import timedelta

import asyncpg

from mailroom_common.blobs import BlobStore
from mailroom_common.postgres import acquire_session, open_transaction

_MAX_DURATION = timedelta(days=1)

_START = "insert into ingestion.upload (attachment_id, blob_key) values ($1, $2)"
_FINISH = "delete from ingestion.upload where attachment_id = $1"
_FIND_DOCUMENT = "select document_id from ingestion.intake where attachment_id = $1"
_LOCK_OLDEST = """
    select attachment_id, blob_key,
           exists (select from ingestion.intake where intake.attachment_id = upload.attachment_id) as is_recorded
    from ingestion.upload where started_at < now() - $1::interval
    order by started_at limit 1 for update of upload skip locked
"""


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
    """`UnfinishedUploads` of ports/housekeeping.py."""

    def __init__(self, pool: asyncpg.Pool, blobs: BlobStore, *, max_duration: timedelta = _MAX_DURATION) -> None:
        self._pool = pool
        self._blobs = blobs
        self._max_duration = max_duration

    async def sweep_upload(self) -> bool:
        async with open_transaction(self._pool) as conn:
            row = await conn.fetchrow(_LOCK_OLDEST, self._max_duration)
            if row is None:
                return False
            if not row["is_recorded"]:
                await self._blobs.delete_blob(row["blob_key"])
            await conn.execute(_FINISH, row["attachment_id"])
            return True
