"""Deleting a blob that nothing names any more, where a store may be away or keep it, as under a retention lock."""

import asyncio

from mailroom_common.blobs.store import BlobStore
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.metrics import BLOB_DELETIONS_FAILED
from mailroom_common.retries import describe_error

MAX_DELETION_S = 30.0
"""Whoever deletes may hold a transaction open meanwhile: Postgres ends one that is idle for a minute."""


async def try_to_delete_blob(blobs: BlobStore, key: str, *, kind: str, max_s: float = MAX_DELETION_S) -> str | None:
    """None once it is deleted; else why it is not, which is counted by its `kind`."""
    try:
        async with asyncio.timeout(max_s):
            await blobs.delete_blob(key)
    except (Unavailable, Rejected, TimeoutError) as error:
        BLOB_DELETIONS_FAILED.labels(kind).inc()
        return describe_error(error)
    return None
