"""Works off sync requests: claims from the work tables of the partitions we own, runs, and answers in the log."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Any

from mailroom_common.errors import Retryable, Unavailable
from mailroom_common.events import DocSource, DocSourceState, SyncRequest
from mailroom_common.kafka.headers import RESOLVES, TRACEPARENT
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SYNC_REQUESTS_PENDING, SYNC_REQUESTS_REARMED, SYNC_RUN_S
from mailroom_common.topics import SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL, Topic
from mailroom_common.tracing import bind_traceparent
from sync_engine.domain.work_table import Append, Claim, WorkTable
from sync_engine.ports import (
    Done,
    KnowsSources,
    NotSyncable,
    RequestLog,
    RetryAt,
    RunOutcome,
    SyncsMailboxes,
    SyncStates,
    TellsConnections,
)

log = get_logger()

# A backfill has a lane of its own, of one slot in five: it neither starves nor holds up live mail.
_BACKFILL_SHARE = 5
# How long a key rests when Postgres, Kafka or the directory could not be asked; the request stays as it is.
_REST_S = 2.0
_REST_AFTER_CRASH_S = 30.0
_APPEND_AGAIN_S = (0.1, 0.5, 2.0)
_CATCH_UP_S = 10.0


@dataclass(slots=True, eq=False)
class Lane:
    """One owned partition: what the folding consumer reads into, and the tasks that die with its ownership."""

    topic: Topic
    wake: Callable[[], None]
    table: WorkTable = field(default_factory=WorkTable)
    is_caught_up: bool = False
    is_recording: bool = False
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    traces: dict[str, str] = field(default_factory=dict)

    @property
    def is_backfill(self) -> bool:
        return self.topic is SYNC_REQUESTS_BACKFILL

    def read(self, record: IncomingRecord) -> None:
        if isinstance(record.event, SyncRequest):
            self.table.read_request(record.offset, record.key, record.event)
            self.traces[record.key] = record.headers.get(TRACEPARENT, "")
        else:
            self.table.read_tombstone(record.offset, record.key, _resolves(record))
            self.traces.pop(record.key, None)
        self.wake()

    def committable(self, position: int) -> int:
        self.table.moved_to(position)
        return self.table.committable()

    def reached_end(self) -> None:
        """Only now is it known which of the requests that we read are answered already."""
        self.is_caught_up = True
        self.wake()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A claim being worked on. It is compared by identity: a later run of the same source is another one."""

    lane: Lane
    claim: Claim


class WorkOffRequests:
    """Partition ownership is the claim: `opened` and `closed` follow the assignment, `run` works until stopped.

    Nothing here has to be finished: a run that is cancelled, or goes on as a zombie after its partition moved, can
    change nothing that a successor would miss (design 5.3).
    """

    def __init__(
        self,
        *,
        runs: SyncsMailboxes,
        states: SyncStates,
        sources: KnowsSources,
        requests: RequestLog,
        connections: TellsConnections,
        clock: Callable[[], datetime],
        max_concurrent: int,
    ) -> None:
        self._runs = runs
        self._states = states
        self._sources = sources
        self._requests = requests
        self._connections = connections
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._max_backfill = max(1, max_concurrent // _BACKFILL_SHARE)
        self._lanes: dict[Partition, Lane] = {}
        self._running: dict[str, _Run] = {}  # at most one run per doc source, whichever lane it was claimed in
        self._wake = asyncio.Event()
        for topic in (SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL):
            SYNC_REQUESTS_PENDING.labels(topic.name).set_function(partial(self._pending_in, topic))

    # The assignment.

    def opened(self, partition: Partition) -> Lane:
        lane = self._lanes[partition] = Lane(partition.topic, self._wake.set)
        return lane

    async def closed(self, partition: Partition) -> None:
        """The partition is gone: its runs end where they stand, its successor begins at the committed offset."""
        if lane := self._lanes.pop(partition, None):
            await _end(lane.tasks)

    # The loop.

    async def run(self, stopping: asyncio.Event, *, grace_s: float) -> None:
        stop = asyncio.create_task(_set_when(stopping, self._wake))
        try:
            while not stopping.is_set():
                self._wake.clear()
                self._start_what_is_due()
                await self._next_event()
        finally:
            stop.cancel()
        # The runs under way get a moment to answer; what is cut off is begun again by whoever owns the partition next.
        if under_way := {task for lane in self._lanes.values() for task in lane.tasks}:
            await asyncio.wait(under_way, timeout=grace_s)
            await _end(under_way)

    def _start_what_is_due(self) -> None:
        for lane in self._lanes.values():
            for append in lane.table.rearms():
                SYNC_REQUESTS_REARMED.inc()
                self._start(lane, self._append(lane, append))
            if not lane.is_recording and (keys := lane.table.wishes()):
                lane.is_recording = True
                self._start(lane, self._record(lane, keys))
            lane.table.wake_rested(self._clock())
        while len(self._running) < self._max_concurrent and (found := self._claim()):
            self._begin(found)

    def _begin(self, run: _Run) -> None:
        self._running[run.claim.key] = run
        task = self._start(run.lane, self._work(run))
        # `_work` frees it earlier, but is never entered by a task that is cancelled before its first step.
        task.add_done_callback(lambda _: self._free(run))

    def _free(self, run: _Run) -> None:
        if self._running.get(run.claim.key) is run:
            del self._running[run.claim.key]

    def _claim(self) -> _Run | None:
        """The next claim, backfill first while its share has room; the lanes of a kind take turns."""
        backfills = sum(run.lane.is_backfill for run in self._running.values())
        allowed = (True, False) if backfills < self._max_backfill else (False,)
        for wants_backfill in allowed:
            for partition, lane in self._lanes.items():
                if lane.is_backfill is not wants_backfill or not lane.is_caught_up:
                    continue
                if claim := lane.table.claim(busy=self._running):
                    self._lanes[partition] = self._lanes.pop(partition)  # to the end of the row
                    return _Run(lane, claim)
        return None

    async def _next_event(self) -> None:
        due = [at for lane in self._lanes.values() if (at := lane.table.next_due_at())]
        rest_s = (min(due) - self._clock()).total_seconds() if due else None
        try:
            async with asyncio.timeout(rest_s if rest_s is None else max(0.01, rest_s)):
                await self._wake.wait()
        except TimeoutError:
            return  # a key has rested long enough

    def _start(self, lane: Lane, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        lane.tasks.add(task)
        task.add_done_callback(lane.tasks.discard)
        task.add_done_callback(lambda _: self._wake.set())
        return task

    async def _record(self, lane: Lane, keys: list[str]) -> None:
        """Make it durable that these want a full run, however many newer requests take the place of that one."""
        try:
            if any(self._sources.get_source(key) is None for key in keys):
                await self._catch_up()
            # Of a source that is unknown even then nothing is kept: its request ends at the next claim.
            if known := [key for key in keys if self._sources.get_source(key) is not None]:
                await self._states.mark_full_due(known)
        except Retryable as error:
            log.warning("wishes_not_recorded", count=len(keys), reason=str(error))
            await asyncio.sleep(error.retry_after_s or _REST_S)
            lane.table.not_recorded(keys)
        except Exception:
            log.exception("wishes_not_recorded", count=len(keys))
            await asyncio.sleep(_REST_AFTER_CRASH_S)
            lane.table.not_recorded(keys)
        else:
            lane.table.recorded(keys)
        finally:
            lane.is_recording = False

    # One claim.

    async def _work(self, run: _Run) -> None:
        """From claim to answer. When cancelled it answers nothing, which is an answer too: the request stays."""
        lane, claim = run.lane, run.claim
        began = perf_counter()
        try:
            with bind_traceparent(lane.traces.get(claim.key)):
                word, append = await self._answer(lane.table, claim)
        except Retryable as error:
            log.warning("sync_postponed", doc_source_id=claim.key, reason=str(error))
            word, append = "postponed", None
            lane.table.put_back(claim, not_before=self._in(error.retry_after_s or _REST_S))
        except Exception:
            log.exception("request_not_answered", doc_source_id=claim.key)
            word, append = "postponed", None
            lane.table.put_back(claim, not_before=self._in(_REST_AFTER_CRASH_S))
        finally:
            self._free(run)
        SYNC_RUN_S.labels(word).observe(perf_counter() - began)
        if append:
            self._wake.set()  # the slot is free, whatever the append takes
            await self._append(lane, append)

    async def _answer(self, table: WorkTable, claim: Claim) -> tuple[str, Append | None]:
        """What came of the claim, in a word, and what to append for it."""
        source = await self._source(claim)
        if source is None:
            log.info("sync_request_of_unknown_source", doc_source_id=claim.key)
            return "not_syncable", table.finish(claim)
        not_before = await self._states.not_before(source)
        if not_before is not None and not_before > self._clock():
            table.put_back(claim, not_before=not_before)
            return "resting", None
        outcome, source = await self._outcome(source, claim)
        match outcome:
            case Done():
                await self._connections.synced(source, outcome)
                return "done", table.finish(claim)
            case RetryAt(not_before, detail, failing):
                log.warning("sync_failed", doc_source_id=claim.key, not_before=not_before.isoformat(), reason=detail)
                if failing:
                    await self._connections.failing(source, detail)
                return "retry", table.fail(claim, not_before=not_before)
            case NotSyncable(detail, kind):
                log.info("source_not_syncable", doc_source_id=claim.key, kind=kind, reason=detail)
                if kind:
                    await self._connections.unsyncable(source, kind, detail)
                return "not_syncable", table.finish(claim)

    async def _source(self, claim: Claim) -> DocSource | None:
        """The source as the directory has it; what would end the request is believed only of a directory up to date."""
        source = self._sources.get_source(claim.key)
        if source is None or source.state is not DocSourceState.ACTIVE:
            source = await self._up_to_date(claim.key)
        return source

    async def _up_to_date(self, key: str) -> DocSource | None:
        await self._catch_up()
        return self._sources.get_source(key)

    async def _catch_up(self) -> None:
        if not await self._sources.catch_up(_CATCH_UP_S):
            raise Unavailable("the directory could not read doc-sources to its end")

    async def _outcome(self, source: DocSource, claim: Claim) -> tuple[RunOutcome, DocSource]:
        outcome = await self._attempt(source, claim)
        if isinstance(outcome, NotSyncable):
            # Consent may have been given anew, or the source resumed, in a version that we had not read yet.
            newer = await self._up_to_date(claim.key)
            if newer is not None and newer.version != source.version:
                return await self._outcome(newer, claim)
        return outcome, source

    async def _attempt(self, source: DocSource, claim: Claim) -> RunOutcome:
        if source.state is not DocSourceState.ACTIVE:
            return NotSyncable(f"the source is {source.state}")
        try:
            return await self._runs.run(source, reasons=claim.reasons)
        except Retryable:
            raise
        except Exception:
            log.exception("sync_run_crashed", doc_source_id=source.doc_source_id)
            not_before = await self._states.put_off(source, detail="the run crashed; the worker's log has the trace")
            return RetryAt(not_before, "the run crashed", failing=False)

    def _pending_in(self, topic: Topic) -> int:
        return sum(lane.table.pending_count for lane in self._lanes.values() if lane.topic is topic)

    def _in(self, seconds: float) -> datetime:
        return self._clock() + timedelta(seconds=seconds)

    async def _append(self, lane: Lane, append: Append) -> None:
        """Until Kafka has it: a repeated record is harmless here, a missing one is not."""
        attempt = 0
        while True:
            try:
                offset = await self._requests.append(lane.topic, append, occurred_at=self._clock())
            except Retryable as error:
                log.warning("append_failed", topic=lane.topic.name, doc_source_id=append.key, reason=str(error))
                await asyncio.sleep(_APPEND_AGAIN_S[min(attempt, len(_APPEND_AGAIN_S) - 1)])
                attempt += 1
            else:
                lane.table.appended(append.key, offset)
                return


async def _set_when(source: asyncio.Event, target: asyncio.Event) -> None:
    await source.wait()
    target.set()


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    ending = [task for task in tasks if not task.done()]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def _resolves(tombstone: IncomingRecord) -> int | None:
    """None for a tombstone that is none of our runs': it settles nothing."""
    text = tombstone.headers.get(RESOLVES, "")
    return int(text) if text.isdecimal() else None
