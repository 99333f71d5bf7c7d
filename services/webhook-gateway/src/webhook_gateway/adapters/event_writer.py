"""Writes the events of pushes to Kafka together with those of concurrent pushes."""

from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.errors import KafkaError

from mailroom_common.errors import Unavailable
from mailroom_common.kafka.headers import build_event_headers
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import Topic
from mailroom_common.tracing import get_or_create_traceparent
from webhook_gateway.adapters.group_commit import EncodedRecord, GroupCommit
from webhook_gateway.ports import OutgoingEvent


class _WriteCall(NamedTuple):
    """The events are encoded later, when the trace of the caller is no longer the current one: so it is kept here."""

    events: Sequence[OutgoingEvent]
    traceparent: str


class GroupCommitWriter:
    def __init__(self, producer: EventProducer) -> None:
        self._producer = producer
        self._partition_counts: dict[str, int] = {}  # by topic name
        self._group_commit = GroupCommit(producer.get_client, self._partition_counts.__getitem__, self._encode_call)

    async def learn_partitions(self, *topics: Topic) -> None:
        """Learn the partitions of the topics that events are going to be written to. Waits until the topics exist."""
        for topic in topics:
            self._partition_counts[self._producer.topic_name(topic)] = await self._producer.count_partitions(topic)

    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        """Return once Kafka has acknowledged all events.

        Raises:
            Unavailable: it did not, in time. Some may be written, and the others still may be.
        """
        client = self._producer.get_client()
        try:
            await self._group_commit.submit_call(_WriteCall(events, get_or_create_traceparent()), timeout_s)
        except TimeoutError as error:
            raise Unavailable(f"Kafka did not acknowledge {len(events)} records within {timeout_s:.1f} s") from error
        except KafkaError as error:
            topic_name = self._producer.topic_name(events[0].topic)
            raise self._producer.translate_error(client, error, topic_name) from error

    def _encode_call(self, call: _WriteCall) -> list[EncodedRecord]:
        codec, source = self._producer.codec, self._producer.source
        records = []
        for topic, key, event in call.events:
            kind = codec.find_kind(event)
            headers = build_event_headers(event, kind, source, call.traceparent)
            records.append(EncodedRecord(self._producer.topic_name(topic), key.encode(), kind.encode(event), headers))
        return records
