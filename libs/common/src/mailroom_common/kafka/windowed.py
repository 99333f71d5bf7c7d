"""The windowed consumer: calls a handler per record. Bounded records in flight, order per key, watermark commit.

    Kafka ──poll──▶ backlog ──take──▶ queue of the key ──settle──▶ done ──▶ watermark ──commit──▶ Kafka

A record is done when its handler returned, or when its dead letter is acknowledged. Nothing below the committed offset
is unfinished; after a crash at most the window is handled again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from mailroom_common.errors import Fatal, Rejected, Retryable, Undecodable
from mailroom_common.kafka.client import MemberSettings
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.headers import TRACEPARENT
from mailroom_common.kafka.partition_consumer import OwnedPartition, PartitionConsumer
from mailroom_common.kafka.record import IncomingRecord, Partition, RawRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.watermark import Watermark
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_RECORDS_HANDLED, KAFKA_RETRIES
from mailroom_common.retries import wait_for_event
from mailroom_common.topics import Topic
from mailroom_common.tracing import bind_traceparent

log = get_logger()

RecordHandler = Callable[[IncomingRecord], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Item:
    """A record that was taken: decoded, or the reason why it cannot be."""

    raw: RawRecord
    content: IncomingRecord | Undecodable


class _Window(OwnedPartition):
    """The records of one partition that are in flight, queued by key."""

    def __init__(self, partition: Partition, size: int) -> None:
        super().__init__(partition)
        self.watermark = Watermark()
        self.queues: dict[bytes, deque[_Item]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._size = size

    def has_capacity(self) -> bool:
        return super().has_capacity() and self.watermark.uncommittable_count < self._size

    def find_committable(self) -> int | None:
        return self.watermark.committable

    def begin_release(self) -> set[asyncio.Task[None]]:
        self.is_released.set()
        return set(self.tasks)

    def cancel_work(self) -> None:
        self.is_released.set()
        for task in self.tasks:
            task.cancel()


# A topic without a limit of its own.
_NO_LIMIT: AbstractAsyncContextManager[None] = nullcontext()


class WindowedConsumer(PartitionConsumer[_Window]):
    """Calls `handle` for each record: in order for each key, keys side by side.

    What `handle` raises decides: Retryable, the record is tried again in place, for as long as it takes; Rejected, it
    is dead-lettered; Fatal, the process ends; anything else is our own bug: `attempts` times, then dead-lettered.

    At most `max_concurrent` records are handled at once, and of a topic in `max_concurrent_of` no more than it says: a
    flood of its records takes no more of the slots.
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
        max_concurrent_of: Mapping[Topic, int] | None = None,
        attempts: int = 5,
        backoff_s: float = 0.5,
    ) -> None:
        super().__init__(
            settings,
            group=group,
            topics=topics,
            codec=codec,
            schemas=schemas,
            dead_letters=dead_letters,
            backoff_s=backoff_s,
        )
        self._handle = handle
        self._window_size = window
        self._slots = asyncio.Semaphore(max_concurrent)
        self._slots_of = {topic: asyncio.Semaphore(count) for topic, count in (max_concurrent_of or {}).items()}
        self._attempts = attempts

    def _create_owned_partition(self, partition: Partition) -> _Window:
        return _Window(partition, self._window_size)

    def _take_record(self, owned: _Window, raw: RawRecord, content: IncomingRecord | Undecodable) -> None:
        owned.watermark.add_delivered(raw.offset)
        key = raw.key or b""
        if (queue := owned.queues.get(key)) is not None:
            queue.append(_Item(raw, content))
            return
        owned.queues[key] = deque([_Item(raw, content)])
        task = asyncio.create_task(self._work_off_queue(owned, key))
        owned.tasks.add(task)
        task.add_done_callback(owned.tasks.discard)

    async def _work_off_queue(self, owned: _Window, key: bytes) -> None:
        """All records of one key, one after the other."""
        queue = owned.queues[key]
        try:
            while queue and await self._settle_record(owned, queue[0]):
                # Only what was settled is done: a record whose partition was released before stays uncommitted.
                offset = queue.popleft().raw.offset
                owned.watermark.mark_done(offset)
                KAFKA_RECORDS_HANDLED.labels(self._group, owned.partition.topic.name).inc()
                self._take_from_backlog(owned)
            if not queue:
                del owned.queues[key]
        except Exception as error:  # noqa: BLE001  # the edge of the task: the whole runner fails with it
            self._fail_runner(error)

    async def _settle_record(self, owned: _Window, item: _Item) -> bool:
        """Returns once the record is done; False when the partition is released before that.

        Raises:
            Fatal: as the handler said.
        """
        attempt = bugs = 0
        first_failed_at: datetime | None = None
        while not owned.is_released.is_set():
            attempt += 1
            try:
                return await self._attempt_record(owned, item)
            except Fatal:
                raise
            except Retryable as error:
                self._log_retry(item, attempt, error)
                pause_s = error.retry_after_s or self._pause_s(attempt)
            except Rejected as error:
                reason = "undecodable" if isinstance(error, Undecodable) else "rejected"
                failure = RecordFailure(error, attempt, first_failed_at or datetime.now(UTC))
                return await self._write_dead_letter(owned, item.raw, failure, reason)
            except Exception as error:  # our own bug: its record must not take the others along
                bugs += 1
                if bugs >= self._attempts:
                    # A bug of ours: after all attempts the record goes to the dead-letter topic.
                    log.error(
                        "record_attempts_exhausted",
                        group=self._group,
                        topic=item.raw.topic,
                        partition=item.raw.partition,
                        offset=item.raw.offset,
                        exc_info=error,
                    )
                    failure = RecordFailure(error, attempt, first_failed_at or datetime.now(UTC))
                    return await self._write_dead_letter(owned, item.raw, failure, "bug")
                self._log_retry(item, attempt, error)
                pause_s = self._pause_s(attempt)
            first_failed_at = first_failed_at or datetime.now(UTC)
            await wait_for_event(owned.is_released, pause_s)
        return False

    async def _attempt_record(self, owned: _Window, item: _Item) -> bool:
        """False when the partition was released while the record waited for a slot: it was never begun."""
        async with self._slots_of.get(owned.partition.topic, _NO_LIMIT), self._slots:
            if owned.is_released.is_set():
                return False
            if isinstance(item.content, Undecodable):
                raise item.content
            with bind_traceparent(item.content.headers.get(TRACEPARENT)):
                await self._handle(item.content)
        return True

    def _log_retry(self, item: _Item, attempt: int, error: Exception) -> None:
        KAFKA_RETRIES.labels(self._group, item.raw.topic).inc()
        reason = str(error) if isinstance(error, Retryable) else type(error).__name__
        # The attempt failed; the record keeps its partition's offset back until it succeeds or is rejected.
        log.warning(
            "record_attempt_failed",
            group=self._group,
            topic=item.raw.topic,
            partition=item.raw.partition,
            offset=item.raw.offset,
            attempt=attempt,
            reason=reason,
        )
