"""Reads a whole topic into memory and follows it: no group, from offset 0 at each start, nothing kept on disk.

It starts from 0 on purpose: compaction removes tombstones, so a reader that resumed could keep what is deleted.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from mailroom_common.errors import Fatal
from mailroom_common.kafka.client import KafkaAddress, close_client, connect_with_retry, create_consumer
from mailroom_common.kafka.record import RawRecord
from mailroom_common.kafka.watchdog import StallDetector
from mailroom_common.logs import get_logger
from mailroom_common.retries import retry_forever
from mailroom_common.topics import Topic

log = get_logger()

_PROGRESS_CHECK_INTERVAL_S = 10.0


class TopicReader:
    """Hands every record to `apply`, in offset order per partition. `apply` must not raise and must not block."""

    def __init__(
        self,
        settings: KafkaAddress,
        topic: Topic,
        apply: Callable[[RawRecord], None],
        *,
        client_id: str,
        # `catch_up` asks for the end on the connection that a fetch is open on, and is answered after it.
        fetch_max_wait_ms: int = 250,
    ) -> None:
        self._settings = settings
        self._topic = settings.topic_prefix + topic.name
        self._apply = apply
        self._client_id = client_id
        self._fetch_max_wait_ms = fetch_max_wait_ms
        self._consumer: AIOKafkaConsumer | None = None
        self._positions: dict[TopicPartition, int] = {}
        self._progress = asyncio.Event()
        self._question: asyncio.Task[dict[TopicPartition, int]] | None = None
        self._next_question: asyncio.Task[dict[TopicPartition, int]] | None = None
        self.is_loaded = False

    async def load_topic(self) -> None:
        """Read to the end that the topic has now. Waits while Kafka or the topic is not there."""
        consumer = await connect_with_retry(self._create_consumer, self._client_id)
        self._consumer = consumer
        # Without a group a consumer has all partitions of its topic from the start, and begins at the earliest.
        self._positions = dict.fromkeys(consumer.assignment(), 0)
        ends: dict[TopicPartition, int] = await retry_forever(
            KafkaError, log_event="kafka_unreachable", client_id=self._client_id
        )(self._ask_ends)
        while not self._has_read(ends):
            await self._read_batch()
        self.is_loaded = True

    async def follow_topic(self, stopping: asyncio.Event) -> None:
        """Apply what comes after the end that `load_topic` has read to, until `stopping`; then close the consumer.

        Raises:
            Fatal: Kafka has more and delivers nothing: only a new process helps.
        """
        watching = asyncio.create_task(self._watch_progress())
        stopped = asyncio.create_task(stopping.wait())
        try:
            while not stopped.done():
                reading = asyncio.create_task(self._read_batch())
                await asyncio.wait({reading, stopped, watching}, return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    watching.result()
                if not reading.done():
                    reading.cancel()
                    await asyncio.wait({reading})
                if not reading.cancelled():
                    reading.result()
        finally:
            for task in (watching, stopped):
                task.cancel()
            await self.close()

    async def close(self) -> None:
        if self._consumer is not None:
            await close_client(self._consumer)
            self._consumer = None

    async def catch_up(self, timeout_s: float) -> bool:
        """Ask Kafka for the end, and wait until that is read; False when it took longer, or could not be asked."""
        try:
            async with asyncio.timeout(timeout_s):
                ends = await self._ends_from_now()
                while not self._has_read(ends):
                    self._progress.clear()
                    await self._progress.wait()
        except (TimeoutError, KafkaError, OSError) as error:
            # Kafka did not say in time how far the topic goes, so what is unknown stays undecided.
            log.warning("catch_up_failed", topic=self._topic, error=type(error).__name__)
            return False
        return True

    async def _ends_from_now(self) -> dict[TopicPartition, int]:
        """The end offsets, asked after this call began. Callers that wait at the same time share one question, so
        a flood of them costs Kafka one request at a time."""
        if self._question is None or self._question.done():
            self._question = _start_question(self._ask_ends())
            return await asyncio.shield(self._question)
        # The question under way may have been answered before we came: the next one is ours.
        if self._next_question is None:
            self._next_question = _start_question(self._ask_after(self._question))
        return await asyncio.shield(self._next_question)

    async def _ask_after(self, earlier: "asyncio.Task[dict[TopicPartition, int]]") -> dict[TopicPartition, int]:
        await asyncio.wait({earlier})
        self._question, self._next_question = self._next_question, None
        return await self._ask_ends()

    async def _ask_ends(self) -> dict[TopicPartition, int]:
        if self._consumer is None:
            raise TimeoutError
        ends: dict[TopicPartition, int] = await self._consumer.end_offsets(list(self._positions))
        return ends

    def _has_read(self, ends: dict[TopicPartition, int]) -> bool:
        return all(self._positions[partition] >= end for partition, end in ends.items())

    async def _read_batch(self) -> None:
        consumer = self._consumer
        if consumer is None:
            return
        try:
            batches = await consumer.getmany(timeout_ms=500, max_records=5_000)
        except KafkaError as error:
            if not error.retriable:
                raise Fatal(f"{self._topic} cannot be read: {type(error).__name__}") from error
            log.warning("kafka_unreachable", client_id=self._client_id, error=type(error).__name__)
            await asyncio.sleep(0.5)
            return
        for records in batches.values():
            for record in records:
                self._apply(record)
        # Positions, not the last record's offset: compaction may have taken the records at the end.
        for partition in self._positions:
            self._positions[partition] = await consumer.position(partition)
        self._progress.set()

    async def _watch_progress(self) -> None:
        stalls: StallDetector[TopicPartition] = StallDetector()
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_PROGRESS_CHECK_INTERVAL_S)
            try:
                async with asyncio.timeout(_PROGRESS_CHECK_INTERVAL_S):
                    ends = await self._ends_from_now()
            except (TimeoutError, KafkaError, OSError):
                continue  # Kafka itself is away: that is no stalled reader
            if stalls.find_stalled(loop.time(), dict(self._positions), ends):
                raise Fatal(f"{self._topic} has more to read and Kafka delivers nothing: restarting")

    def _create_consumer(self) -> AIOKafkaConsumer:
        return create_consumer(
            self._settings,
            self._topic,
            client_id=self._client_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=self._fetch_max_wait_ms,
            request_timeout_ms=10_000,
            metadata_max_age_ms=60_000,
        )


def _start_question(
    asking: Coroutine[Any, Any, dict[TopicPartition, int]],
) -> "asyncio.Task[dict[TopicPartition, int]]":
    """A question whose failure may go unread: whoever asked may have stopped waiting by then."""
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
    return task
