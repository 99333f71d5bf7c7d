"""The topics of the gateway on a real Kafka, and what is in them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from mailroom_common.events import Event
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS, Topic

PARTITIONS = 4


@dataclass(frozen=True)
class Site:
    kafka_bootstrap: str
    topic_prefix: str

    async def create_topics(self) -> None:
        names = [self.topic_prefix + t.name for t in (DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS)]
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka_bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])

            async def worst_error() -> int:
                return max(int(topic["error_code"]) for topic in await admin.describe_topics(names))

            await wait_for_value(0, worst_error)
        finally:
            await admin.close()

    async def read_events(self, topic: Topic) -> list[Event]:
        codec = Codec()
        return [codec.decode(topic, record.value) for record in await self.read_records(topic)]

    async def read_records(self, topic: Topic) -> list[Any]:  # Any: aiokafka's ConsumerRecord, which has no types
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka_bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(self.topic_prefix + topic.name, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(partitions)
            found: list[Any] = []
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += records
            return found
        finally:
            await consumer.stop()


async def wait_for_value(wanted: int, status: Callable[[], Awaitable[int | None]], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        found = await status()
        while found != wanted:
            await asyncio.sleep(0.1)
            found = await status()
