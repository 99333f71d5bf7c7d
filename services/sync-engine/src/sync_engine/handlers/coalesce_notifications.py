"""Turns notifications into few sync requests: the rules are `domain/coalescing.py`, the host is Faust."""

import asyncio
import heapq
from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.metrics import COALESCER_NOTIFICATIONS, COALESCER_REQUESTS
from sync_engine.domain.coalescing import (
    CoalescingDecision,
    CoalescingWindow,
    PendingRequest,
    decide_on_notification,
    decide_on_window_end,
)
from sync_engine.ports import CoalescingWindows, SyncRequests


class CoalesceNotifications:
    """One for all partitions of a process. Its methods may interleave at awaits: all run on one loop.

    A request is sent first and its window stored afterwards, since a repeat is harmless and a loss is not. A
    notification that is held back while the trailing request is being sent is answered by that one: whoever claims it
    reads the mailbox later still.
    """

    def __init__(
        self, windows: CoalescingWindows, requests: SyncRequests, *, length: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._windows = windows
        self._requests = requests
        self._length = length
        self._clock = clock
        self._ends: list[tuple[datetime, str]] = []
        self._ends_changed = asyncio.Event()

    async def handle_notification(self, doc_source_id: str, tenant_id: str) -> None:
        """`tenant_id` is empty where the notification could not be read: it asks for a sync all the same."""
        COALESCER_NOTIFICATIONS.inc()
        window = self._windows.find_open_window(doc_source_id)
        decision = decide_on_notification(window, PendingRequest(self._clock(), tenant_id), self._length)
        await self._apply_decision(doc_source_id, window, decision)

    async def wait_until_due(self) -> None:
        """Until the time of the next window is over; for ever while none is open."""
        while True:
            # Cleared before the queue is read: a window that is queued after that sets it again.
            self._ends_changed.clear()
            timeout_s = (self._ends[0][0] - self._clock()).total_seconds() if self._ends else None
            if timeout_s is not None and timeout_s <= 0:
                return
            try:
                async with asyncio.timeout(timeout_s):
                    await self._ends_changed.wait()
            except TimeoutError:
                return

    async def close_due_windows(self) -> None:
        """End the windows whose time is over. Raises Unavailable: then what was not sent is due again."""
        # Taken out of the queue first: a notification that comes while these are sent may queue a window anew.
        now, due = self._clock(), []
        while self._ends and self._ends[0][0] <= now:
            due.append(heapq.heappop(self._ends))
        results = await asyncio.gather(*(self._close_window(key, now) for _, key in due), return_exceptions=True)
        failures = [(end, error) for end, error in zip(due, results, strict=True) if error is not None]
        for end, _ in failures:
            self._push_end(end)
        for _, error in failures:
            raise error

    def on_recovery(self) -> None:
        """After a rebalance: the windows are those of other partitions now, and each has to end once more."""
        self._ends = [
            (window.ends_at, key) for key, window in self._windows.list_windows() if self._windows.owns_source(key)
        ]
        heapq.heapify(self._ends)
        self._ends_changed.set()

    async def _close_window(self, doc_source_id: str, now: datetime) -> None:
        # Looked up again: the window may have been prolonged, or its partition moved, since its end was queued.
        window = self._windows.find_open_window(doc_source_id)
        if window is not None and self._windows.owns_source(doc_source_id):
            await self._apply_decision(doc_source_id, window, decide_on_window_end(window, now, self._length))

    async def _apply_decision(
        self, doc_source_id: str, before: CoalescingWindow | None, decision: CoalescingDecision
    ) -> None:
        # Sent before the window is stored: a crash in between repeats a request, the other order would lose one.
        if decision.request is not None:
            await self._requests.send_request(doc_source_id, decision.request)
            COALESCER_REQUESTS.labels("trailing" if before and before.held_back else "first").inc()
        if decision.window == before:
            return
        if decision.window is not None and (before is None or before.ends_at != decision.window.ends_at):
            self._push_end((decision.window.ends_at, doc_source_id))
        await self._windows.store_window(doc_source_id, decision.window)

    def _push_end(self, end: tuple[datetime, str]) -> None:
        heapq.heappush(self._ends, end)
        self._ends_changed.set()
