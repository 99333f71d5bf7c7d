"""Replays a topic into the topic of its next step, on the backfill lane.

notifications ──▶ sync-requests-backfill      one request for each doc source, however many notifications it had
attachments, attachments-backfill ──▶ attachments-backfill      with the header `mr-replay-id`: read again
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition

from mailroom_cli.pacing import Pacer, Progress
from mailroom_cli.record_ranges import BATCH_RECORDS, OffsetRange, read_ranges
from mailroom_cli.replay_positions import ReplayPositions
from mailroom_common.errors import NotDecodableYet, Undecodable
from mailroom_common.events import (
    AttachmentStored,
    DocSource,
    DocSourceState,
    Notification,
    SyncReason,
    SyncRequest,
    derive_event_id,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import REPLAY_ID, RawHeaders
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord, decode_record
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL, NOTIFICATIONS, SYNC_REQUESTS_BACKFILL, Topic

# What became of a record, as it is counted and shown.
SENT = "sent"
OTHER = "not selected"
UNREADABLE = "unreadable"
GONE = "of deleted doc sources"
PAUSED = "of paused doc sources"
FOREIGN = "of another tenant than the doc source"
REPEATED = "of doc sources asked for before"
REPLAYED = "of other replays"


class SourceLookup(Protocol):
    """`DocSourceDirectory` of mailroom_common."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """None matches every record."""

    tenant_id: str | None = None
    doc_source_ids: frozenset[str] = frozenset()

    def matches(self, tenant_id: str, doc_source_id: str) -> bool:
        return self.tenant_id in (None, tenant_id) and (not self.doc_source_ids or doc_source_id in self.doc_source_ids)


def judge_source(source: DocSource | None, tenant_id: str) -> str | None:
    """Why nothing of the doc source is replayed; None where it may be."""
    if source is None or source.state is DocSourceState.DELETING:
        return GONE  # what was deleted is not brought back
    if source.tenant_id != tenant_id:
        return FOREIGN  # whoever wrote the record, it is not for this doc source
    return None


class ReplayedTopic(Protocol):
    """One kind of replay: what it reads, what it leaves out, and what it sends for a record."""

    @property
    def topics(self) -> Sequence[Topic]: ...

    @property
    def target(self) -> Topic: ...

    def judge_record(self, record: IncomingRecord) -> str | None:
        """Why the record is left out; None where it is sent. Each record is judged once, in order."""
        ...

    async def send_record(self, producer: EventProducer, raw: Any, record: IncomingRecord, /) -> None: ...


class NotificationsReplay:
    """Asks for a full run of each doc source that was notified of: what its notification led to is found again."""

    topics = (NOTIFICATIONS,)
    target = SYNC_REQUESTS_BACKFILL

    def __init__(self, replay_id: str, wanted: RecordFilter, sources: SourceLookup) -> None:
        self._replay_id = replay_id
        self._wanted = wanted
        self._sources = sources
        self._asked_for: set[str] = set()

    def judge_record(self, record: IncomingRecord) -> str | None:
        event = record.event
        if not isinstance(event, Notification) or not self._wanted.matches(event.tenant_id, event.doc_source_id):
            return OTHER
        source = self._sources.get_source(event.doc_source_id)
        if (refusal := judge_source(source, event.tenant_id)) is not None:
            return refusal
        if source is not None and source.state is not DocSourceState.ACTIVE:
            return PAUSED  # its request would be resolved without a run; resuming asks for one
        if event.doc_source_id in self._asked_for:
            return REPEATED
        self._asked_for.add(event.doc_source_id)
        return None

    async def send_record(self, producer: EventProducer, _raw: Any, record: IncomingRecord, /) -> None:
        event = record.event
        assert isinstance(event, Notification)  # noqa: S101  # as it was judged
        request = SyncRequest(
            event_id=derive_event_id("sync-request", event.doc_source_id, "replay", self._replay_id),
            occurred_at=datetime.now(UTC),
            tenant_id=event.tenant_id,
            doc_source_id=event.doc_source_id,
            reasons=[SyncReason.REPLAY],
            first_requested_at=datetime.now(UTC),
        )
        await producer.send_event(self.target, event.doc_source_id, request)


class AttachmentsReplay:
    """Has the documents of attachments read again: the very record, marked with the replay's id."""

    topics = (ATTACHMENTS, ATTACHMENTS_BACKFILL)
    target = ATTACHMENTS_BACKFILL

    def __init__(self, replay_id: str, wanted: RecordFilter, sources: SourceLookup) -> None:
        self._replay_id = replay_id
        self._wanted = wanted
        self._sources = sources

    def judge_record(self, record: IncomingRecord) -> str | None:
        event = record.event
        if REPLAY_ID in record.headers:
            return REPLAYED  # the record that it repeats lies before it
        if not isinstance(event, AttachmentStored) or not self._wanted.matches(event.tenant_id, event.doc_source_id):
            return OTHER
        return judge_source(self._sources.get_source(event.doc_source_id), event.tenant_id)

    async def send_record(self, producer: EventProducer, raw: Any, _record: IncomingRecord, /) -> None:
        headers: RawHeaders = [*raw.headers, (REPLAY_ID, self._replay_id.encode())]
        await producer.send_raw(producer.topic_name(self.target), raw.key, raw.value, headers)


class RecordSorter:
    """Decodes records and judges each; a record that cannot be read is counted and named."""

    def __init__(self, replay: ReplayedTopic, codec: Codec, prefix: str, progress: Progress) -> None:
        self._replay = replay
        self._codec = codec
        self._topics = {prefix + topic.name: topic for topic in replay.topics}
        self._progress = progress
        self.unreadable: list[str] = []

    def select_record(self, raw: Any) -> IncomingRecord | None:
        try:
            record = decode_record(raw, self._topics[raw.topic], self._codec)
        except (Undecodable, NotDecodableYet):
            self._progress.counts[UNREADABLE] += 1
            self.unreadable.append(f"{raw.topic}/{raw.partition}@{raw.offset}")
            return None
        refusal = self._replay.judge_record(record)
        self._progress.counts[refusal or SENT] += 1
        return record if refusal is None else None


async def count_records(
    consumer: AIOKafkaConsumer, ranges: Mapping[TopicPartition, OffsetRange], sorter: RecordSorter, progress: Progress
) -> None:
    """A dry run: everything is read and judged, nothing is sent."""
    async for _tp, records, _read_to in read_ranges(consumer, ranges):
        for raw in records:
            sorter.select_record(raw)
        progress.advance(len(records))


async def replay_records(
    consumer: AIOKafkaConsumer,
    producer: EventProducer,
    replay: ReplayedTopic,
    left: dict[TopicPartition, OffsetRange],
    *,
    positions: ReplayPositions,
    sorter: RecordSorter,
    pacer: Pacer,
    progress: Progress,
) -> None:
    """Until nothing is left. The position is committed after each batch that Kafka has acknowledged."""
    # The ends first: whoever goes on after a kill stops where this one would have. aiokafka commits what is assigned.
    consumer.assign(list(left))
    await positions.commit_positions(consumer, left)
    # About a second's worth at a time: so much is sent again by whoever goes on after a kill.
    batch_records = min(BATCH_RECORDS, pacer.turns_a_second)
    async for tp, records, read_to in read_ranges(consumer, left, batch_records=batch_records):
        async with asyncio.TaskGroup() as sends:
            for raw in records:
                if (record := sorter.select_record(raw)) is not None:
                    await pacer.wait_turn()
                    sends.create_task(replay.send_record(producer, raw, record))
        left[tp] = OffsetRange(read_to, left[tp].end)
        await positions.commit_positions(consumer, {tp: left[tp]})
        progress.advance(len(records))
