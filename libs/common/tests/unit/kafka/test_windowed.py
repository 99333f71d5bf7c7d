"""When a record of the windowed consumer counts as done: never before its handler or its dead letter is through."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fake_aiokafka import FakeAiokafka, FakeDeadLetterSender, FakeSettings, run_consumer, wait_until

from mailroom_common.errors import Fatal, Rejected, Unavailable
from mailroom_common.kafka import partition_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import SYNC_REQUESTS


class Bench:
    """A consumer of one partition; `handled` are the offsets whose handler returned."""

    def __init__(self, kafka: FakeAiokafka) -> None:
        self.kafka = kafka
        self.letters = FakeDeadLetterSender()
        self.begun: list[int] = []
        self.handled: list[int] = []
        self.failures: dict[int, Exception] = {}
        self.gates: dict[int, asyncio.Event] = {}

    def create_consumer(self, **options: Any) -> WindowedConsumer:
        codec = Codec()
        return WindowedConsumer(
            FakeSettings(),
            group="g",
            topics=[SYNC_REQUESTS],
            handle=self.handle_record,
            codec=codec,
            schemas=SchemaDirectory(FakeSettings(), codec),
            dead_letters=DeadLetterWriter(self.letters, "test"),
            **options,
        )

    async def handle_record(self, record: IncomingRecord) -> None:
        self.begun.append(record.offset)
        if (gate := self.gates.get(record.offset)) is not None:
            await gate.wait()
        if (failure := self.failures.get(record.offset)) is not None:
            raise failure
        self.handled.append(record.offset)


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    kafka = FakeAiokafka(partitions=(0,))
    monkeypatch.setattr(GroupMember, "_create_client", lambda _: kafka)
    monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 0.02)
    return Bench(kafka)


async def stop_while(bench: Bench, consumer: WindowedConsumer, holds: Callable[[], bool]) -> None:
    async with run_consumer(consumer):
        await wait_until(holds)


async def rebalance_while(bench: Bench, consumer: WindowedConsumer, holds: Callable[[], bool]) -> None:
    """The partition leaves and comes back; what it was committed at then is what a new owner would begin with."""
    async with run_consumer(consumer):
        await wait_until(holds)
        bench.kafka.begin_rebalance()
        await wait_until(lambda: bench.kafka.joins == 2)


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_record_that_waits_for_its_retry_when_its_partition_leaves_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[1] = Unavailable("Postgres is away", retry_after_s=60)
    bench.kafka.write_requests(3)
    await leave(bench, bench.create_consumer(), lambda: 1 in bench.begun and bench.handled == [0, 2])
    assert bench.kafka.committed_offsets() == {1}


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_record_that_failed_of_a_bug_and_waits_when_its_partition_leaves_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[0] = ZeroDivisionError("a bug")
    bench.kafka.write_requests(2)
    await leave(bench, bench.create_consumer(backoff_s=60), lambda: 0 in bench.begun and bench.handled == [1])
    assert bench.kafka.committed_offsets() <= {0, None}
    assert bench.letters.values == []


async def test_a_record_that_was_never_begun_when_its_consumer_stops_is_not_committed(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(3)
    stopping = asyncio.Event()
    task = asyncio.create_task(bench.create_consumer(max_concurrent=1).consume_records(stopping))
    await wait_until(lambda: bench.begun == [0])
    stopping.set()
    # The poll under way ends, the release begins, and only then the first handler returns its slot.
    await asyncio.sleep(0.05)
    bench.gates[0].set()
    await task
    assert bench.begun == [0]
    assert bench.kafka.committed_offsets() == {1}


async def test_the_later_records_of_a_key_are_not_begun_once_their_partition_leaves(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(1)
    bench.kafka.write_requests(2, key=b"ds-0")
    stopping = asyncio.Event()
    task = asyncio.create_task(bench.create_consumer().consume_records(stopping))
    await wait_until(lambda: bench.begun == [0])
    stopping.set()
    await asyncio.sleep(0.05)
    bench.gates[0].set()
    await task
    assert bench.handled == [0]
    assert bench.kafka.committed_offsets() == {1}


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_rejected_record_whose_dead_letter_is_not_acknowledged_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[1] = Rejected("no such doc source")
    bench.letters.is_away = True
    bench.kafka.write_requests(3)
    consumer = bench.create_consumer(backoff_s=60)
    await leave(bench, consumer, lambda: bench.letters.attempts > 0 and bench.handled == [0, 2])
    assert bench.kafka.committed_offsets() == {1}


async def test_a_record_is_retried_until_it_succeeds_and_committed_only_then(bench: Bench) -> None:
    bench.failures[0] = Unavailable("not yet", retry_after_s=0.005)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: len(bench.begun) >= 3)
        assert bench.kafka.committed_offsets() <= {0, None}
        del bench.failures[0]
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})


async def test_work_that_is_cancelled_when_the_release_takes_too_long_is_not_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_consumer, "_RELEASE_AT_STOP_S", 0.05)
    bench.gates[1] = asyncio.Event()
    bench.kafka.write_requests(2)
    await stop_while(bench, bench.create_consumer(), lambda: bench.begun == [0, 1])
    assert bench.kafka.committed_offsets() == {1}


async def test_a_fatal_error_ends_the_consumer_and_its_record_is_not_committed(bench: Bench) -> None:
    bench.failures[0] = Fatal("the tables are of another version")
    bench.kafka.write_requests(1)
    with pytest.raises(ExceptionGroup) as failed:
        await asyncio.wait_for(bench.create_consumer().consume_records(asyncio.Event()), 5)
    assert failed.group_contains(Fatal, match="another version")
    assert bench.kafka.committed_offsets() <= {0, None}


async def test_no_more_than_the_window_is_in_flight(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(10)
    async with run_consumer(bench.create_consumer(window=4)):
        await wait_until(lambda: bench.handled == [1, 2, 3])
        await asyncio.sleep(0.03)  # a few more polls, which may not hand out more
        assert bench.begun == [0, 1, 2, 3]
        bench.gates[0].set()
        await wait_until(lambda: len(bench.handled) == 10)
