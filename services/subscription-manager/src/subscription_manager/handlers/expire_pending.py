"""The loop that deletes pending doc sources to which nobody has consented for a long time.

Each holds an address that somebody typed, and a link could be made for it for ever. Every instance runs the loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import PENDING_EXPIRED
from mailroom_common.retries import wait_for_event
from subscription_manager.ports import ConnectionStore

log = get_logger()

_BATCH_SIZE = 100
_INTERVAL_S = 3600.0


class PendingExpirer:
    """`delete_pending` deletes one as an operator does, unless a consent was first, and says whether it did."""

    def __init__(
        self,
        connections: ConnectionStore,
        delete_pending: Callable[[str], Awaitable[bool]],
        *,
        lifetime: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._delete_pending = delete_pending
        self._lifetime = lifetime
        self._clock = clock

    async def run_expiry(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            # A full batch may have left some; one of which nothing could be deleted is looked at again in an hour.
            if await self._expire_batch() < _BATCH_SIZE:
                await wait_for_event(stopping, timeout_s=_INTERVAL_S)

    async def _expire_batch(self) -> int:
        """Returns how many were deleted."""
        deleted = 0
        try:
            now = self._clock()
            for doc_source_id in await self._connections.list_expired_pending(now - self._lifetime, now, _BATCH_SIZE):
                if await self._delete_pending(doc_source_id):
                    deleted += 1
                    PENDING_EXPIRED.inc()
                    log.info("pending_doc_source_expired", doc_source_id=doc_source_id)
        except Unavailable as error:
            # Postgres is away; what is left is deleted an hour later.
            log.warning("pending_expiry_deferred", reason=str(error))
            return 0
        return deleted
