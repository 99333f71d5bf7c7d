"""The records of dead-letter topics, and the marks that say which of them an operator has dealt with.

A mark is a record of the same topic with the header `dlq-resolves`: the offset that it is about. So the state of a dead
letter lies beside it, is seen by every operator, and ends when the retention takes both.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from aiokafka import AIOKafkaConsumer

from mailroom_cli.kafka_access import list_partitions
from mailroom_cli.record_ranges import RecordSelection, find_ranges, read_ranges
from mailroom_cli.record_view import read_time
from mailroom_common.errors import NotDecodableYet, Rejected, Undecodable
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DEAD_LETTER_HEADER_PREFIX
from mailroom_common.kafka.headers import RawHeaders, decode_headers
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import Topic

RESOLVES = f"{DEAD_LETTER_HEADER_PREFIX}resolves"
RESOLUTION = f"{DEAD_LETTER_HEADER_PREFIX}resolution"


class Resolution(StrEnum):
    RETRIED = "retried"  # sent to its topic again
    DISCARDED = "discarded"  # an operator decided that nothing is to come of it


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """`raw` is aiokafka's record, which has no types. `resolution` None: nobody has dealt with it."""

    topic: Topic
    raw: Any
    resolution: Resolution | None

    @property
    def id(self) -> str:
        return f"{self.topic.name}:{self.raw.partition}:{self.raw.offset}"

    @property
    def facts(self) -> dict[str, str]:
        """What the consumer said when it put the record aside, without the prefix of the headers."""
        return {
            name.removeprefix(DEAD_LETTER_HEADER_PREFIX): text
            for name, text in decode_headers(self.raw.headers).items()
            if name.startswith(DEAD_LETTER_HEADER_PREFIX)
        }

    @property
    def dead_lettered_at(self) -> datetime:
        return read_time(self.raw)

    def original_headers(self) -> RawHeaders:
        return [(name, value) for name, value in self.raw.headers if not name.startswith(DEAD_LETTER_HEADER_PREFIX)]

    def find_decoding_problem(self, codec: Codec) -> str | None:
        """Why its consumer would stop at it, instead of dead-lettering it again."""
        if self.topic.event is None or self.raw.value is None:
            return None
        try:
            codec.decode(self.topic, self.raw.value)
        except NotDecodableYet as error:
            return str(error)
        except Undecodable:
            return None  # it is dead-lettered again
        return None


async def read_dead_letters(settings: KafkaAddress, consumer: AIOKafkaConsumer, topic: Topic) -> list[DeadLetter]:
    """All that Kafka still has, the oldest first."""
    partitions = await list_partitions(settings, settings.topic_prefix + topic.dead_letter_topic)
    ranges = await find_ranges(consumer, partitions, RecordSelection())
    found: list[Any] = []
    marks: dict[tuple[int, int], Resolution] = {}
    async for raw in _flatten(read_ranges(consumer, ranges)):
        headers = decode_headers(raw.headers)
        if RESOLVES not in headers:
            found.append(raw)
        elif (mark := _parse_mark(headers)) is not None:
            # The first one stands: a later one of another kind is of an operator who did not know of it yet.
            marks.setdefault(mark[0], mark[1])
    found.sort(key=lambda raw: (raw.timestamp, raw.partition, raw.offset))
    return [DeadLetter(topic, raw, marks.get((raw.partition, raw.offset))) for raw in found]


async def _flatten(batches: AsyncIterator[tuple[Any, list[Any], int]]) -> AsyncIterator[Any]:
    async for _tp, records, _read_to in batches:
        for raw in records:
            yield raw


def _parse_mark(headers: dict[str, str]) -> tuple[tuple[int, int], Resolution] | None:
    partition, _, offset = headers[RESOLVES].partition(":")
    try:
        return (int(partition), int(offset)), Resolution(headers[RESOLUTION])
    except (ValueError, KeyError):
        return None  # nobody's mark: the dead letter stays open


def select_dead_letters(letters: Iterable[DeadLetter], ids: Sequence[str]) -> list[DeadLetter]:
    """
    Raises:
        Rejected: there is none with one of the ids.
    """
    by_id = {letter.id: letter for letter in letters}
    if missing := [wanted for wanted in ids if wanted not in by_id]:
        raise Rejected(f"there is no dead letter {', '.join(missing)}: `mailroom dlq list --all` shows those there are")
    return [by_id[wanted] for wanted in dict.fromkeys(ids)]


async def retry_dead_letter(producer: EventProducer, letter: DeadLetter) -> None:
    """To the topic that it came from, unchanged, and then the mark: a crash in between sends it once more, which its
    consumers take for the repeat that it is."""
    await producer.send_raw(
        producer.topic_name(letter.topic), letter.raw.key, letter.raw.value, letter.original_headers()
    )
    await mark_dead_letter(producer, letter, Resolution.RETRIED)


async def mark_dead_letter(producer: EventProducer, letter: DeadLetter, resolution: Resolution) -> None:
    headers: RawHeaders = [
        (RESOLVES, f"{letter.raw.partition}:{letter.raw.offset}".encode()),
        (RESOLUTION, resolution.value.encode()),
        ("ce_source", producer.source),
    ]
    await producer.send_raw(producer.dead_letter_topic_name(letter.topic), letter.raw.key, None, headers)
