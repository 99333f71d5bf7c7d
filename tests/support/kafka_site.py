"""Topics of its own for a test on real Kafka: a random prefix, few partitions, and a plain view of what Kafka holds."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError

from mailroom_common.events import Notification
from mailroom_common.kafka.partition_consumer import PartitionConsumer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.topics import Topic

PARTITIONS = 2


@dataclass(frozen=True)
class KafkaSite:
    """Settings as the clients want them, and a plain view of what Kafka holds."""

    kafka_bootstrap: str
    topic_prefix: str
    instance_id: str | None = None
    kafka_security: KafkaSecurity = UNSECURED

    def name(self, topic: Topic) -> str:
        return self.topic_prefix + topic.name

    async def write_raw(self, name: str, records: Sequence[tuple[bytes, bytes | None]], partition: int = 0) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self.kafka_bootstrap)
        await producer.start()
        try:
            for key, value in records:
                await producer.send_and_wait(self.topic_prefix + name, value, key, partition=partition)
        finally:
            await producer.stop()

    async def read_all(self, name: str) -> list[Any]:  # Any: aiokafka's ConsumerRecord has no types
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka_bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(self.topic_prefix + name, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(partitions)
            found = []
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found.extend(records)
            return found
        finally:
            await consumer.stop()

    async def committed(self, group: str, topic: Topic, partition: int = 0) -> int | None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka_bootstrap)
        await admin.start()
        try:
            offsets = await admin.list_consumer_group_offsets(self.topic_prefix + group)
        except GroupCoordinatorNotAvailableError:
            return None  # the first group of a new Kafka: its topic of offsets is not made yet
        finally:
            await admin.close()
        found = offsets.get(TopicPartition(self.name(topic), partition))
        return None if found is None else int(found.offset)


def make_notification(number: int, source: str = "ds-1") -> Notification:
    return Notification(
        event_id=f"e-{number}",
        occurred_at=datetime(2026, 11, 28, tzinfo=UTC),
        tenant_id="acme",
        doc_source_id=source,
        provider="outlook",
        provider_event=str(number),
    )


@asynccontextmanager
async def create_kafka_site(kafka_bootstrap: str, topics: Sequence[Topic]) -> AsyncIterator[KafkaSite]:
    """The topics with their dead-letter topics; they are deleted afterwards."""
    site = KafkaSite(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    names = [site.name(topic) for topic in topics]
    names += [site.topic_prefix + topic.dead_letter_topic for topic in topics if topic.has_dead_letters]
    async with AsyncExitStack() as stack:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
        await admin.start()
        stack.push_async_callback(admin.close)
        await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
        stack.push_async_callback(admin.delete_topics, names)
        await eventually(lambda: topics_exist(admin, names))
        yield site


@asynccontextmanager
async def run_consumer(
    consumer: PartitionConsumer[Any], schemas: SchemaDirectory, stopping: asyncio.Event
) -> AsyncIterator[None]:
    """With the schemas that its records may have, as a process does it."""
    await schemas.load_schemas()
    following = asyncio.create_task(schemas.follow_topic(stopping))
    consuming = asyncio.create_task(consumer.consume_records(stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.gather(consuming, following)


async def topics_exist(admin: AIOKafkaAdminClient, names: list[str]) -> bool:
    described = await admin.describe_topics(names)
    return all(topic["error_code"] == 0 and len(topic["partitions"]) == PARTITIONS for topic in described)


async def eventually(condition: Callable[[], Awaitable[bool] | bool], within_s: float = 20.0) -> None:
    """Kafka tells nobody when it has done something, so the tests look."""
    async with asyncio.timeout(within_s):
        while True:
            holds = condition()
            if holds if isinstance(holds, bool) else await holds:
                return
            await asyncio.sleep(0.05)
