from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from fake_aiokafka import FakeSettings

from mailroom_common.kafka import membership
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import Partition
from mailroom_common.topics import SYNC_REQUESTS


class RecordingClient:
    """Gives out `batches` poll by poll, and remembers how long a fetch would have waited at the end of each."""

    def __init__(self, batches: list[dict[TopicPartition, list[object]]]) -> None:
        self._fetcher = SimpleNamespace(_fetch_max_wait_ms=0)
        self._batches = batches
        self.asked_with_ms: list[int] = []

    async def getmany(self, *_: object, **__: object) -> dict[TopicPartition, list[object]]:
        self.asked_with_ms.append(self._fetcher._fetch_max_wait_ms)
        return self._batches.pop(0)


@pytest.fixture
def partition() -> TopicPartition:
    return TopicPartition(FakeSettings.topic_prefix + SYNC_REQUESTS.name, 0)


async def poll(
    batches: list[dict[TopicPartition, list[object]]], only: list[Partition] | None = None
) -> RecordingClient:
    client: Any = RecordingClient(batches)  # Any: stands for the aiokafka consumer that the member opens
    member = GroupMember(FakeSettings(), group="g", topics=[SYNC_REQUESTS], listener=None)  # type: ignore[arg-type]
    member._client = client
    for _ in range(len(batches)):
        await member.poll_records(only)
    client.asked_with_ms.append(client._fetcher._fetch_max_wait_ms)
    return client  # type: ignore[no-any-return]


async def test_idle_member_asks_seldom_and_one_that_gets_records_often(partition: TopicPartition) -> None:
    client = await poll([{}, {partition: [object()]}, {}])
    idle, busy = membership._IDLE_FETCH_WAIT_MS, membership._BUSY_FETCH_WAIT_MS
    # The fetch that follows a record is short already: the choice is made before aiokafka begins it.
    assert client.asked_with_ms == [idle, idle, busy, busy]


async def test_a_poll_of_some_partitions_only_asks_often_for_the_others_may_be_drained_soon() -> None:
    client = await poll([{}], only=[Partition(SYNC_REQUESTS, 0)])
    assert client.asked_with_ms == [membership._BUSY_FETCH_WAIT_MS] * 2


async def test_busy_member_is_idle_again_after_a_while_without_records(
    partition: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "_BUSY_FOR_S", 0.0)
    client = await poll([{partition: [object()]}, {}])
    assert client.asked_with_ms[-1] == membership._IDLE_FETCH_WAIT_MS
