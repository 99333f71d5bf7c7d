"""Reads a topic that is a work table (`sync-requests`): all of it, at once, and commits the lowest pending offset.

A *fold* per partition keeps the newest record per key; the worker works on what the fold holds beside the reading, so
a slow sync never stops it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from mailroom_common.errors import Rejected, Undecodable
from mailroom_common.kafka.client import MemberSettings
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.partition_consumer import OwnedPartition, PartitionConsumer
from mailroom_common.kafka.record import IncomingRecord, Partition, RawRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_RECORDS_HANDLED
from mailroom_common.topics import Topic

log = get_logger()


class PartitionFold(Protocol):
    """What one owned partition is read into. None of its methods may block or raise."""

    def read_record(self, record: IncomingRecord) -> None:
        """Each record once, in offset order, tombstones too (`event` and `value` None)."""
        ...

    def find_committable_offset(self, position: int) -> int:
        """The lowest offset that is still pending, else `position`, the next that will be read."""
        ...

    def reached_end(self) -> None:
        """All that Kafka had is read. Called at least once after the partition was opened, and again whenever new
        records have been read to the end."""
        ...


class _Reading(OwnedPartition):
    """One partition being read. `undecodable` are offsets whose dead letter is not acknowledged yet."""

    def __init__(
        self, partition: Partition, fold: PartitionFold, close: Callable[[Partition], Awaitable[None]]
    ) -> None:
        super().__init__(partition)
        self.fold = fold
        self.undecodable: dict[int, asyncio.Task[None]] = {}
        self.position: int | None = None
        self.end_reported = False
        self._close = close

    def find_committable(self) -> int | None:
        if self.position is None:
            return None
        return min([self.fold.find_committable_offset(self.position), *self.undecodable])

    def begin_release(self) -> set[asyncio.Task[None]]:
        self.is_released.set()
        return {asyncio.create_task(self._close_fold()), *self.undecodable.values()}

    async def _close_fold(self) -> None:
        await self._close(self.partition)

    def cancel_work(self) -> None:
        self.is_released.set()
        for task in self.undecodable.values():
            task.cancel()


class FoldingConsumer(PartitionConsumer[_Reading]):
    """`open_fold` is called as a partition becomes ours, `close_fold` when it is not any more or the process stops:
    it returns once nothing works on that fold, and what it could not end is for the next owner."""

    def __init__(
        self,
        settings: MemberSettings,
        *,
        group: str,
        topics: Sequence[Topic],
        open_fold: Callable[[Partition], PartitionFold],
        close_fold: Callable[[Partition], Awaitable[None]],
        codec: Codec,
        schemas: SchemaDirectory,
        dead_letters: DeadLetterWriter,
    ) -> None:
        super().__init__(settings, group=group, topics=topics, codec=codec, schemas=schemas, dead_letters=dead_letters)
        self._open_fold = open_fold
        self._close_fold = close_fold

    def _create_owned_partition(self, partition: Partition) -> _Reading:
        return _Reading(partition, self._open_fold(partition), self._close_fold)

    def _take_record(self, owned: _Reading, raw: RawRecord, content: IncomingRecord | Undecodable) -> None:
        owned.end_reported = False
        if isinstance(content, Undecodable):
            # Reading goes on at once; the offset stays uncommitted until the dead letter is acknowledged.
            owned.undecodable[raw.offset] = asyncio.create_task(self._reject_record(owned, raw, content))
        else:
            owned.fold.read_record(content)
            KAFKA_RECORDS_HANDLED.labels(self._group, owned.partition.topic.name).inc()
        owned.position = raw.offset + 1

    async def _reject_record(self, owned: _Reading, raw: RawRecord, error: Undecodable) -> None:
        failure = RecordFailure(error, 1, datetime.now(UTC))
        try:
            if await self._write_dead_letter(owned, raw, failure, "undecodable"):
                del owned.undecodable[raw.offset]
        except Rejected:
            # Kafka can never take it (too large). An end of the process would meet it again at each start; so reading
            # goes on, and the offset stays uncommitted until an operator raises the topic's limit and restarts.
            log.exception("dead_letter_refused", topic=raw.topic, partition=raw.partition, offset=raw.offset)
        except Exception as trouble:  # noqa: BLE001  # the edge of the task: the whole runner fails with it
            self._fail_runner(trouble)

    async def _after_poll(self) -> None:
        for owned in list(self._owned.values()):
            await self._report_end(owned)

    async def _report_end(self, owned: _Reading) -> None:
        if owned.end_reported or owned.backlog:
            return
        end = self._membership.find_known_end(owned.partition)
        if end is None:
            return
        # aiokafka's position, not the last record's: compaction may have taken the records at the end. It is known
        # where a fetch was answered, so this does not wait.
        position = await self._membership.read_position(owned.partition)
        if self._owned.get(owned.partition) is not owned or owned.backlog:
            return  # a rebalance ran, or records came, while the position was asked for
        owned.position = position
        if position >= end:
            owned.end_reported = True
            owned.fold.reached_end()
