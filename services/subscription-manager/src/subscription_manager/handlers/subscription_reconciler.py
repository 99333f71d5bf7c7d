"""The loop that claims connections whose check is due, and takes the next step of several at once."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.retries import backoff_s, wait_for_first
from subscription_manager.ports import ConnectionStore

log = get_logger()

_MIN_PAUSE_S = 0.2
_RETRY_PAUSE_S = 2.0  # while Postgres is away
_LEASE = timedelta(minutes=3)  # longer than a step


class SubscriptionReconciler:
    """A slow provider holds up its own doc sources only.

    A claim is a lease: it outlasts a step, and what a dead process had claimed is due again after it.
    """

    def __init__(
        self,
        connections: ConnectionStore,
        advance: Callable[[str], Awaitable[None]],
        *,
        wake: asyncio.Event,
        max_pause_s: float,
        max_concurrent: int,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._advance = advance
        self._wake = wake
        self._max_pause_s = max_pause_s
        self._max_concurrent = max_concurrent
        self._clock = clock
        self._running: set[asyncio.Task[None]] = set()

    async def run_reconciler(self, stopping: asyncio.Event) -> None:
        try:
            while not stopping.is_set():
                # Before the claim: what becomes due while it is made sets the event again.
                self._wake.clear()
                if not await self._start_due_steps():
                    await wait_for_first(self._wake, stopping, timeout_s=await self._choose_pause())
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _start_due_steps(self) -> bool:
        """False when nothing more is due, or no more may run at once."""
        free = self._max_concurrent - len(self._running)
        if free <= 0:
            return False  # a task that ends wakes us
        try:
            due = await self._connections.claim_due_checks(self._clock(), lease=_LEASE, limit=free)
        except Unavailable as error:
            # Postgres is away; due checks are claimed when it is back.
            log.warning("due_check_claim_failed", reason=str(error))
            return False
        for doc_source_id in due:
            task = asyncio.create_task(self._advance_one(doc_source_id))
            self._running.add(task)
            task.add_done_callback(self._on_task_done)
        return bool(due)

    async def _choose_pause(self) -> float:
        """Until the next check that is scheduled. The longest pause is for what another instance scheduled earlier and
        died before it acted on it."""
        if len(self._running) >= self._max_concurrent:
            return self._max_pause_s
        try:
            next_check_at = await self._connections.find_next_check_time()
        except Unavailable:
            # Not `retry_forever`: the wake and the stop have to end this pause like every other one here.
            return min(backoff_s(1, initial_s=_RETRY_PAUSE_S, max_s=_RETRY_PAUSE_S), self._max_pause_s)
        if next_check_at is None:
            return self._max_pause_s
        due_in_s = (next_check_at - self._clock()).total_seconds()
        # Not less than a moment: another instance may just be claiming what is due.
        return min(max(due_in_s, _MIN_PAUSE_S), self._max_pause_s)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _advance_one(self, doc_source_id: str) -> None:
        try:
            await self._advance(doc_source_id)
        except Unavailable as error:
            # Nothing is recorded: its lease runs out, and the check is due again.
            log.info("subscription_check_interrupted", doc_source_id=doc_source_id, reason=str(error))
        except Exception:  # the edge of the task: one doc source's bug must not stop the others
            # A bug of ours with one connection; it is checked again when its claim runs out.
            log.exception("subscription_step_crashed", doc_source_id=doc_source_id)
