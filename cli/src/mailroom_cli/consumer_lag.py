"""How far each consumer group of a site is behind: the records between what it has committed and the end."""

from collections.abc import Iterable
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError

from mailroom_cli.kafka_access import open_admin, open_consumer
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.topics import REPLAY_GROUP_PREFIX, TOPICS

_GROUP_PREFIX = "mailroom."


@dataclass(frozen=True, slots=True, order=True)
class Lag:
    """Of one group on one topic. `partitions` are those that are behind."""

    group: str
    topic: str
    records: int
    partitions: tuple[int, ...] = ()


async def read_lags(settings: KafkaAddress) -> list[Lag]:
    """By group and topic; names without the site's prefix. A replay that goes on is a group as well: its own range is
    not told from the rest of the topic, so it is left out."""
    committed: dict[str, dict[TopicPartition, int]] = {}
    async with open_admin(settings) as admin:
        try:
            listed = await admin.list_consumer_groups()
        except GroupCoordinatorNotAvailableError:
            listed = []  # a new Kafka: no group has committed anything
        for group in select_groups((name for name, *_ in listed), settings.topic_prefix):
            offsets = await admin.list_consumer_group_offsets(group)
            committed[group] = {tp: place.offset for tp, place in offsets.items() if place.offset >= 0}
    ends = await _read_ends(settings, {tp for places in committed.values() for tp in places})
    return sorted(
        lag for group, places in committed.items() for lag in compute_lags(group, places, ends, settings.topic_prefix)
    )


def select_groups(names: Iterable[str], prefix: str) -> list[str]:
    own = prefix + _GROUP_PREFIX
    return sorted(name for name in names if name.startswith(own) and not name.startswith(prefix + REPLAY_GROUP_PREFIX))


def compute_lags(
    group: str, committed: dict[TopicPartition, int], ends: dict[TopicPartition, int], prefix: str
) -> list[Lag]:
    ours = {topic.name for topic in TOPICS}
    behind: dict[str, dict[int, int]] = {}
    for tp, offset in committed.items():
        name = tp.topic.removeprefix(prefix)
        if name in ours:
            behind.setdefault(name, {})[tp.partition] = max(0, ends.get(tp, offset) - offset)
    return [
        Lag(
            group.removeprefix(prefix),
            topic,
            sum(counts.values()),
            tuple(sorted(number for number, count in counts.items() if count)),
        )
        for topic, counts in behind.items()
    ]


async def _read_ends(settings: KafkaAddress, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    async with open_consumer(settings) as consumer:
        ends: dict[TopicPartition, int] = await consumer.end_offsets(list(partitions))
    return ends
