"""The folding runner: reads all, never stops for work, and commits the lowest offset that is still pending.

For a topic that is a work table (`sync-requests`): a *fold* per partition keeps the newest per key, and whoever works
on what it holds does so beside the reading.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from datetime import UTC, datetime
from typing import Protocol

from mailroom_common.errors import Retryable, Undecodable, UnknownSchema
from mailroom_common.kafka.client import MemberSettings
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord, Partition, RawRecord, decode_record
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_DEAD_LETTERS, KAFKA_RECORDS_HANDLED, KAFKA_WAITING_FOR_SCHEMA
from mailroom_common.topics import Topic

log = get_logger()

_COMMIT_EVERY_S = 1.0
_CLOSE_S = 20.0


class PartitionFold(Protocol):
    """What one owned partition is read into. None of its methods may block or raise."""

    def read(self, record: IncomingRecord) -> None:
        """Each record once, in offset order, tombstones too (`event` and `value` None)."""
        ...

    def committable(self, position: int) -> int:
        """The lowest offset that is still pending, else `position`, the next that will be read."""
        ...

    def reached_end(self) -> None:
        """All that Kafka had is read. Called at least once after the partition was opened, and again whenever new
        records have been read to the end."""
        ...


class _Reading:
    """One partition being read. `poison` are offsets whose dead letter is not acknowledged yet."""

    def __init__(self, partition: Partition, fold: PartitionFold) -> None:
        self.partition = partition
        self.fold = fold
        self.backlog: deque[RawRecord] = deque()
        self.waits_for: bytes | None = None
        self.poison: dict[int, asyncio.Task[None]] = {}
        self.position: int | None = None
        self.end_is_told = False
        self.committed: int | None = None

    def committable(self) -> int | None:
        if self.position is None:
            return None
        return min([self.fold.committable(self.position), *self.poison])


class FoldingConsumer:
    """`opened` is called as a partition becomes ours, `closed` when it is not any more or the process stops: it
    returns once nothing works on that fold, and what it could not end is for the next owner. Static membership and
    the rest of the group's manners are in `membership.py`."""

    def __init__(
        self,
        settings: MemberSettings,
        *,
        group: str,
        topics: Sequence[Topic],
        opened: Callable[[Partition], PartitionFold],
        closed: Callable[[Partition], Awaitable[None]],
        codec: Codec,
        schemas: SchemaDirectory,
        dead_letters: DeadLetterWriter,
    ) -> None:
        self._codec = codec
        self._opened = opened
        self._closed = closed
        self._dead_letters = dead_letters
        self._group = group
        self._membership = GroupMember(settings, group=group, topics=topics, listener=self)
        self._readings: dict[Partition, _Reading] = {}
        self._lost: set[Partition] = set()
        self._closing: list[asyncio.Future[None]] = []
        schemas.on_learned(self._read_on)

    def check_readiness(self) -> str | None:
        """A check for `Health.add`: a partition that waits for a schema is visible here too."""
        waiting = [reading for reading in self._readings.values() if reading.waits_for is not None]
        if not waiting:
            return None
        first = waiting[0]
        return f"{first.partition} waits for schema {(first.waits_for or b'').hex()} ({len(waiting)} partitions wait)"

    async def consume_records(self, stopping: asyncio.Event) -> None:
        """Read until `stopping`, then let go of all partitions.

        Raises:
            Fatal: see `Membership.poll` and `Membership.watch`.
        """
        try:
            await self._membership.join_group()
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._commit_now_and_then()),
                    tasks.create_task(self._membership.watch_progress(self._held)),
                ]
                while not stopping.is_set():
                    await self._read_some()
                for task in beside:
                    task.cancel()
            await self._let_go()
        finally:
            await self._membership.leave_group()

    async def _read_some(self) -> None:
        held = set(self._held())
        only = self._membership.assigned_partitions() - held if held else None
        if only is not None and not only:
            await asyncio.sleep(0.1)  # every partition waits for a schema; asking for none would ask for all
            return
        for partition, records in (await self._membership.poll_records(only)).items():
            if partition in self._lost:
                continue
            reading = self._open(partition)
            reading.backlog.extend(records)
            reading.end_is_told = False
            self._fold(reading)
        for reading in list(self._readings.values()):
            await self._tell_end(reading)

    def _fold(self, reading: _Reading) -> None:
        """Hand on what is there, up to a record whose schema is not known yet."""
        while reading.backlog:
            raw = reading.backlog[0]
            try:
                incoming = decode_record(raw, reading.partition.topic, self._codec)
            except UnknownSchema as error:
                self._wait_for(reading, error.fingerprint, raw)
                return
            except Undecodable as error:
                self._bury(reading, raw, error)
            else:
                reading.fold.read(incoming)
                KAFKA_RECORDS_HANDLED.labels(self._group, reading.partition.topic.name).inc()
            reading.backlog.popleft()
            reading.position = raw.offset + 1
        reading.waits_for = None

    def _wait_for(self, reading: _Reading, fingerprint: bytes, raw: RawRecord) -> None:
        if reading.waits_for != fingerprint:
            reading.waits_for = fingerprint
            log.warning(
                "partition_waits_for_schema",
                group=self._group,
                partition=str(reading.partition),
                offset=raw.offset,
                fingerprint=fingerprint.hex(),
            )
        self._count_waiting()

    def _read_on(self) -> None:
        """A schema was learned: whoever waited for it goes on."""
        for reading in self._readings.values():
            if reading.waits_for is not None and self._codec.knows_fingerprint(reading.waits_for):
                reading.end_is_told = False
                self._fold(reading)
        self._count_waiting()

    def _count_waiting(self) -> None:
        waiting = sum(reading.waits_for is not None for reading in self._readings.values())
        KAFKA_WAITING_FOR_SCHEMA.labels(self._group).set(waiting)

    def _bury(self, reading: _Reading, raw: RawRecord, error: Undecodable) -> None:
        """Reading goes on at once; the offset stays uncommitted until the dead letter is acknowledged."""
        task = asyncio.create_task(self._buried(reading.partition.topic, raw, error))
        reading.poison[raw.offset] = task

        def acknowledged(done: asyncio.Task[None]) -> None:
            if not done.cancelled() and done.exception() is None:
                reading.poison.pop(raw.offset, None)

        task.add_done_callback(acknowledged)

    async def _buried(self, topic: Topic, raw: RawRecord, error: Undecodable) -> None:
        failure = RecordFailure(error, 1, datetime.now(UTC))
        log.error(
            "record_dead_lettered", topic=topic.name, partition=raw.partition, offset=raw.offset, reason=str(error)
        )
        wait_s = 0.2
        while True:
            try:
                await self._dead_letters.write_dead_letter(topic, raw, failure)
            except Retryable as trouble:
                log.warning("dead_letter_not_written", topic=topic.name, reason=str(trouble))
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, 30.0)
            else:
                KAFKA_DEAD_LETTERS.labels(self._group, topic.name, "undecodable").inc()
                return

    async def _tell_end(self, reading: _Reading) -> None:
        if reading.end_is_told or reading.backlog:
            return
        end = self._membership.find_known_end(reading.partition)
        if end is None:
            return
        # aiokafka's position, not the last record's: compaction may have taken the records at the end. It is known
        # where a fetch was answered, so this does not wait.
        position = await self._membership.read_position(reading.partition)
        if self._readings.get(reading.partition) is not reading or reading.backlog:
            return
        reading.position = position
        if position >= end:
            reading.end_is_told = True
            reading.fold.reached_end()

    def _held(self) -> list[Partition]:
        return [partition for partition, reading in self._readings.items() if reading.backlog]

    # Ownership

    def on_assigned(self, partitions: Sequence[Partition]) -> None:
        for partition in partitions:
            self._open(partition)

    def _open(self, partition: Partition) -> _Reading:
        # From the first record or from the callback, whichever comes first.
        reading = self._readings.get(partition)
        if reading is None:
            reading = self._readings[partition] = _Reading(partition, self._opened(partition))
        return reading

    async def on_revoked(self) -> None:
        self._lost.clear()
        await self._let_go()

    async def _let_go(self) -> None:
        """Stop handing out, wait for the work on the folds to end, commit what is settled."""
        leaving, self._readings = self._readings, {}
        self._count_waiting()
        self._begin_closing(leaving)
        closing, self._closing = self._closing, []  # with those that were lost before
        if not closing:
            return
        buried = [task for reading in leaving.values() for task in reading.poison.values()]
        _, unfinished = await asyncio.wait([*closing, *buried], timeout=_CLOSE_S)
        await self._commit(leaving)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*closing, *buried, return_exceptions=True)
        for task in closing:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _commit_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_EVERY_S)
            readings = dict(self._readings)
            for partition in await self._commit(readings):
                self._lose(readings[partition])

    async def _commit(self, readings: dict[Partition, _Reading]) -> Set[Partition]:
        offsets = {}
        for partition, reading in readings.items():
            committable = reading.committable()
            if committable is not None and committable != reading.committed:
                offsets[partition] = committable
        committed = await self._membership.commit_offsets(offsets)
        for partition in committed.done:
            readings[partition].committed = offsets[partition]
        return committed.lost

    def _lose(self, reading: _Reading) -> None:
        """Another member has it: drop it, and ignore what may still come of it until the group has rejoined.

        Mostly the rejoin has begun before we hear of the loss: aiokafka asks for it first and refuses the commit then.
        Another reading than the one that was to be committed is of the new generation, and is ours. Nothing is awaited
        here, so that no rejoin can run in the middle; the one that follows waits for the closing.
        """
        if self._readings.get(reading.partition) is not reading:
            return
        self._lost.add(reading.partition)
        del self._readings[reading.partition]
        self._count_waiting()
        for task in reading.poison.values():
            task.cancel()
        self._begin_closing([reading.partition])

    def _begin_closing(self, partitions: Iterable[Partition]) -> None:
        self._closing += [asyncio.ensure_future(self._closed(partition)) for partition in partitions]
