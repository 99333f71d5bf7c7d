"""How commands reach Kafka: they wait a bounded time, and what goes wrong names the broker or the topic."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.kafka.client import KafkaAddress, KafkaCluster, close_client, create_admin_client, create_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.topics import TOPICS, Topic

CONNECT_TIMEOUT_S = 20.0
_CLIENT_ID = "mailroom-cli"


@asynccontextmanager
async def open_admin(settings: KafkaAddress) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = create_admin_client(settings, client_id=_CLIENT_ID, request_timeout_ms=20_000)
    try:
        await _within_time(settings, admin.start())
        yield admin
    finally:
        await admin.close()


@asynccontextmanager
async def open_applying_admin(cluster: KafkaCluster) -> AsyncIterator[AIOKafkaAdminClient]:
    """For what changes a site: a broker that makes a thousand partitions takes its time to answer.

    Raises:
        Unavailable: Kafka does not answer, at the start or later.
    """
    admin = create_admin_client(cluster, request_timeout_ms=30_000)
    try:
        await admin.start()
        yield admin
    except (KafkaError, OSError) as error:
        raise Unavailable(
            f"Kafka at {cluster.kafka_bootstrap} does not answer: {error or type(error).__name__}"
        ) from error
    finally:
        await admin.close()


@asynccontextmanager
async def open_consumer(settings: KafkaAddress, *, group: str | None = None) -> AsyncIterator[AIOKafkaConsumer]:
    """It is assigned nothing yet. With a group it can commit to that group, which it does not join."""
    consumer = create_consumer(
        settings,
        client_id=_CLIENT_ID,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        request_timeout_ms=20_000,
    )
    try:
        await _within_time(settings, consumer.start())
        yield consumer
    finally:
        await close_client(consumer)


@asynccontextmanager
async def open_producer(settings: KafkaAddress, codec: Codec) -> AsyncIterator[EventProducer]:
    producer = EventProducer(settings, codec, client_id=_CLIENT_ID)
    await _within_time(settings, producer.__aenter__())
    try:
        yield producer
    finally:
        await producer.close()


async def load_schemas(settings: KafkaAddress, codec: Codec) -> None:
    """Every schema that a writer announced: so records of any build can be decoded."""
    schemas = SchemaDirectory(settings, codec, client_id=_CLIENT_ID)
    try:
        await _within_time(settings, schemas.load_schemas())
    finally:
        await schemas.close()


async def _within_time(settings: KafkaAddress, step: Any) -> None:  # Any: whatever a client's step returns
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await step
    except (TimeoutError, KafkaError, OSError) as error:
        raise Unavailable(
            f"Kafka at {settings.kafka_bootstrap} does not answer ({type(error).__name__}): "
            "check MAILROOM_KAFKA_BOOTSTRAP and the other MAILROOM_KAFKA_ settings"
        ) from error


async def list_partitions(settings: KafkaAddress, topic_name: str) -> list[TopicPartition]:
    async with open_admin(settings) as admin:
        (found,) = await admin.describe_topics([topic_name])
    if found["error_code"] != 0:
        raise Rejected(f"Kafka has no topic {topic_name}: run `mailroom topics apply`, or check MAILROOM_TOPIC_PREFIX")
    return sorted(TopicPartition(topic_name, partition["partition"]) for partition in found["partitions"])


@dataclass(frozen=True, slots=True)
class NamedTopic:
    """A topic as a user names it: one of ours, or the dead-letter topic of one."""

    name: str
    topic: Topic

    @property
    def is_dead_letters(self) -> bool:
        return self.name != self.topic.name


def find_topic(name: str, prefix: str = "") -> NamedTopic:
    """By its name, with or without the site's prefix.

    Raises:
        Rejected: it is none of ours.
    """
    bare = name.removeprefix(prefix) if prefix else name
    for topic in TOPICS:
        if bare == topic.name or (topic.has_dead_letters and bare == topic.dead_letter_topic):
            return NamedTopic(bare, topic)
    raise Rejected(f"there is no topic {name}: {', '.join(_list_names())}")


def _list_names() -> Sequence[str]:
    return [topic.name for topic in TOPICS]
