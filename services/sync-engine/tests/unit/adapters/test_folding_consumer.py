"""What the folding consumer commits, and when a fold is closed, on aiokafka's own order of events."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiokafka import TopicPartition
from fake_aiokafka import (
    PARTITIONS,
    FakeAiokafka,
    FakeDeadLetterSender,
    FakeSettings,
    run_consumer,
    wait_until,
)
from structlog.testing import capture_logs

from mailroom_common.errors import Rejected
from mailroom_common.kafka import partition_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.topics import SYNC_REQUESTS
from sync_engine.adapters.folding_consumer import FoldingConsumer


@dataclass(eq=False)
class Fold:
    """Everything that it reads is settled at once."""

    offsets: list[int]
    ends: int = 0

    def read_record(self, record: IncomingRecord) -> None:
        self.offsets.append(record.offset)

    def find_committable_offset(self, position: int) -> int:
        return position

    def reached_end(self) -> None:
        self.ends += 1


@dataclass
class Bench:
    kafka: FakeAiokafka
    letters: FakeDeadLetterSender = field(default_factory=FakeDeadLetterSender)
    read: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    folds: dict[int, Fold] = field(default_factory=dict)

    def __post_init__(self) -> None:
        codec = Codec()
        self.consumer = FoldingConsumer(
            FakeSettings(),
            group="g",
            topics=[SYNC_REQUESTS],
            open_fold=self.open_fold,
            close_fold=self.close_fold,
            codec=codec,
            schemas=SchemaDirectory(FakeSettings(), codec),
            dead_letters=DeadLetterWriter(self.letters, "test"),
        )

    def open_fold(self, partition: Partition) -> Fold:
        assert partition.number not in self.folds, "opened again while the last owner still works on it"
        fold = self.folds[partition.number] = Fold(self.read[partition.number])
        return fold

    async def close_fold(self, partition: Partition) -> None:
        await asyncio.sleep(0.02 if partition.number == 0 else 0.01)
        del self.folds[partition.number]

    def has_read(self, offsets: set[int]) -> bool:
        return all(set(self.read[number]) == offsets for number in PARTITIONS)


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    kafka = FakeAiokafka()
    monkeypatch.setattr(GroupMember, "_create_client", lambda _: kafka)
    monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 0.02)
    return Bench(kafka)


async def let_commits_run(bench: Bench) -> None:
    """Long enough for several rounds of commits, each of which may not move what is asserted afterwards."""
    await asyncio.sleep(0.1)


async def stop_while(bench: Bench, holds: Callable[[], bool]) -> None:
    async with run_consumer(bench.consumer):
        await wait_until(holds)
        await let_commits_run(bench)


async def rebalance_while(bench: Bench, holds: Callable[[], bool]) -> None:
    async with run_consumer(bench.consumer):
        await wait_until(holds)
        bench.kafka.begin_rebalance()
        await wait_until(lambda: bench.kafka.joins == 2)
        assert bench.kafka.committed_offsets() == {1}


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_no_offset_past_an_undecodable_record_is_committed_before_its_dead_letter_is_acknowledged(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.letters.is_away = True
    bench.kafka.write_requests(1)
    bench.kafka.write_undecodable()
    bench.kafka.write_requests(1)
    await leave(bench, lambda: bench.letters.attempts >= 2 and bench.has_read({0, 2}))
    assert bench.kafka.committed_offsets() == {1}


async def test_offsets_past_an_undecodable_record_are_committed_once_its_dead_letter_is_acknowledged(
    bench: Bench,
) -> None:
    bench.letters.is_away = True
    bench.kafka.write_undecodable()
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.has_read({1}) and bench.letters.attempts >= 2)
        bench.letters.is_away = False
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.letters.values == [b"garbage", b"garbage"]


async def test_a_dead_letter_that_kafka_can_never_take_keeps_its_offset_and_reading_goes_on(bench: Bench) -> None:
    async def refuse(*_: object, **__: object) -> object:
        raise Rejected("larger than the topic allows")

    bench.letters.send_raw = refuse  # type: ignore[method-assign]  # this one test's Kafka
    bench.kafka.write_requests(1)
    bench.kafka.write_undecodable()
    bench.kafka.write_requests(1)
    with capture_logs() as logs:
        async with run_consumer(bench.consumer):
            await wait_until(lambda: bench.has_read({0, 2}))
            await let_commits_run(bench)
    assert bench.kafka.committed_offsets() == {1}
    refused = [entry for entry in logs if entry["event"] == "dead_letter_refused"]
    assert {(entry["log_level"], entry["partition"], entry["offset"]) for entry in refused} == {
        ("error", number, 1) for number in PARTITIONS
    }


async def test_a_bug_in_dead_lettering_ends_the_consumer(bench: Bench) -> None:
    async def crash(*_: object, **__: object) -> object:
        raise RuntimeError("a bug")

    bench.letters.send_raw = crash  # type: ignore[method-assign]  # this one test's Kafka
    bench.kafka.write_undecodable()
    with pytest.raises(ExceptionGroup) as failed:
        await asyncio.wait_for(bench.consumer.consume_records(asyncio.Event()), 5)
    assert failed.group_contains(RuntimeError)
    assert bench.kafka.committed_offsets() <= {0, None}


async def test_a_bug_in_closing_a_fold_is_not_swallowed(bench: Bench) -> None:
    async def crash(_: Partition) -> None:
        raise RuntimeError("a bug")

    bench.consumer._close_fold = crash
    bench.kafka.write_requests(1)
    with pytest.raises(RuntimeError, match="a bug"):
        async with run_consumer(bench.consumer):
            await wait_until(lambda: bench.has_read({0}))


@pytest.mark.parametrize("who_notices", ["commit", "heartbeat", "heartbeat after the commit"])
async def test_partitions_that_come_back_after_a_refused_commit_are_read_again_and_their_folds_opened_once(
    bench: Bench, who_notices: str
) -> None:
    bench.kafka.who_notices = who_notices
    bench.kafka.forgets_after_join = 1
    bench.kafka.write_requests(3)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.kafka.joins == 2)
        bench.kafka.write_requests(2)
        await wait_until(lambda: bench.has_read({0, 1, 2, 3, 4}))
        await wait_until(lambda: bench.kafka.committed_offsets() == {5})
    assert dict(bench.read) == {number: [0, 1, 2, 0, 1, 2, 3, 4] for number in PARTITIONS}
    assert bench.folds == {}


async def test_the_end_is_reported_once_and_again_after_more_records(bench: Bench) -> None:
    bench.kafka.write_requests(2)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: [fold.ends for fold in bench.folds.values()] == [1, 1])
        await asyncio.sleep(0.03)  # several polls that bring nothing
        assert [fold.ends for fold in bench.folds.values()] == [1, 1]
        bench.kafka.write_requests(1)
        await wait_until(lambda: [fold.ends for fold in bench.folds.values()] == [2, 2])
        await asyncio.sleep(0.03)
        assert [fold.ends for fold in bench.folds.values()] == [2, 2]


async def test_the_end_of_an_empty_partition_is_reported(bench: Bench) -> None:
    async with run_consumer(bench.consumer):
        await wait_until(lambda: [fold.ends for fold in bench.folds.values()] == [1, 1])
    assert dict(bench.read) == {number: [] for number in PARTITIONS}


async def test_what_compaction_removed_at_the_end_is_committed_too(bench: Bench) -> None:
    bench.kafka.write_requests(2)
    for records in bench.kafka.records.values():
        records.pop()
        bench.kafka.compacted = 1
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.has_read({0})


async def test_a_dead_letter_says_that_there_was_one_attempt(bench: Bench) -> None:
    bench.kafka.write_undecodable()
    async with run_consumer(bench.consumer):
        await wait_until(lambda: len(bench.letters.headers) == len(PARTITIONS))
    assert {headers["dlq-attempts"] for headers in bench.letters.headers} == {b"1"}


async def test_what_is_behind_a_record_whose_schema_is_not_known_yet_is_not_committed(bench: Bench) -> None:
    bench.kafka.write_requests(2)
    bench.kafka.write_of_unknown_schema()
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.consumer.check_readiness() is not None and bench.has_read({0, 1}))
        await let_commits_run(bench)
        assert bench.kafka.committed_offsets() == {2}
    assert bench.kafka.committed_offsets() == {2}


async def test_a_dead_letter_that_is_being_written_for_a_lost_partition_is_cancelled(bench: Bench) -> None:
    cancelled: list[bool] = []

    async def write_for_ever(*_: object, **__: object) -> object:
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    bench.letters.send_raw = write_for_ever  # type: ignore[method-assign]  # this one test's Kafka
    bench.kafka.who_notices = "heartbeat after the commit"
    bench.kafka.forgets_after_join = 1
    bench.kafka.write_requests(1)
    bench.kafka.write_undecodable()
    stopping = asyncio.Event()
    consuming = asyncio.create_task(bench.consumer.consume_records(stopping))
    # Waited for until the release gives up, it would hold up the rejoin for 20 s.
    await wait_until(lambda: bench.kafka.joins == 2)
    assert len(cancelled) == len(PARTITIONS)
    consuming.cancel()
    await asyncio.gather(consuming, return_exceptions=True)


async def test_the_end_is_not_reported_to_a_fold_that_was_closed_while_the_position_was_asked_for(
    bench: Bench,
) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()
    read_position = bench.kafka.position

    async def answer_late(partition: TopicPartition) -> int:
        asked.set()
        await go_on.wait()
        return await read_position(partition)

    bench.kafka.position = answer_late  # type: ignore[method-assign]  # this one test's Kafka
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await asked.wait()
        closed = list(bench.folds.values())
        bench.kafka.begin_rebalance()
        await wait_until(lambda: bench.kafka.joins == 2)
        go_on.set()
        await wait_until(lambda: [fold.ends for fold in bench.folds.values()] == [1, 1])
        assert [fold.ends for fold in closed] == [0, 0]
