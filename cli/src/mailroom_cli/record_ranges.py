"""Which records of a topic a command reads: by time, partition and offset, up to the end that the topic has now."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from mailroom_common.errors import Rejected, Unavailable

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
BATCH_RECORDS = 200
_SILENCE_LIMIT_S = 60.0


def parse_moment(text: str, now: datetime) -> datetime:
    """`2026-11-28`, `2026-11-28T09:00:00Z`, or how long ago: `90s`, `2h`, `3d`. A time without a zone is UTC.

    Raises:
        ValueError: it is neither.
    """
    if text[:-1].isdecimal() and text[-1:] in _UNITS:
        return now - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSelection:
    """What was asked for. `from_offset` and `to_offset` (exclusive) are of one partition."""

    since: datetime | None = None
    until: datetime | None = None
    partition: int | None = None
    from_offset: int | None = None
    to_offset: int | None = None

    def __post_init__(self) -> None:
        if self.partition is None and (self.from_offset is not None or self.to_offset is not None):
            raise Rejected("offsets are counted per partition: give --partition too")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise Rejected("--until is not after --since: nothing lies between them")


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Of one partition: `start` is read, `end` is not."""

    start: int
    end: int

    @property
    def count(self) -> int:
        return max(0, self.end - self.start)


async def find_ranges(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], selection: RecordSelection
) -> dict[TopicPartition, OffsetRange]:
    """By the timestamps that Kafka keeps. Partitions in which nothing is selected are left out."""
    chosen = [tp for tp in partitions if selection.partition is None or tp.partition == selection.partition]
    if not chosen:
        raise Rejected(f"{partitions[0].topic} has no partition {selection.partition}: it has {len(partitions)}")
    try:
        first = await consumer.beginning_offsets(chosen)
        last = await consumer.end_offsets(chosen)
        since = await _find_offsets(consumer, chosen, selection.since)
        until = await _find_offsets(consumer, chosen, selection.until)
    except KafkaError as error:
        raise Unavailable(f"Kafka does not say where {chosen[0].topic} ends: {type(error).__name__}") from error
    ranges = {}
    for tp in chosen:
        # No record at or after a time: there is none to begin with, or none to stop before.
        start = first[tp] if selection.since is None else since.get(tp, last[tp])
        end = until.get(tp, last[tp])
        start = max(start, first[tp], selection.from_offset or 0)
        end = min(end, last[tp], last[tp] if selection.to_offset is None else selection.to_offset)
        if start < end:
            ranges[tp] = OffsetRange(start, end)
    return ranges


async def _find_offsets(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], moment: datetime | None
) -> dict[TopicPartition, int]:
    if moment is None:
        return {}
    at_ms = int(moment.timestamp() * 1000)
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, at_ms))
    return {tp: place.offset for tp, place in found.items() if place is not None}


async def read_ranges(
    consumer: AIOKafkaConsumer, ranges: Mapping[TopicPartition, OffsetRange], *, batch_records: int = BATCH_RECORDS
) -> AsyncIterator[tuple[TopicPartition, list[Any], int]]:  # Any: aiokafka's records have no types
    """Batches of a partition: its records, and the offset up to which it is read once these are handled."""
    open_ranges = {tp: found for tp, found in ranges.items() if found.count}
    consumer.assign(list(ranges))
    consumer.pause(*(tp for tp in ranges if tp not in open_ranges))
    for tp, found in open_ranges.items():
        consumer.seek(tp, found.start)
    silent_s = 0.0
    while open_ranges:
        batches = await consumer.getmany(timeout_ms=1000, max_records=batch_records)
        silent_s = 0.0 if batches else silent_s + 1
        if silent_s > _SILENCE_LIMIT_S:
            raise Unavailable(f"Kafka delivers nothing of {next(iter(open_ranges)).topic} any more")
        for tp in list(open_ranges):
            end = open_ranges[tp].end
            records = [record for record in batches.get(tp, []) if record.offset < end]
            # The position, not the last record's offset: compaction may have taken the records at the end.
            read_to = min(end, await consumer.position(tp))
            if read_to >= end:
                del open_ranges[tp]
                consumer.pause(tp)
            if records or read_to >= end:
                yield tp, records, read_to
