"""Schedules sync runs: claims requests from the work tables of the owned partitions while slots are free."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SYNC_REQUEST_HANDLING_S, SYNC_REQUESTS_RESTORED
from mailroom_common.retries import retry_forever
from mailroom_common.tenant_turns import TenantTurns
from mailroom_common.tracing import bind_traceparent
from sync_engine.domain.work_table import Claim, RecordToAppend
from sync_engine.handlers.answer_claims import REST_AFTER_CRASH_S, REST_S, AnswerClaims
from sync_engine.handlers.request_partitions import RequestPartition, RequestPartitions, cancel_tasks
from sync_engine.ports import RequestLog, SyncStates

log = get_logger()

# Backfill requests have slots of their own, one in five: they neither starve nor hold up live mail.
_BACKFILL_SHARE = 5
_MAX_APPEND_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _ClaimedRun:
    """A claim being worked on. It is compared by identity: a later run of the same source is another one."""

    owned: RequestPartition
    claim: Claim


class SyncRequestWorker:
    """Runs at most one claim per doc source, and at most `max_concurrent` in all. Tenants take turns."""

    def __init__(
        self,
        *,
        partitions: RequestPartitions,
        answers: AnswerClaims,
        states: SyncStates,
        requests: RequestLog,
        clock: Callable[[], datetime],
        max_concurrent: int,
        append_pause_s: float = 0.2,
    ) -> None:
        self._partitions = partitions
        self._answers = answers
        self._states = states
        self._requests = requests
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._max_backfill = max(1, max_concurrent // _BACKFILL_SHARE)
        self._append_pause_s = append_pause_s
        self._running: dict[str, _ClaimedRun] = {}  # by doc source, whichever topic the request was claimed from
        self._turns = TenantTurns()

    async def run_worker(self, stopping: asyncio.Event, *, grace_s: float) -> None:
        stop_watch = asyncio.create_task(_forward_event(stopping, self._partitions.changed))
        try:
            while not stopping.is_set():
                self._partitions.changed.clear()
                self._start_due_work()
                await self._wait_for_change()
        finally:
            stop_watch.cancel()
        # The runs under way get a moment to end; what is cancelled is run again by the next owner of the partition.
        if tasks := {task for owned in self._partitions for task in owned.tasks}:
            await asyncio.wait(tasks, timeout=grace_s)
            await cancel_tasks(tasks)

    def _start_due_work(self) -> None:
        for owned in self._partitions:
            for append in owned.table.take_requests_to_reappend():
                SYNC_REQUESTS_RESTORED.inc()
                owned.start_task(self._append_until_acknowledged(owned, append))
            if not owned.is_recording_full_syncs and (keys := owned.table.take_full_sync_keys()):
                owned.is_recording_full_syncs = True
                owned.start_task(self._record_full_syncs(owned, keys))
            owned.table.wake_due_keys(self._clock())
        while len(self._running) < self._max_concurrent and (run := self._claim_next()):
            self._start_run(run)

    def _claim_next(self) -> _ClaimedRun | None:
        """The next claim, backfill first while its share has room."""
        backfill_count = sum(run.owned.is_backfill for run in self._running.values())
        kinds = (True, False) if backfill_count < self._max_backfill else (False,)
        for is_backfill in kinds:
            owned = [owned for owned in self._partitions if owned.is_backfill is is_backfill and owned.is_caught_up]
            tenants = (tenant_id for one in owned for tenant_id in one.table.list_claimable_tenants())
            in_use = Counter(run.claim.request.tenant_id for run in self._running.values())
            for tenant_id in self._turns.order_tenants(tenants, in_use):
                if run := self._claim_of_tenant(tenant_id, owned):
                    return run
        return None

    def _claim_of_tenant(self, tenant_id: str, partitions: Sequence[RequestPartition]) -> _ClaimedRun | None:
        for owned in partitions:
            if claim := owned.table.claim_next(tenant_id, busy=self._running):
                self._partitions.move_to_end(owned)
                self._turns.record_turn(tenant_id)
                return _ClaimedRun(owned, claim)
        return None

    def _start_run(self, run: _ClaimedRun) -> None:
        self._running[run.claim.key] = run
        task = run.owned.start_task(self._execute_run(run))
        # `_execute_run` frees the slot earlier, but it is never entered when the task is cancelled before its first
        # step.
        task.add_done_callback(lambda _: self._free_slot(run))

    def _free_slot(self, run: _ClaimedRun) -> None:
        # Once only: the source may have been claimed again while the answer of this run was being appended.
        if self._running.get(run.claim.key) is run:
            del self._running[run.claim.key]

    async def _execute_run(self, run: _ClaimedRun) -> None:
        owned, claim = run.owned, run.claim
        started = perf_counter()
        try:
            with bind_traceparent(owned.traceparents.get(claim.key)):
                outcome, append = await self._answers.answer_claim(owned.table, claim)
        finally:
            self._free_slot(run)
        SYNC_REQUEST_HANDLING_S.labels(outcome).observe(perf_counter() - started)
        if append:
            self._partitions.changed.set()  # the slot is free, however long the append takes
            await self._append_until_acknowledged(owned, append)

    async def _wait_for_change(self) -> None:
        due = [at for owned in self._partitions if (at := owned.table.next_due_at())]
        timeout_s = (min(due) - self._clock()).total_seconds() if due else None
        try:
            async with asyncio.timeout(timeout_s if timeout_s is None else max(0.01, timeout_s)):
                await self._partitions.changed.wait()
        except TimeoutError:
            return  # a key has rested long enough

    async def _append_until_acknowledged(self, owned: RequestPartition, append: RecordToAppend) -> None:
        """A repeated record is harmless, a missing one is not: a source whose append is lost is never claimed again."""

        async def append_record() -> int:
            return await self._requests.append_record(owned.topic, append, occurred_at=self._clock())

        # Kafka did not take the record; it is appended until it does, since a missing one would lose the request.
        append_with_retry = retry_forever(
            Retryable,
            log_event="sync_request_append_failed",
            initial_s=self._append_pause_s,
            max_s=_MAX_APPEND_PAUSE_S,
            topic=owned.topic.name,
            doc_source_id=append.key,
        )
        owned.table.acknowledge_append(append.key, await append_with_retry(append_record))

    async def _record_full_syncs(self, owned: RequestPartition, keys: list[str]) -> None:
        """Make it durable that these need a full run: a newer request takes the place of the one that said so, in the
        table and for compaction."""
        try:
            # Of a source that is unknown even then nothing is stored: its request ends at the next claim.
            if known := await self._answers.find_known_keys(keys):
                await self._states.mark_full_due(known)
        except Retryable as error:
            # The requests for a full run stay uncommitted until `full_due_mark` is stored, so that a restart does not
            # lose them.
            log.warning("full_due_mark_deferred", count=len(keys), reason=str(error))
            await asyncio.sleep(error.retry_after_s or REST_S)
            owned.table.release_full_sync_keys(keys)
        except Exception:
            log.exception("full_due_mark_deferred", count=len(keys))
            await asyncio.sleep(REST_AFTER_CRASH_S)
            owned.table.release_full_sync_keys(keys)
        else:
            owned.table.confirm_full_sync_keys(keys)
        finally:
            owned.is_recording_full_syncs = False


async def _forward_event(source: asyncio.Event, target: asyncio.Event) -> None:
    await source.wait()
    target.set()
