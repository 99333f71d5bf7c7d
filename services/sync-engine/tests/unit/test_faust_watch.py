from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from faust.types import TP

from mailroom_common.errors import Fatal
from sync_engine.adapters.faust_watch import FaustWatch

TOPIC = "notifications"


@dataclass
class Kafka:
    """Ends and beginnings of the partitions, as a consumer without a group tells them."""

    ends: dict[int, int]
    starts: dict[int, int] = field(default_factory=dict)
    is_away: bool = False

    async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        if self.is_away:
            raise KafkaConnectionError
        return {partition: self.ends.get(partition.partition, 0) for partition in partitions}

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self.starts.get(partition.partition, 0) for partition in partitions}


@dataclass
class App:
    """What the watch looks at of a Faust app."""

    owned: set[int]
    read: dict[int, int]

    @property
    def assignor(self) -> "App":
        return self

    @property
    def consumer(self) -> "App":
        return self

    def assigned_actives(self) -> set[TP]:
        return {TP(TOPIC, number) for number in self.owned}

    @property
    def _read_offset(self) -> Any:
        return defaultdict(lambda: None, {TP(TOPIC, number): offset for number, offset in self.read.items()})


@dataclass
class Settings:
    kafka_bootstrap: str = "nowhere:1"
    topic_prefix: str = ""


async def look(app: Any, kafka: Any, *at_s: float) -> None:  # Any: the parts of Faust and aiokafka that are needed
    watch = FaustWatch(Settings(), app, TOPIC)
    for now_s in at_s:
        await watch.look(kafka, now_s)


async def test_a_partition_of_ours_that_nobody_reads_ends_the_process() -> None:
    with pytest.raises(Fatal, match="notifications/3"):
        await look(App({3}, {3: 6}), Kafka({3: 9}), 0, 30, 60)


async def test_partitions_of_others_are_theirs_to_read() -> None:
    await look(App({4}, {4: 8}), Kafka({3: 9, 4: 9}), 0, 30, 60)


async def test_an_absent_kafka_is_nobody_asleep() -> None:
    await look(App({3}, {3: 6}), Kafka({3: 9}, is_away=True), 0, 30, 60)


async def test_what_retention_took_need_not_be_read() -> None:
    await look(App({3}, {}), Kafka({3: 9}, {3: 9}), 0, 30, 60)
