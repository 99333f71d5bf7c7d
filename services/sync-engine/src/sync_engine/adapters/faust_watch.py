"""Finds a stalled Faust app: partitions that are not fetched after a rebalance, agents that are dead after an outage
(faust-streaming's issues 523 and 629). It looks healthy from inside, so Kafka is asked with a client of our own.

While Faust rebalances and recovers its table it reads no notification on purpose, for minutes where the changelog is
long. Then it is the recovery that must make progress.
"""

import asyncio

import faust
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from faust.types import TP

from mailroom_common.errors import Fatal
from mailroom_common.kafka.client import KafkaAddress, close_client, connect_with_retry, create_consumer
from mailroom_common.kafka.watchdog import StallDetector
from mailroom_common.logs import get_logger
from mailroom_common.metrics import COALESCER_RECOVERY_RECORDS_LEFT
from mailroom_common.topics import PARTITIONS

log = get_logger()

# Longer than any step of a rebalance that reads nothing: the group waits 60 s at most for its members.
_RECOVERY_STALLED_AFTER_S = 120.0
_RECOVERY = "recovery"
_CHECK_INTERVAL_S = 10.0
_CLIENT_ID = "mailroom-coalescer-watch"


class FaustWatch:
    def __init__(self, settings: KafkaAddress, app: faust.App, topic: str) -> None:
        self._settings = settings
        self._app = app
        self._partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._stalls: StallDetector[TopicPartition] = StallDetector()
        self._recovery_stalls: StallDetector[str] = StallDetector(_RECOVERY_STALLED_AFTER_S)

    async def watch_app(self) -> None:
        """Until cancelled.

        Raises:
            Fatal: Kafka has more for a partition that is ours, and nothing was read of it for a minute; or a rebalance
                with its recovery got no further for two.
        """
        consumer = await connect_with_retry(self._create_consumer, _CLIENT_ID)
        try:
            while True:
                await asyncio.sleep(_CHECK_INTERVAL_S)
                await self.check_progress(consumer, asyncio.get_running_loop().time())
        finally:
            await close_client(consumer)

    async def check_progress(self, consumer: AIOKafkaConsumer, now_s: float) -> None:
        if self._app.rebalancing:
            self._stalls = StallDetector()  # the minute of the notifications begins anew after it
            await self._check_recovery(consumer, now_s)
            return
        self._forget_recovery()
        COALESCER_RECOVERY_RECORDS_LEFT.set(0)
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

    async def _check_recovery(self, consumer: AIOKafkaConsumer, now_s: float) -> None:
        recovery = self._app.tables.recovery  # type: ignore[attr-defined]  # not in Faust's interface of tables
        left: int = recovery.active_remaining_total()
        COALESCER_RECOVERY_RECORDS_LEFT.set(left)
        log.info("coalescer_recovery_continued", records_left=left)
        try:
            async with asyncio.timeout(_CHECK_INTERVAL_S):
                await consumer.end_offsets(self._partitions[:1])
        except (TimeoutError, KafkaError, OSError):
            self._forget_recovery()  # Kafka itself is away, and a client that it comes back to needs time
            return
        # All changelog partitions together: Faust reads one after the other, so that most stand still for long. A
        # rebalance has work left as long as it lasts, also before Faust knows the ends of its changelog.
        read = sum(offset for offset in recovery.active_offsets.values() if offset is not None)
        if self._recovery_stalls.find_stalled(now_s, {_RECOVERY: read}, {_RECOVERY: read + 1}):
            raise Fatal(f"Faust's recovery has read nothing for two minutes, with {left} records left: restarting")

    def _forget_recovery(self) -> None:
        self._recovery_stalls = StallDetector(_RECOVERY_STALLED_AFTER_S)

    def _read_position(self, partition: TopicPartition) -> int:
        # Not part of Faust's interface, which shows no position at all.
        last_read: int | None = self._app.consumer._read_offset[TP(partition.topic, partition.partition)]  # type: ignore[attr-defined]
        return 0 if last_read is None else last_read + 1

    def _create_consumer(self) -> AIOKafkaConsumer:
        return create_consumer(self._settings, client_id=_CLIENT_ID)
