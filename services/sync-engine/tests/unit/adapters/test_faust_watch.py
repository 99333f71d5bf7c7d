from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from faust.types import TP

from mailroom_common.errors import Fatal
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.metrics import COALESCER_RECOVERY_RECORDS_LEFT
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
    rebalancing: bool = False
    # Of the changelog, by partition: the last offset that was read, and the last that there is.
    active_offsets: dict[int, int | None] = field(default_factory=dict)
    active_highwaters: dict[int, int] = field(default_factory=dict)

    @property
    def tables(self) -> "App":
        return self

    @property
    def recovery(self) -> "App":
        return self

    def active_remaining_total(self) -> int:
        return sum(end - (self.active_offsets[number] or 0) for number, end in self.active_highwaters.items())

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
    kafka_security: KafkaSecurity = UNSECURED


class Watched:
    """A watch over its fakes; `look` is given the time in seconds."""

    def __init__(self, app: App, kafka: Kafka) -> None:
        self.app, self.kafka = app, kafka
        self._watch = FaustWatch(Settings(), cast("Any", app), TOPIC)  # the parts of Faust that are needed

    async def look(self, *at_s: float) -> None:
        for now_s in at_s:
            await self._watch.check_progress(cast("Any", self.kafka), now_s)

    async def finds_a_stall(self, *at_s: float) -> bool:
        try:
            await self.look(*at_s)
        except Fatal:
            return True
        return False


async def test_a_partition_of_ours_that_nobody_reads_ends_the_process() -> None:
    with pytest.raises(Fatal, match="notifications/3"):
        await Watched(App({3}, {3: 6}), Kafka({3: 9})).look(0, 30, 60)


async def test_a_partition_that_stands_still_for_less_than_a_minute_is_left_alone() -> None:
    watched = Watched(App({3}, {3: 6}), Kafka({3: 9}))
    assert not await watched.finds_a_stall(0, 30, 59)
    watched.app.read[3] = 7
    assert not await watched.finds_a_stall(60, 119), "it reads on, though slowly"
    assert await watched.finds_a_stall(120)


async def test_partitions_of_others_are_theirs_to_read_until_they_become_ours() -> None:
    watched = Watched(App({4}, {4: 8, 3: 6}), Kafka({3: 9, 4: 9}))
    assert not await watched.finds_a_stall(0, 30, 60)
    watched.app.owned.add(3)
    assert not await watched.finds_a_stall(61, 120), "the minute begins when it is ours"
    assert await watched.finds_a_stall(121)


async def test_what_is_read_to_its_end_is_no_stall_until_more_comes() -> None:
    watched = Watched(App({3}, {3: 8}), Kafka({3: 9}))
    assert not await watched.finds_a_stall(0, 30, 60, 120)
    watched.kafka.ends[3] = 10
    assert not await watched.finds_a_stall(121, 180)
    assert await watched.finds_a_stall(181)


async def test_an_absent_kafka_is_no_stall_and_a_stall_is_found_once_it_is_back() -> None:
    watched = Watched(App({3}, {3: 6}), Kafka({3: 9}, is_away=True))
    assert not await watched.finds_a_stall(0, 30, 60, 90)
    watched.kafka.is_away = False
    assert not await watched.finds_a_stall(100, 159)
    assert await watched.finds_a_stall(160)


async def test_what_retention_took_need_not_be_read_and_what_came_since_must_be() -> None:
    watched = Watched(App({3}, {}), Kafka({3: 9}, {3: 9}))
    assert not await watched.finds_a_stall(0, 30, 60)
    watched.kafka.ends[3] = 10
    assert not await watched.finds_a_stall(61, 120)
    assert await watched.finds_a_stall(121)


def recovering_app() -> App:
    """Owns two partitions with notifications waiting, and has read nothing of them or of their changelog."""
    return App({3, 4}, {}, rebalancing=True, active_offsets={3: -1, 4: None}, active_highwaters={3: 99, 4: 99})


async def test_a_recovery_is_no_stall_however_long_it_lasts() -> None:
    watched = Watched(recovering_app(), Kafka({3: 9, 4: 9}))
    for minute in range(30):
        watched.app.active_offsets[3] = minute
        assert not await watched.finds_a_stall(minute * 60, minute * 60 + 59)


async def test_a_recovery_that_reads_nothing_for_two_minutes_ends_the_process() -> None:
    watched = Watched(recovering_app(), Kafka({3: 9, 4: 9}))
    assert not await watched.finds_a_stall(0, 60, 119)
    with pytest.raises(Fatal, match="recovery"):
        await watched.look(120)


async def test_after_a_recovery_the_minute_begins_anew() -> None:
    watched = Watched(App({3}, {3: 6}), Kafka({3: 9}))
    assert not await watched.finds_a_stall(0, 30, 59)
    watched.app.rebalancing = True
    assert not await watched.finds_a_stall(60, 100)
    watched.app.rebalancing = False
    assert not await watched.finds_a_stall(101, 160)
    assert await watched.finds_a_stall(161)


async def test_a_second_recovery_has_its_own_two_minutes() -> None:
    watched = Watched(recovering_app(), Kafka({}))
    assert not await watched.finds_a_stall(0, 119)
    watched.app.rebalancing = False
    assert not await watched.finds_a_stall(120)
    watched.app.rebalancing = True
    assert not await watched.finds_a_stall(121, 240)
    assert await watched.finds_a_stall(241)


async def test_the_two_minutes_of_a_recovery_begin_when_kafka_is_back() -> None:
    watched = Watched(recovering_app(), Kafka({}))
    assert not await watched.finds_a_stall(0, 60)
    watched.kafka.is_away = True
    assert not await watched.finds_a_stall(120, 600)
    watched.kafka.is_away = False
    assert not await watched.finds_a_stall(610, 729)
    assert await watched.finds_a_stall(730)


async def test_what_is_left_of_a_recovery_is_shown() -> None:
    app = recovering_app()
    watched = Watched(app, Kafka({}))
    app.active_offsets = {3: 49, 4: 99}
    await watched.look(0)
    assert COALESCER_RECOVERY_RECORDS_LEFT._value.get() == 50
    app.rebalancing = False
    await watched.look(10)
    assert COALESCER_RECOVERY_RECORDS_LEFT._value.get() == 0
