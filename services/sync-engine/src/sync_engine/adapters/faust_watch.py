"""Finds the Faust app that fell asleep: partitions that nobody fetches after a rebalance, agents dead after an outage
(faust-streaming's issues 523 and 629). It looks healthy from inside, so Kafka is asked from outside."""

import asyncio

import faust
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from faust.types import TP

from mailroom_common.errors import Fatal
from mailroom_common.kafka.client import KafkaAddress, close_client, connect_with_retry
from mailroom_common.kafka.watchdog import StallDetector
from mailroom_common.topics import PARTITIONS

_LOOK_EVERY_S = 10.0
_CLIENT_ID = "mailroom-coalescer-watch"


class FaustWatch:
    def __init__(self, settings: KafkaAddress, app: faust.App, topic: str) -> None:
        self._settings = settings
        self._app = app
        self._partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._stalls: StallDetector[TopicPartition] = StallDetector()

    async def run(self) -> None:
        """Until cancelled.

        Raises:
            Fatal: Kafka has more for a partition that is ours, and nothing was read of it for a minute.
        """
        consumer = await connect_with_retry(self._make, _CLIENT_ID)
        try:
            while True:
                await asyncio.sleep(_LOOK_EVERY_S)
                await self.look(consumer, asyncio.get_running_loop().time())
        finally:
            await close_client(consumer)

    async def look(self, consumer: AIOKafkaConsumer, now_s: float) -> None:
        owned = self._app.assignor.assigned_actives()
        ours = [partition for partition in self._partitions if TP(partition.topic, partition.partition) in owned]
        try:
            async with asyncio.timeout(_LOOK_EVERY_S):
                ends = await consumer.end_offsets(ours) if ours else {}
                starts = await consumer.beginning_offsets(ours) if ours else {}
        except (TimeoutError, KafkaError, OSError):
            return  # Kafka itself is away: that is nobody who fell asleep
        positions = {partition: max(self._position(partition), starts[partition]) for partition in ours}
        if stalled := self._stalls.find_stalled(now_s, positions, ends):
            raise Fatal(f"Faust reads nothing of {stalled[0].topic}/{stalled[0].partition}: restarting")

    def _position(self, partition: TopicPartition) -> int:
        # Not part of Faust's interface, which shows no position at all.
        last_read: int | None = self._app.consumer._read_offset[TP(partition.topic, partition.partition)]  # type: ignore[attr-defined]
        return 0 if last_read is None else last_read + 1

    def _make(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(bootstrap_servers=self._settings.kafka_bootstrap, client_id=_CLIENT_ID)
