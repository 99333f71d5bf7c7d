"""The loop that requests a backstop sync of every active doc source each interval, spread out over it.

Every instance runs it: whichever comes first claims what is due.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import BACKSTOP_SYNCS
from mailroom_common.retries import wait_for_event
from subscription_manager.ports import ConnectionStore

log = get_logger()

_BATCH_SIZE = 100
_MAX_PAUSE_S = 15.0


class BackstopScheduler:
    def __init__(self, connections: ConnectionStore, *, interval: timedelta, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._interval = interval
        self._clock = clock

    async def run_backstops(self, stopping: asyncio.Event) -> None:
        pause_s = min(_MAX_PAUSE_S, self._interval.total_seconds() / 10)
        while not stopping.is_set():
            # A full batch may have left some that are due.
            if await self._request_due_syncs() < _BATCH_SIZE:
                await wait_for_event(stopping, timeout_s=pause_s)

    async def _request_due_syncs(self) -> int:
        try:
            requested = await self._connections.request_backstop_syncs(
                self._clock(), interval=self._interval, limit=_BATCH_SIZE
            )
        except Unavailable as error:
            # Postgres is away; the backstop syncs that are due are requested when it is back.
            log.warning("backstop_request_failed", reason=str(error))
            return 0
        BACKSTOP_SYNCS.inc(requested)
        return requested
