"""Writes events to Kafka: `acks=all`, idempotent, with our own time-outs (an idempotent producer has none). Announces
the schemas before the first record."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

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
from mailroom_common.kafka.client import KafkaAddress, KafkaClient, close_client, connect_with_retry
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.group_commit import GroupCommit, RawOutgoing
from mailroom_common.kafka.headers import RawHeaders, build_event_headers, build_tombstone_headers, override_headers
from mailroom_common.kafka.schemas_topic import announce_schemas
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_PRODUCERS_REPLACED
from mailroom_common.retries import retry_forever
from mailroom_common.topics import Topic
from mailroom_common.tracing import current_traceparent

log = get_logger()

# A frozen leader stalls every partition of the producer for this long: at 10 s one freeze stalled all for 20 s.
REQUEST_TIMEOUT_MS = 3_000
MAX_BATCH_BYTES = 131_072  # one batch per partition and request, so its size limits the throughput


@dataclass(frozen=True, slots=True)
class RecordPosition:
    partition: int
    offset: int


class OutgoingEvent(NamedTuple):
    topic: Topic
    key: str
    event: Event
    headers: Mapping[str, str] | None = None


class _Call(NamedTuple):
    """Of `send_events`; the records are encoded later, when the caller's trace is no longer current."""

    records: Sequence[OutgoingEvent]
    trace: str


class EventProducer:
    """`client_id` names the writer, in Kafka's logs and in the headers (`/mailroom/<client_id>`)."""

    def __init__(self, settings: KafkaAddress, codec: Codec, *, client_id: str, linger_ms: int = 0) -> None:
        self.codec = codec
        self._settings = settings
        self._client_id = client_id
        self._linger_ms = linger_ms
        self._source = f"/mailroom/{client_id}".encode()
        self._client: AIOKafkaProducer | None = None
        self._partitions: dict[str, int] = {}
        self._replacing: asyncio.Task[None] | None = None
        self._group = GroupCommit(lambda: self._require_client(), self._partitions.__getitem__, self._encode_call)

    async def __aenter__(self) -> Self:
        self._client = await connect_with_retry(self._create_client, self._client_id)
        try:
            await self._announce_schemas()
        except BaseException:
            await self.close()
            raise
        return self

    async def _announce_schemas(self) -> None:
        """Before the first record, however long it takes: a reader could not decode what comes without."""
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
        client = self._require_client()
        try:
            async with asyncio.timeout(timeout_s):
                written = await client.send_and_wait(topic_name, value, key, headers=headers)
        except TimeoutError as error:
            raise Unavailable(f"Kafka did not acknowledge a record of {topic_name} within {timeout_s} s") from error
        except KafkaError as error:
            raise self._translate_error(client, error, topic_name) from error
        return RecordPosition(written.partition, written.offset)

    async def learn_partitions(self, *topics: Topic) -> None:
        """Learn the partitions of the topics that `send_events` is going to be given. Waits until they exist."""
        for topic in topics:
            name = self.topic_name(topic)
            self._partitions[name] = len(await self._read_partitions(name))

    async def send_events(self, records: Sequence[OutgoingEvent], *, timeout_s: float = 10.0) -> None:
        """Write records with those of concurrent callers, one batch per partition; returns when all are acknowledged.

        Raises:
            Unavailable: not all were acknowledged in time. Some may be written, and the others still may be.
        """
        client = self._require_client()
        try:
            await self._group.send(_Call(records, current_traceparent()), timeout_s)
        except TimeoutError as error:
            raise Unavailable(f"Kafka did not acknowledge {len(records)} records within {timeout_s} s") from error
        except KafkaError as error:
            raise self._translate_error(client, error, self.topic_name(records[0].topic)) from error

    def _encode_call(self, call: _Call) -> list[RawOutgoing]:
        ready = []
        for topic, key, event, own in call.records:
            kind = self.codec.find_kind(event)
            headers = build_event_headers(event, kind, self._source, call.trace)
            ready.append(
                RawOutgoing(
                    self.topic_name(topic),
                    key.encode(),
                    kind.encode(event),
                    override_headers(headers, own) if own else headers,
                )
            )
        return ready

    def topic_name(self, topic: Topic) -> str:
        return self._settings.topic_prefix + topic.name

    def dead_letter_topic_name(self, topic: Topic) -> str:
        return self._settings.topic_prefix + topic.dead_letter_topic

    def _build_headers(self, event: Event | None) -> RawHeaders:
        if event is None:
            return build_tombstone_headers(self._source)
        return build_event_headers(event, self.codec.find_kind(event), self._source)

    def _create_client(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=self._settings.kafka_bootstrap,
            client_id=self._client_id,
            acks="all",
            enable_idempotence=True,
            linger_ms=self._linger_ms,
            max_batch_size=MAX_BATCH_BYTES,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            metadata_max_age_ms=60_000,
        )

    def _require_client(self) -> AIOKafkaProducer:
        if self._client is None:
            raise Unavailable("the Kafka producer is not connected yet")
        return self._client

    async def _read_partitions(self, name: str) -> set[int]:
        async def ask_partitions() -> set[int]:
            partitions: set[int] = await self._require_client().partitions_for(name)
            return partitions

        return await retry_forever(KafkaError, log_event="kafka_topic_missing", topic=name)(ask_partitions)

    def _translate_error(self, client: AIOKafkaProducer, error: KafkaError, topic_name: str) -> Exception:
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
        """After a fatal error (fenced, out of sequence) every later send on the same client fails as well."""
        log.error("kafka_producer_replaced", client_id=self._client_id, error=type(error).__name__)
        KAFKA_PRODUCERS_REPLACED.inc()
        self._client = await connect_with_retry(self._create_client, self._client_id)
        await close_client(dead)
