"""A site on the shared Kafka: a prefix of its own, few partitions, and what was written there."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from mailroom_common.events import AttachmentStored, IngestionResult
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL, INGESTION_RESULTS, SCHEMAS, Topic

PARTITIONS = 4


@dataclass
class Topics:
    settings: KafkaSettings
    codec: Codec
    producer: EventProducer

    async def publish(self, records: Iterable[AttachmentStored], topic: Topic = ATTACHMENTS) -> None:
        for record in records:
            await self.producer.send_event(topic, f"{record.doc_source_id}:{record.message_id}", record)

    async def results(self) -> list[IngestionResult]:
        records = await self._read(self.producer.topic_name(INGESTION_RESULTS))
        return [self.codec.decode(INGESTION_RESULTS, record.value) for record in records]  # type: ignore[misc]

    async def results_when(
        self, enough: Callable[[list[IngestionResult]], bool], *, within_s: float = 60
    ) -> list[IngestionResult]:
        async with asyncio.timeout(within_s):
            # Kafka tells nobody what it holds.
            while not enough(found := await self.results()):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            return found

    async def dead_letters(self, topic: Topic) -> list[Any]:  # Any: aiokafka's records have no types
        return await self._read(self.settings.topic_prefix + topic.dead_letter_topic)

    async def _read(self, name: str) -> list[Any]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.settings.kafka_bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(name, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(partitions)
            found: list[Any] = []
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found.extend(records)
            return found
        finally:
            await consumer.stop()


@asynccontextmanager
async def open_topics(bootstrap: str) -> AsyncIterator[Topics]:
    settings = KafkaSettings(kafka_bootstrap=bootstrap, kafka_replication=1, topic_prefix=f"t{secrets.token_hex(4)}.")
    wanted = (ATTACHMENTS, ATTACHMENTS_BACKFILL, INGESTION_RESULTS, SCHEMAS)
    names = [settings.topic_prefix + topic.name for topic in wanted]
    names += [settings.topic_prefix + topic.dead_letter_topic for topic in (ATTACHMENTS, ATTACHMENTS_BACKFILL)]
    async with AsyncExitStack() as stack:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        stack.push_async_callback(admin.close)
        await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
        stack.push_async_callback(admin.delete_topics, names)
        codec = Codec()
        producer = await stack.enter_async_context(EventProducer(settings, codec, client_id="test"))
        yield Topics(settings, codec, producer)
