"""Batches, flushes and acknowledgements over a Kafka in memory."""

import asyncio
import weakref
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from aiokafka.partitioner import DefaultPartitioner

from mailroom_common.errors import Unavailable
from mailroom_common.kafka.headers import RawHeaders
from webhook_gateway.adapters import group_commit
from webhook_gateway.adapters.group_commit import (
    MAX_QUEUED_BATCHES,
    Batch,
    EncodedRecord,
    GroupCommit,
    choose_partition,
)


@dataclass
class FakeBatch:
    capacity: int = 1_000
    keys: list[bytes] = field(default_factory=list)

    def append(
        self, *, timestamp: int | None, key: bytes | None, value: bytes | None, headers: RawHeaders
    ) -> object | None:
        if len(self.keys) >= self.capacity:
            return None
        self.keys.append(key or b"")
        return object()


@dataclass
class FakeKafka:
    """Acknowledges when the test says so."""

    capacity: int = 1_000
    sent: list[tuple[int, list[bytes]]] = field(default_factory=list)
    acks: dict[int, list["asyncio.Future[object]"]] = field(default_factory=lambda: defaultdict(list))
    send_error: Exception | None = None
    sent_partitions: "asyncio.Queue[int]" = field(default_factory=asyncio.Queue)  # partitions

    def create_batch(self) -> Batch:
        return FakeBatch(self.capacity)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> "asyncio.Future[object]":
        if self.send_error:
            raise self.send_error
        assert isinstance(batch, FakeBatch)
        self.sent.append((partition, batch.keys))
        ack: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.acks[partition].append(ack)
        self.sent_partitions.put_nowait(partition)
        return ack

    def acknowledge_batch(self, partition: int) -> None:
        self.acks[partition].pop(0).set_result(None)

    def acknowledge_all(self) -> None:
        for waiting in self.acks.values():
            while waiting:
                waiting.pop(0).set_result(None)


def make_record(key: bytes) -> EncodedRecord:
    return EncodedRecord("t", key, b"v", [])


def create_group_commit(kafka: FakeKafka, partitions: int = 4) -> GroupCommit[list[EncodedRecord]]:
    return GroupCommit(lambda: kafka, lambda _topic: partitions, lambda records: records)


def find_keys(partition: int, count: int, partitions: int = 4) -> list[bytes]:
    found = [key for number in range(1_000) if choose_partition(key := b"k%d" % number, partitions) == partition]
    return found[:count]


async def run_turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def _long_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a few turns of the loop take longer than a flush waits for the one before it."""
    monkeypatch.setattr(group_commit, "MAX_LINGER_S", 60.0)


def test_partitions_are_those_of_every_other_client() -> None:
    for number in range(200):
        key = b"doc-source-%d" % number
        assert choose_partition(key, 48) == DefaultPartitioner()(key, list(range(48)), list(range(48)))


async def test_calls_of_one_turn_share_a_batch_and_its_acknowledgement() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    keys = find_keys(0, 3)

    waiting = [commits.submit_call([make_record(key)], 5.0) for key in keys]
    await run_turns()

    assert kafka.sent == [(0, keys)]
    assert not any(future.done() for future in waiting)
    kafka.acknowledge_batch(0)
    await run_turns()
    assert all(future.done() for future in waiting)


async def test_a_call_is_done_when_all_its_partitions_are_acknowledged() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)

    waiting = commits.submit_call([make_record(find_keys(0, 1)[0]), make_record(find_keys(1, 1)[0])], 5.0)
    await run_turns()
    kafka.acknowledge_batch(0)
    await run_turns()

    assert not waiting.done()
    kafka.acknowledge_batch(1)
    await run_turns()
    assert waiting.done()


async def test_one_batch_of_a_partition_is_in_flight_and_later_records_share_the_next() -> None:
    """Order in a partition, and batches that grow with the load."""
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    first, *later = find_keys(0, 4)

    commits.submit_call([make_record(first)], 5.0)
    await run_turns()
    for key in later:
        commits.submit_call([make_record(key)], 5.0)
        await run_turns()

    assert kafka.sent == [(0, [first])]
    kafka.acknowledge_batch(0)
    await run_turns()
    assert kafka.sent == [(0, [first]), (0, later)]


async def test_what_arrives_during_a_flush_leaves_together_once_all_of_that_is_acknowledged() -> None:
    """A request to Kafka with half the records costs as much as one with all."""
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    first, second = find_keys(0, 1)[0], find_keys(1, 1)[0]
    others = [find_keys(2, 1)[0], find_keys(3, 1)[0]]
    commits.submit_call([make_record(first), make_record(second)], 5.0)
    await run_turns()

    for key in [*others, *others]:
        commits.submit_call([make_record(key)], 5.0)
        await run_turns()
    kafka.acknowledge_batch(0)
    await run_turns()
    assert kafka.sent == [(0, [first]), (1, [second])]

    kafka.acknowledge_batch(1)
    await run_turns()
    assert kafka.sent[2:] == [(2, [others[0]] * 2), (3, [others[1]] * 2)]


async def test_a_partition_that_does_not_answer_delays_the_others_by_the_linger_time_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_commit, "MAX_LINGER_S", 0.01)
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    stuck = commits.submit_call([make_record(find_keys(0, 1)[0])], 5.0)
    await kafka.sent_partitions.get()

    for partition in (1, 2):
        waiting = commits.submit_call([make_record(find_keys(partition, 1)[0])], 5.0)
        assert await asyncio.wait_for(kafka.sent_partitions.get(), 2) == partition
        kafka.acknowledge_batch(partition)
        await asyncio.wait_for(waiting, 2)
    assert not stuck.done()


async def test_the_next_flush_follows_one_that_failed() -> None:
    kafka = FakeKafka(capacity=1)
    commits = create_group_commit(kafka)
    key = find_keys(0, 1)[0]
    kafka.send_error = RuntimeError("fenced")
    refused = [commits.submit_call([make_record(key)], 5.0) for _ in range(3)]

    await asyncio.wait_for(asyncio.gather(*refused, return_exceptions=True), 2)

    assert all(isinstance(one.exception(), RuntimeError) for one in refused)


async def test_a_full_batch_is_followed_by_another_in_order() -> None:
    kafka = FakeKafka(capacity=2)
    commits = create_group_commit(kafka)
    keys = find_keys(0, 5)

    waiting = commits.submit_call([make_record(key) for key in keys], 5.0)
    for _ in range(3):
        await run_turns()
        kafka.acknowledge_batch(0)
    await run_turns()

    assert [key for _, batch in kafka.sent for key in batch] == keys
    assert [len(batch) for _, batch in kafka.sent] == [2, 2, 1]
    assert waiting.done()


async def test_a_call_larger_than_the_queue_limit_is_written_while_kafka_answers() -> None:
    """Refused, it would be repeated and refused for ever."""
    kafka = FakeKafka(capacity=1)
    commits = create_group_commit(kafka)
    key = find_keys(0, 1)[0]

    large = commits.submit_call([make_record(key)] * (3 * MAX_QUEUED_BATCHES), 5.0)
    another = commits.submit_call([make_record(key)], 5.0)
    await run_turns()
    meanwhile = commits.submit_call([make_record(key)], 5.0)
    while kafka.acks[0]:
        kafka.acknowledge_batch(0)
        await run_turns()

    await asyncio.wait_for(asyncio.gather(large, another, meanwhile), 2)
    assert len(kafka.sent) == 3 * MAX_QUEUED_BATCHES + 2


async def test_what_could_not_be_written_in_time_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a leader is away nothing may pile up: providers repeat what was refused, and memory is all we have."""
    monkeypatch.setattr(group_commit, "STUCK_AFTER_S", 0.0)
    kafka = FakeKafka(capacity=1)
    commits = create_group_commit(kafka)
    key = find_keys(0, 1)[0]
    taken = [commits.submit_call([make_record(key)], 5.0)]
    await run_turns()
    taken += [commits.submit_call([make_record(key)], 5.0) for _ in range(MAX_QUEUED_BATCHES)]

    with pytest.raises(Unavailable, match="partition 0 of t"):
        await commits.submit_call([make_record(key)], 5.0)
    elsewhere = commits.submit_call([make_record(find_keys(1, 1)[0])], 5.0)
    for _ in taken:
        await run_turns()
        kafka.acknowledge_all()
    await run_turns()

    await asyncio.wait_for(asyncio.gather(*taken, elsewhere), 2)
    again = commits.submit_call([make_record(key)], 5.0)
    await run_turns()
    kafka.acknowledge_all()
    await asyncio.wait_for(again, 2)


async def test_a_failed_batch_fails_its_own_calls_and_no_others() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    kafka.send_error = RuntimeError("fenced")
    refused = commits.submit_call([make_record(find_keys(0, 1)[0])], 5.0)
    await run_turns()
    kafka.send_error = None
    fine = commits.submit_call([make_record(find_keys(1, 1)[0])], 5.0)
    again = commits.submit_call([make_record(find_keys(0, 1)[0])], 5.0)
    await run_turns()
    kafka.acknowledge_all()
    await run_turns()

    with pytest.raises(RuntimeError, match="fenced"):
        await refused
    await asyncio.gather(fine, again)


async def test_an_acknowledged_call_is_released_at_once() -> None:
    """Kept until its time is over, calls of a second or two would fill memory that no cache holds."""
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    waiting = commits.submit_call([make_record(find_keys(0, 1)[0])], 5.0)
    seen = weakref.ref(waiting)
    await run_turns()
    kafka.acknowledge_all()
    await waiting

    del waiting
    await run_turns()
    assert seen() is None


async def test_nothing_to_send_is_done_without_kafka() -> None:
    await asyncio.wait_for(create_group_commit(FakeKafka()).submit_call([], 5.0), 2)


async def test_a_call_that_cannot_be_encoded_fails_alone_and_nothing_of_it_is_sent() -> None:
    kafka = FakeKafka()
    good, bad = find_keys(0, 2)

    def encode_call(key: bytes) -> list[EncodedRecord]:
        if key == bad:
            raise OverflowError("too large")
        return [make_record(key)]

    commits = GroupCommit(lambda: kafka, lambda _topic: 4, encode_call)
    failed, fine = commits.submit_call(bad, 5.0), commits.submit_call(good, 5.0)
    await run_turns()
    kafka.acknowledge_all()

    with pytest.raises(OverflowError):
        await failed
    await asyncio.wait_for(fine, 2)
    assert kafka.sent == [(0, [good])]


async def test_calls_are_acknowledged_after_the_next_flush_has_left() -> None:
    """What their callers do then takes time, and Kafka would have nothing to do meanwhile."""
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    key = find_keys(0, 1)[0]
    first = commits.submit_call([make_record(key)], 5.0)
    await kafka.sent_partitions.get()
    commits.submit_call([make_record(key)], 5.0)
    await run_turns()

    kafka.acknowledge_batch(0)
    await kafka.sent_partitions.get()

    assert not first.done()
    await asyncio.wait_for(first, 2)


async def test_what_arrives_in_the_turn_of_an_acknowledgement_joins_the_flush_that_follows() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    key, other = find_keys(0, 1)[0], find_keys(1, 1)[0]
    for _ in range(2):
        commits.submit_call([make_record(key)], 5.0)
        await run_turns()

    kafka.acknowledge_batch(0)
    commits.submit_call([make_record(other)], 5.0)
    await run_turns()

    assert kafka.sent == [(0, [key]), (0, [key]), (1, [other])]


async def test_a_caller_that_gave_up_affects_no_other() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    key = find_keys(0, 1)[0]
    impatient, patient = commits.submit_call([make_record(key)], 5.0), commits.submit_call([make_record(key)], 5.0)
    await run_turns()

    impatient.cancel()
    kafka.acknowledge_batch(0)
    await run_turns()

    assert patient.done()
    assert not patient.cancelled()


async def test_a_call_that_takes_too_long_times_out_and_the_others_wait_on() -> None:
    kafka = FakeKafka()
    commits = create_group_commit(kafka)
    first, second = find_keys(0, 2)

    patient = commits.submit_call([make_record(first)], 5.0)
    impatient = commits.submit_call([make_record(second)], 0.05)
    hasty = commits.submit_call([make_record(second)], 0.02)

    for waiting in (impatient, hasty):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 2)
    assert not patient.done()
    kafka.acknowledge_batch(0)
    await asyncio.wait_for(patient, 2)
