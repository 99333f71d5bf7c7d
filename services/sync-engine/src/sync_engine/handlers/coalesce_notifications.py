"""Turns notifications into sync requests, few enough: the rules are `domain/coalescing.py`, the host is Faust."""

import asyncio
import heapq
from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.metrics import COALESCER_NOTIFICATIONS, COALESCER_REQUESTS
from sync_engine.domain.coalescing import Decision, Window, Wish, on_end, on_notification
from sync_engine.ports import AsksForSyncs, KeepsWindows


class CoalesceNotifications:
    """One for all partitions of a process. `heard` and `flush` may interleave at awaits: both run on one loop.

    A request is sent first and remembered afterwards, since a repeat is harmless and a loss is not. A notification that
    is held back while the trailing request is under way is answered by that one: whoever claims it reads later still.
    """

    def __init__(
        self, windows: KeepsWindows, requests: AsksForSyncs, *, length: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._windows = windows
        self._requests = requests
        self._length = length
        self._clock = clock
        self._ends: list[tuple[datetime, str]] = []

    async def heard(self, doc_source_id: str, tenant_id: str) -> None:
        """`tenant_id` is empty where the notification could not be read: it wakes all the same."""
        COALESCER_NOTIFICATIONS.inc()
        window = self._windows.get(doc_source_id)
        decision = on_notification(window, Wish(self._clock(), tenant_id), self._length)
        await self._carry_out(doc_source_id, window, decision)

    async def flush(self) -> None:
        """End the windows whose time is over. Raises Unavailable: then what was not sent is due again."""
        now, due = self._clock(), []
        while self._ends and self._ends[0][0] <= now:
            due.append(heapq.heappop(self._ends))
        outcomes = await asyncio.gather(*(self._end(key, now) for _, key in due), return_exceptions=True)
        failed = [(end, error) for end, error in zip(due, outcomes, strict=True) if error is not None]
        for end, _ in failed:
            heapq.heappush(self._ends, end)
        for _, error in failed:
            raise error

    def recovered(self) -> None:
        """The windows are those of other partitions now, read from the changelog: each has to end once more."""
        self._ends = [(window.ends_at, key) for key, window in self._windows.items() if self._windows.owns(key)]
        heapq.heapify(self._ends)

    async def _end(self, doc_source_id: str, now: datetime) -> None:
        window = self._windows.get(doc_source_id)
        if window is not None and self._windows.owns(doc_source_id):
            await self._carry_out(doc_source_id, window, on_end(window, now, self._length))

    async def _carry_out(self, doc_source_id: str, before: Window | None, decision: Decision) -> None:
        if decision.request is not None:
            await self._requests.ask(doc_source_id, decision.request)
            COALESCER_REQUESTS.labels("trailing" if before and before.held_back else "first").inc()
        if decision.window == before:
            return
        if decision.window is not None and (before is None or before.ends_at != decision.window.ends_at):
            heapq.heappush(self._ends, (decision.window.ends_at, doc_source_id))
        await self._windows.put(doc_source_id, decision.window)
