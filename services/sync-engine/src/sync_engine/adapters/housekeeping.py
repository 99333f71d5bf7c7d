"""Sweeps up what a crash left: uploads that no page came to name, and old sync runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import asyncpg

from mailroom_common.blobs import BlobStore
from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import acquire_session, open_transaction

log = get_logger()

_AN_UPLOAD_ENDS_WITHIN = timedelta(days=1)
_RUNS_KEPT = timedelta(days=30)
_IDLE_RUNS_KEPT = timedelta(days=1)  # a mailbox is looked at a hundred times a day, and mostly there is nothing

# The row's lock is the uploader's too: who announces the same upload again waits until the blob is gone, then writes.
_OLDEST = """
select u.attachment_id, u.blob_key, exists (
    select from sync_engine.message_part p where p.attachment_id = u.attachment_id) as is_named
from sync_engine.blob_upload u where u.announced_at < $1
order by u.announced_at limit 1 for update of u skip locked
"""


class Housekeeping:
    def __init__(self, pool: asyncpg.Pool, blobs: BlobStore, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._blobs = blobs
        self._clock = clock

    async def run(self, stopping: asyncio.Event, *, every_s: float) -> None:
        while not stopping.is_set():
            try:
                await self.sweep()
            except Unavailable as error:
                log.warning("housekeeping_postponed", reason=str(error))
            except Exception:  # one blob that cannot be removed must not end the fetching of mail
                log.exception("housekeeping_failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), every_s)

    async def sweep(self) -> int:
        """How many blobs were removed."""
        removed = 0
        while (swept := await self._sweep_one()) is not None:
            removed += swept
        async with acquire_session(self._pool) as conn:
            now = self._clock()
            await conn.execute(
                "delete from sync_engine.sync_run where started_at < $1 "
                "or (started_at < $2 and outcome = 'done' and found_new = 0 and parked = 0)",
                now - _RUNS_KEPT,
                now - _IDLE_RUNS_KEPT,
            )
        return removed

    async def _sweep_one(self) -> bool | None:
        async with open_transaction(self._pool) as conn:
            row = await conn.fetchrow(_OLDEST, self._clock() - _AN_UPLOAD_ENDS_WITHIN)
            if row is None:
                return None
            # What a part names is ingestion's, announced or not.
            if not row["is_named"]:
                await self._blobs.delete_blob(row["blob_key"])
                log.info("orphaned_blob_removed", attachment_id=row["attachment_id"])
            await conn.execute("delete from sync_engine.blob_upload where attachment_id = $1", row["attachment_id"])
            return not row["is_named"]
