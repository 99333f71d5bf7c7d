"""The windowed runner: for work that is its record. Bounded records in flight, order per key, watermark commit.

    Kafka ──poll──▶ backlog ──hand out──▶ lane of the key ──settle──▶ done ──▶ watermark ──commit──▶ Kafka

A record is done when its handler returned, or when its dead letter is acknowledged. Nothing below the committed offset
is unfinished; after a crash at most the window is handed out again.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from mailroom_common.errors import Fatal, Rejected, Retryable, Undecodable, UnknownSchema
from mailroom_common.kafka.client import MemberSettings
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.headers import TRACEPARENT
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord, Partition, RawRecord, decode_record
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.watermark import Watermark
from mailroom_common.logs import get_logger
from mailroom_common.metrics import (
    KAFKA_DEAD_LETTERS,
    KAFKA_RECORDS_HANDLED,
    KAFKA_RETRIES,
    KAFKA_WAITING_FOR_SCHEMA,
)
from mailroom_common.topics import Topic
from mailroom_common.tracing import bind_traceparent

log = get_logger()

RecordHandler = Callable[[IncomingRecord], Awaitable[None]]

_COMMIT_EVERY_S = 1.0
_DRAIN_S = 20.0  # on a rebalance; it fits in the group's rebalance time-out
_DRAIN_AT_STOP_S = 4.0  # a stopping process has 8 s for everything
_LONGEST_BACKOFF_S = 30.0


@dataclass(frozen=True, slots=True)
class _Item:
    """A record that was handed out: decoded, or the reason why it cannot be."""

    raw: RawRecord
    content: IncomingRecord | Undecodable


class _Work:
    """One partition in hand."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.watermark = Watermark()
        self.backlog: deque[RawRecord] = deque()  # polled and not handed out
        self.lanes: dict[bytes, deque[_Item]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.waits_for: bytes | None = None
        self.committed: int | None = None
        self.is_closing = asyncio.Event()

    def abandon(self) -> None:
        self.is_closing.set()
        for task in self.tasks:
            task.cancel()


class WindowedConsumer:
    """Calls `handle` for each record: in order for each key, keys side by side.

    What `handle` raises decides: Retryable, the record is tried again in place, for as long as it takes; Rejected, it
    is dead-lettered; Fatal, the process ends; anything else is our own bug: `attempts` times, then dead-lettered.
    """

    def __init__(
        self,
        settings: MemberSettings,
        *,
        group: str,
        topics: Sequence[Topic],
        handle: RecordHandler,
        codec: Codec,
        schemas: SchemaDirectory,
        dead_letters: DeadLetterWriter,
        window: int = 500,
        max_concurrent: int = 64,
        attempts: int = 5,
        backoff_s: float = 0.5,
    ) -> None:
        self._codec = codec
        self._handle = handle
        self._dead_letters = dead_letters
        self._group = group
        self._window = window
        self._slots = asyncio.Semaphore(max_concurrent)
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._membership = GroupMember(settings, group=group, topics=topics, listener=self)
        self._works: dict[Partition, _Work] = {}
        self._lost: set[Partition] = set()
        self._has_room = asyncio.Event()
        self._fatal: asyncio.Future[None] | None = None
        schemas.on_learned(self._go_on)

    def check_readiness(self) -> str | None:
        """A check for `Health.add`: a partition that waits for a schema is visible here too."""
        waiting = [work for work in self._works.values() if work.waits_for is not None]
        if not waiting:
            return None
        fingerprint = (waiting[0].waits_for or b"").hex()
        return f"{waiting[0].partition} waits for schema {fingerprint} ({len(waiting)} partitions wait)"

    async def consume_records(self, stopping: asyncio.Event) -> None:
        """Work until `stopping`, then finish what is in hand within seconds and commit.

        Raises:
            Fatal: of a handler, of `Membership.poll` or of `Membership.watch`.
        """
        self._fatal = asyncio.get_running_loop().create_future()
        try:
            await self._membership.join_group()
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._commit_now_and_then()),
                    tasks.create_task(self._membership.watch_progress(self._held)),
                    tasks.create_task(self._fail_with(self._fatal)),
                ]
                while not stopping.is_set():
                    await self._poll()
                for task in beside:
                    task.cancel()
            await self._close(_DRAIN_AT_STOP_S)
        finally:
            for work in self._works.values():
                work.abandon()
            await self._membership.leave_group()

    async def _poll(self) -> None:
        full = set(self._held())
        only = self._membership.assigned_partitions() - full if full else None
        if only is not None and not only:
            # Every window is full. Asking for no partition would ask for all of them.
            self._has_room.clear()
            await _soonest(self._has_room, 0.5)
            return
        for partition, records in (await self._membership.poll_records(only)).items():
            if partition in self._lost:
                continue
            # On the first record, not in the callback of the assignment: aiokafka may deliver before that is called.
            work = self._works.setdefault(partition, _Work(partition))
            work.backlog.extend(records)
            self._hand_out(work)

    def _held(self) -> list[Partition]:
        return [partition for partition, work in self._works.items() if work.backlog]

    def _hand_out(self, work: _Work) -> None:
        """Move records into their lanes, up to the window, or to a record whose schema is not known yet."""
        while work.backlog and work.watermark.in_flight < self._window and not work.is_closing.is_set():
            raw = work.backlog[0]
            content: IncomingRecord | Undecodable
            try:
                content = decode_record(raw, work.partition.topic, self._codec)
            except UnknownSchema as error:
                self._wait_for(work, error.fingerprint, raw)
                return
            except Undecodable as error:
                content = error
            work.backlog.popleft()
            work.watermark.add_delivered(raw.offset)
            self._queue(work, _Item(raw, content))
        if work.waits_for is not None:
            work.waits_for = None
            self._count_waiting()
        if not work.backlog:
            self._has_room.set()

    def _queue(self, work: _Work, item: _Item) -> None:
        key = item.raw.key or b""
        lane = work.lanes.get(key)
        if lane is not None:
            lane.append(item)
            return
        work.lanes[key] = deque([item])
        task = asyncio.create_task(self._work_off(work, key))
        work.tasks.add(task)
        task.add_done_callback(work.tasks.discard)

    async def _work_off(self, work: _Work, key: bytes) -> None:
        """All records of one key, one after the other."""
        lane = work.lanes[key]
        try:
            while lane and await self._settle(work, lane[0]):
                offset = lane.popleft().raw.offset
                work.watermark.mark_done(offset)
                KAFKA_RECORDS_HANDLED.labels(self._group, work.partition.topic.name).inc()
                self._hand_out(work)
            if not lane:
                del work.lanes[key]
        except Exception as error:  # noqa: BLE001  # the edge of the task: the whole runner fails with it
            if self._fatal is not None and not self._fatal.done():
                self._fatal.set_exception(error)

    async def _settle(self, work: _Work, item: _Item) -> bool:
        """Until the record is done; False when the partition is given up before that.

        Raises:
            Fatal: as the handler said.
        """
        topic = work.partition.topic
        attempt = bugs = 0
        first_failed_at: datetime | None = None
        while not work.is_closing.is_set():
            attempt += 1
            try:
                await self._try(work, item)
            except Fatal:
                raise
            except _GivenUp:
                return False
            except Retryable as error:
                first_failed_at = first_failed_at or datetime.now(UTC)
                self._say_retry(item, attempt, error)
                await _soonest(work.is_closing, error.retry_after_s or self._wait_s(attempt))
            except Rejected as error:
                reason = "undecodable" if isinstance(error, Undecodable) else "rejected"
                failure = RecordFailure(error, attempt, first_failed_at or datetime.now(UTC))
                return await self._bury(work, item.raw, failure, reason)
            except Exception as error:  # our own bug: its record must not take the others along
                bugs += 1
                first_failed_at = first_failed_at or datetime.now(UTC)
                if bugs >= self._attempts:
                    log.error("handler_failed", topic=topic.name, offset=item.raw.offset, exc_info=error)
                    return await self._bury(work, item.raw, RecordFailure(error, attempt, first_failed_at), "bug")
                self._say_retry(item, attempt, error)
                await _soonest(work.is_closing, self._wait_s(attempt))
            else:
                return True
        return False

    async def _try(self, work: _Work, item: _Item) -> None:
        async with self._slots:
            if work.is_closing.is_set():
                raise _GivenUp
            if isinstance(item.content, Undecodable):
                raise item.content
            with bind_traceparent(item.content.headers.get(TRACEPARENT)):
                await self._handle(item.content)

    def _say_retry(self, item: _Item, attempt: int, error: Exception) -> None:
        KAFKA_RETRIES.labels(self._group, item.raw.topic).inc()
        reason = str(error) if isinstance(error, Retryable) else type(error).__name__
        log.warning(
            "record_retried",
            group=self._group,
            topic=item.raw.topic,
            partition=item.raw.partition,
            offset=item.raw.offset,
            attempt=attempt,
            reason=reason,
        )

    def _wait_s(self, attempt: int) -> float:
        longest: float = min(self._backoff_s * 2 ** min(attempt - 1, 10), _LONGEST_BACKOFF_S)
        return longest * random.uniform(0.8, 1.2)  # noqa: S311  # spreads retries, hides nothing

    async def _bury(self, work: _Work, raw: RawRecord, failure: RecordFailure, reason: str) -> bool:
        """Until the dead letter is acknowledged: a record is never stepped over in silence."""
        topic = work.partition.topic
        attempt = 0
        while not work.is_closing.is_set():
            attempt += 1
            try:
                await self._dead_letters.write_dead_letter(topic, raw, failure)
            except Retryable as error:
                log.warning("dead_letter_not_written", topic=topic.name, offset=raw.offset, reason=str(error))
                await _soonest(work.is_closing, self._wait_s(attempt))
            else:
                KAFKA_DEAD_LETTERS.labels(self._group, topic.name, reason).inc()
                log.error(
                    "record_dead_lettered",
                    group=self._group,
                    topic=topic.name,
                    partition=raw.partition,
                    offset=raw.offset,
                    error=type(failure.error).__name__,
                    attempts=failure.attempts,
                )
                return True
        return False

    # Schemas that are not known yet

    def _wait_for(self, work: _Work, fingerprint: bytes, raw: RawRecord) -> None:
        if work.waits_for == fingerprint:
            return
        work.waits_for = fingerprint
        self._count_waiting()
        log.warning(
            "partition_waits_for_schema",
            group=self._group,
            partition=str(work.partition),
            offset=raw.offset,
            fingerprint=fingerprint.hex(),
        )

    def _go_on(self) -> None:
        """A schema was learned: whoever waited for it goes on."""
        for work in self._works.values():
            if work.waits_for is not None and self._codec.knows_fingerprint(work.waits_for):
                self._hand_out(work)

    def _count_waiting(self) -> None:
        waiting = sum(work.waits_for is not None for work in self._works.values())
        KAFKA_WAITING_FOR_SCHEMA.labels(self._group).set(waiting)

    # Ownership and commits

    def on_assigned(self, partitions: Sequence[Partition]) -> None:
        """Nothing to do: work begins with the first record."""

    async def on_revoked(self) -> None:
        self._lost.clear()
        await self._close(_DRAIN_S)

    async def _close(self, drain_s: float) -> None:
        """Stop handing out, wait for what runs, commit the watermark, cancel the rest."""
        leaving, self._works = self._works, {}
        self._count_waiting()
        for work in leaving.values():
            work.is_closing.set()
        running = {task for work in leaving.values() for task in work.tasks}
        if running:
            await asyncio.wait(running, timeout=drain_s)
        await self._commit(leaving.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _commit_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_EVERY_S)
            works = dict(self._works)
            for partition in await self._commit(works.values()):
                self._lose(works[partition])

    def _lose(self, work: _Work) -> None:
        """Another member has it: drop the work, and ignore what may still come until the group has rejoined.

        Mostly the rejoin has begun before we hear of the loss: aiokafka asks for it first and refuses the commit then.
        Another work than the one that was to be committed is of the new generation, and is ours.
        """
        if self._works.get(work.partition) is not work:
            return
        self._lost.add(work.partition)
        del self._works[work.partition]
        work.abandon()

    async def _commit(self, works: Iterable[_Work]) -> Set[Partition]:
        due = {}
        for work in works:
            committable = work.watermark.committable
            if committable is not None and committable != work.committed:
                due[work.partition] = (work, committable)
        committed = await self._membership.commit_offsets({partition: offset for partition, (_, offset) in due.items()})
        for partition in committed.done:
            work, offset = due[partition]
            work.committed = offset
        return committed.lost

    @staticmethod
    async def _fail_with(fatal: "asyncio.Future[None]") -> None:
        await fatal


class _GivenUp(Exception):
    """The partition is leaving, and this record was not begun."""


async def _soonest(event: asyncio.Event, timeout_s: float) -> None:
    """Until the event, or the time is over."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
