"""Finds a stalled Faust app: partitions that are not fetched after a rebalance, agents that are dead after an outage
(faust-streaming's issues 523 and 629). It looks healthy from inside, so Kafka is asked with a client of our own."""

import asyncio

import faust
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from faust.types import TP

from mailroom_common.errors import Fatal
from mailroom_common.kafka.client import KafkaAddress, close_client, connect_with_retry, create_consumer
from mailroom_common.kafka.watchdog import StallDetector
from mailroom_common.topics import PARTITIONS

_CHECK_INTERVAL_S = 10.0
_CLIENT_ID = "mailroom-coalescer-watch"


class FaustWatch:
    def __init__(self, settings: KafkaAddress, app: faust.App, topic: str) -> None:
        self._settings = settings
        self._app = app
        self._partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._stalls: StallDetector[TopicPartition] = StallDetector()

    async def watch_app(self) -> None:
        """Until cancelled.

        Raises:
            Fatal: Kafka has more for a partition that is ours, and nothing was read of it for a minute.
        """
        consumer = await connect_with_retry(self._create_consumer, _CLIENT_ID)
        try:
            while True:
                await asyncio.sleep(_CHECK_INTERVAL_S)
                await self.check_progress(consumer, asyncio.get_running_loop().time())
        finally:
            await close_client(consumer)

    async def check_progress(self, consumer: AIOKafkaConsumer, now_s: float) -> None:
        assigned = self._app.assignor.assigned_actives()
        owned = [partition for partition in self._partitions if TP(partition.topic, partition.partition) in assigned]
        try:
            async with asyncio.timeout(_CHECK_INTERVAL_S):
                ends = await consumer.end_offsets(owned) if owned else {}
                starts = await consumer.beginning_offsets(owned) if owned else {}
        except (TimeoutError, KafkaError, OSError):
            return  # Kafka itself is away: no stall of ours
        # What retention took can never be read: the position counts from the beginning that the partition has now.
        positions = {partition: max(self._read_position(partition), starts[partition]) for partition in owned}
        if stalled := self._stalls.find_stalled(now_s, positions, ends):
            raise Fatal(f"Faust reads nothing of {stalled[0].topic}/{stalled[0].partition}: restarting")

    def _read_position(self, partition: TopicPartition) -> int:
        # Not part of Faust's interface, which shows no position at all.
        last_read: int | None = self._app.consumer._read_offset[TP(partition.topic, partition.partition)]  # type: ignore[attr-defined]
        return 0 if last_read is None else last_read + 1

    def _create_consumer(self) -> AIOKafkaConsumer:
        return create_consumer(self._settings, client_id=_CLIENT_ID)
