"""The two clocks of the service: what is due for the keeper, and the backstop sync of every active doc source."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import BACKSTOPS_ASKED
from mailroom_common.retries import wait_for_first
from subscription_manager.ports import Connections

log = get_logger()

_AT_A_TIME = 100


class RunKeeper:
    """Claims due doc sources and keeps several at once; a slow provider holds up its own doc sources only.

    A claim is a lease: it outlasts a step, and what a dead process held is due again after it.
    """

    def __init__(
        self,
        connections: Connections,
        keep: Callable[[str], Awaitable[None]],
        *,
        wake: asyncio.Event,
        poll_s: float,
        at_once: int,
        clock: Callable[[], datetime],
        lease: timedelta = timedelta(minutes=3),
    ) -> None:
        self._connections = connections
        self._keep = keep
        self._wake = wake
        self._poll_s = poll_s
        self._at_once = at_once
        self._clock = clock
        self._lease = lease
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, stopping: asyncio.Event) -> None:
        try:
            while not stopping.is_set():
                self._wake.clear()
                if not await self._start_due():
                    await wait_for_first(self._wake, stopping, timeout_s=self._poll_s)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _start_due(self) -> bool:
        """False when nothing more is due or no place is free."""
        free = self._at_once - len(self._running)
        if free <= 0:
            return False  # a task that ends wakes us
        try:
            due = await self._connections.claim_attention(self._clock(), lease=self._lease, limit=free)
        except Unavailable as error:
            log.warning("keeper_waits", reason=str(error))
            return False
        for doc_source_id in due:
            task = asyncio.create_task(self._keep_one(doc_source_id))
            self._running.add(task)
            task.add_done_callback(self._ended)
        return bool(due)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _keep_one(self, doc_source_id: str) -> None:
        try:
            await self._keep(doc_source_id)
        except Unavailable as error:
            log.info("keeper_comes_again", doc_source_id=doc_source_id, reason=str(error))
        except Exception:  # the edge of the task: one doc source's bug must not stop the others
            log.exception("keeper_failed", doc_source_id=doc_source_id)


class RunBackstop:
    """Every active doc source is asked to sync each interval, spread out, by whichever instance comes first."""

    def __init__(self, connections: Connections, *, interval: timedelta, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._interval = interval
        self._clock = clock

    async def run(self, stopping: asyncio.Event) -> None:
        pause_s = min(5.0, self._interval.total_seconds() / 10)
        while not stopping.is_set():
            if await self._ask() < _AT_A_TIME:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), pause_s)

    async def _ask(self) -> int:
        try:
            asked = await self._connections.ask_for_backstops(self._clock(), interval=self._interval, limit=_AT_A_TIME)
        except Unavailable as error:
            log.warning("backstop_waits", reason=str(error))
            return 0
        BACKSTOPS_ASKED.inc(asked)
        return asked
