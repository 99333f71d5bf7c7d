"""A record as handlers see it, and how it is decoded from what Kafka delivered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from mailroom_common.errors import Undecodable
from mailroom_common.events import Event
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import decode_headers
from mailroom_common.topics import Topic


class RawRecord(Protocol):
    """What we use of aiokafka's ConsumerRecord. `timestamp` is epoch milliseconds."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


@dataclass(frozen=True, slots=True)
class IncomingRecord:
    """`event` is None for a tombstone, and for a topic that carries no events."""

    topic: Topic
    partition: int
    offset: int
    timestamp: datetime
    key: str
    value: bytes | None = field(repr=False)
    headers: dict[str, str] = field(hash=False)
    event: Event | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of one of our topics: the unit of ownership in a consumer group."""

    topic: Topic
    number: int

    def __str__(self) -> str:
        return f"{self.topic.name}/{self.number}"


def decode_record(raw: RawRecord, topic: Topic, codec: Codec) -> IncomingRecord:
    """
    Raises:
        Undecodable, NotDecodableYet: as `Codec.decode`; a key that is not UTF-8 text is undecodable too.
    """
    try:
        key = (raw.key or b"").decode()
    except UnicodeDecodeError:
        raise Undecodable(f"the key of a record of {topic.name} is not UTF-8") from None
    if not key:
        raise Undecodable(f"a record of {topic.name} has no key")
    event = codec.decode(topic, raw.value) if topic.event is not None and raw.value is not None else None
    return IncomingRecord(
        topic,
        raw.partition,
        raw.offset,
        datetime.fromtimestamp(max(raw.timestamp, 0) / 1000, UTC),
        key,
        raw.value,
        decode_headers(raw.headers),
        event,
    )
