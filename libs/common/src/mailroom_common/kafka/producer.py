"""Writes events to Kafka: `acks=all`, idempotent, with our own time-outs (an idempotent producer has none). Announces
the schemas before the first record."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaError,
    MessageSizeTooLargeError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import Event
from mailroom_common.kafka.client import KafkaAddress, KafkaClient, close_client, connect_with_retry, create_producer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import RawHeaders, build_event_headers, build_tombstone_headers, override_headers
from mailroom_common.kafka.schemas_topic import announce_schemas
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_PRODUCERS_REPLACED
from mailroom_common.retries import retry_forever
from mailroom_common.topics import Topic

log = get_logger()

# A frozen leader stalls every partition of the producer for this long: at 10 s one freeze stalled all for 20 s.
REQUEST_TIMEOUT_MS = 3_000
MAX_BATCH_BYTES = 131_072  # one batch per partition and request, so its size limits the throughput


@dataclass(frozen=True, slots=True)
class RecordPosition:
    partition: int
    offset: int


class EventProducer:
    """`client_id` names the writer, in Kafka's logs and in the headers (`/mailroom/<client_id>`)."""

    def __init__(self, settings: KafkaAddress, codec: Codec, *, client_id: str, linger_ms: int = 0) -> None:
        self.codec = codec
        self._settings = settings
        self._client_id = client_id
        self._linger_ms = linger_ms
        self.source = f"/mailroom/{client_id}".encode()  # the writer as the CloudEvents headers name it
        self._client: AIOKafkaProducer | None = None
        self._replacing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._client = await connect_with_retry(self._create_client, self._client_id)
        try:
            await self._announce_schemas()
        except BaseException:
            await self.close()
            raise
        return self

    async def _announce_schemas(self) -> None:
        # No record is sent before the schemas are in `schemas`, however long that takes: no reader could decode it.
        await retry_forever(Unavailable, log_event="schemas_announcement_failed", client_id=self._client_id)(
            announce_schemas, self
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._replacing is not None:
            self._replacing.cancel()
            await asyncio.wait({self._replacing})
        if client := self._client:
            await close_client(client)

    async def send_event(
        self,
        topic: Topic,
        key: str,
        event: Event | None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> RecordPosition:
        """Write an event, or a tombstone for None, and return where Kafka acknowledged it.

        Raises:
            Unavailable: not acknowledged in time. The record may still be written: readers drop repeats by event id.
        """
        return await self.send_raw(
            self.topic_name(topic),
            key.encode(),
            None if event is None else self.codec.encode(event),
            override_headers(self._build_headers(event), headers or {}),
            timeout_s=timeout_s,
        )

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float = 10.0
    ) -> RecordPosition:
        """As `send`, for bytes that are ready; `topic_name` is the whole name, prefix and all."""
        client = self.get_client()
        try:
            async with asyncio.timeout(timeout_s):
                written = await client.send_and_wait(topic_name, value, key, headers=headers)
        except TimeoutError as error:
            raise Unavailable(f"Kafka did not acknowledge a record of {topic_name} within {timeout_s} s") from error
        except KafkaError as error:
            raise self.translate_error(client, error, topic_name) from error
        return RecordPosition(written.partition, written.offset)

    async def count_partitions(self, topic: Topic) -> int:
        """How many partitions the topic has. Waits until it exists."""
        name = self.topic_name(topic)

        async def ask_partitions() -> int:
            return len(await self.get_client().partitions_for(name))

        return await retry_forever(KafkaError, log_event="kafka_topic_missing", topic=name)(ask_partitions)

    async def connect_to_brokers(self, *, timeout_s: float) -> None:
        """Connect to every broker now, or the first record for each would wait for it (TLS, SCRAM: seconds on a busy
        machine). A broker that does not answer is left to the first record that needs it."""
        connections = self.get_client().client
        try:
            async with asyncio.timeout(timeout_s):
                for broker in connections.cluster.brokers():
                    await connections.ready(broker.nodeId)
        except TimeoutError:
            # A broker did not answer at the start: the first records for its partitions wait for it, or are refused.
            log.warning("kafka_brokers_not_connected", client_id=self._client_id, waited_s=timeout_s)

    def topic_name(self, topic: Topic) -> str:
        return self._settings.topic_prefix + topic.name

    def dead_letter_topic_name(self, topic: Topic) -> str:
        return self._settings.topic_prefix + topic.dead_letter_topic

    def _build_headers(self, event: Event | None) -> RawHeaders:
        if event is None:
            return build_tombstone_headers(self.source)
        return build_event_headers(event, self.codec.find_kind(event), self.source)

    def _create_client(self) -> AIOKafkaProducer:
        return create_producer(
            self._settings,
            client_id=self._client_id,
            acks="all",
            enable_idempotence=True,
            linger_ms=self._linger_ms,
            max_batch_size=MAX_BATCH_BYTES,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            metadata_max_age_ms=60_000,
        )

    def get_client(self) -> AIOKafkaProducer:
        """For writers that batch records themselves. It is replaced after a fatal error, so it must not be kept.

        Raises:
            Unavailable: it is not connected yet.
        """
        if self._client is None:
            raise Unavailable("the Kafka producer is not connected yet")
        return self._client

    def translate_error(self, client: AIOKafkaProducer, error: KafkaError, topic_name: str) -> Exception:
        """What a caller can act on; a client that can never send again is replaced in the background."""
        if isinstance(error, MessageSizeTooLargeError | RecordTooLargeError):
            return Rejected(f"a record of {topic_name} is too large for Kafka")
        if isinstance(error, UnknownTopicOrPartitionError):
            return Unavailable(f"Kafka has no topic {topic_name}: run `mailroom topics apply`")
        if isinstance(error, TopicAuthorizationFailedError):
            return Unavailable(f"Kafka does not let us write to {topic_name}")
        # Callers do not wait for the new client: while Kafka is in trouble that takes long, and their answer is due.
        is_first_to_fail = self._client is client and (self._replacing is None or self._replacing.done())
        if is_first_to_fail and not error.retriable:
            self._replacing = asyncio.create_task(self._replace_client(client, error))
        return Unavailable(f"Kafka refused a record of {topic_name}: {type(error).__name__}")

    async def _replace_client(self, dead: KafkaClient, error: KafkaError) -> None:
        # A producer that was fenced or is out of sequence can never send again: every later send on it fails as well.
        log.error("kafka_producer_failed", client_id=self._client_id, error=type(error).__name__)
        KAFKA_PRODUCERS_REPLACED.inc()
        self._client = await connect_with_retry(self._create_client, self._client_id)
        await close_client(dead)
