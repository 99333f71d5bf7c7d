import asyncio
import weakref
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from aiokafka.partitioner import DefaultPartitioner

from mailroom_common.errors import Unavailable
from mailroom_common.kafka import group_commit
from mailroom_common.kafka.group_commit import MOST_OPEN_BATCHES, Batch, GroupCommit, RawOutgoing, partition_of
from mailroom_common.kafka.headers import RawHeaders


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
    """Acknowledges when told to."""

    capacity: int = 1_000
    sent: list[tuple[int, list[bytes]]] = field(default_factory=list)
    acks: dict[int, list["asyncio.Future[object]"]] = field(default_factory=lambda: defaultdict(list))
    refuses: Exception | None = None
    handed_over: "asyncio.Queue[int]" = field(default_factory=asyncio.Queue)  # partitions

    def create_batch(self) -> Batch:
        return FakeBatch(self.capacity)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> "asyncio.Future[object]":
        if self.refuses:
            raise self.refuses
        assert isinstance(batch, FakeBatch)
        self.sent.append((partition, batch.keys))
        ack: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.acks[partition].append(ack)
        self.handed_over.put_nowait(partition)
        return ack

    def acknowledge(self, partition: int) -> None:
        self.acks[partition].pop(0).set_result(None)

    def acknowledge_all(self) -> None:
        for waiting in self.acks.values():
            while waiting:
                waiting.pop(0).set_result(None)


def record(key: bytes) -> RawOutgoing:
    return RawOutgoing("t", key, b"v", [])


def group(kafka: FakeKafka, partitions: int = 4) -> GroupCommit[list[RawOutgoing]]:
    return GroupCommit(lambda: kafka, lambda _topic: partitions, lambda records: records)


def keys_of(partition: int, count: int, partitions: int = 4) -> list[bytes]:
    found = [key for number in range(1_000) if partition_of(key := b"k%d" % number, partitions) == partition]
    return found[:count]


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a few turns of the loop take longer than a wave waits for the one before it."""
    monkeypatch.setattr(group_commit, "HELD_AT_MOST_S", 60.0)


def test_partitions_are_those_of_every_other_client() -> None:
    for number in range(200):
        key = b"doc-source-%d" % number
        assert partition_of(key, 48) == DefaultPartitioner()(key, list(range(48)), list(range(48)))


async def test_senders_of_one_turn_share_a_batch_and_its_acknowledgement() -> None:
    kafka = FakeKafka()
    commits = group(kafka)
    keys = keys_of(0, 3)

    waiting = [commits.send([record(key)], 5.0) for key in keys]
    await turns()

    assert kafka.sent == [(0, keys)]
    assert not any(future.done() for future in waiting)
    kafka.acknowledge(0)
    await turns()
    assert all(future.done() for future in waiting)


async def test_a_sender_waits_for_all_its_partitions() -> None:
    kafka = FakeKafka()
    commits = group(kafka)

    waiting = commits.send([record(keys_of(0, 1)[0]), record(keys_of(1, 1)[0])], 5.0)
    await turns()
    kafka.acknowledge(0)
    await turns()

    assert not waiting.done()
    kafka.acknowledge(1)
    await turns()
    assert waiting.done()


async def test_one_batch_a_partition_is_on_its_way_and_what_comes_meanwhile_is_the_next() -> None:
    """Order in a partition, and batches that grow with the load."""
    kafka = FakeKafka()
    commits = group(kafka)
    first, *later = keys_of(0, 4)

    commits.send([record(first)], 5.0)
    await turns()
    for key in later:
        commits.send([record(key)], 5.0)
        await turns()

    assert kafka.sent == [(0, [first])]
    kafka.acknowledge(0)
    await turns()
    assert kafka.sent == [(0, [first]), (0, later)]


async def test_what_comes_while_a_wave_is_on_its_way_goes_together_once_all_of_it_is_acknowledged() -> None:
    """Half a wave to Kafka costs as much as a whole one."""
    kafka = FakeKafka()
    commits = group(kafka)
    first, second = keys_of(0, 1)[0], keys_of(1, 1)[0]
    others = [keys_of(2, 1)[0], keys_of(3, 1)[0]]
    commits.send([record(first), record(second)], 5.0)
    await turns()

    for key in [*others, *others]:
        commits.send([record(key)], 5.0)
        await turns()
    kafka.acknowledge(0)
    await turns()
    assert kafka.sent == [(0, [first]), (1, [second])]

    kafka.acknowledge(1)
    await turns()
    assert kafka.sent[2:] == [(2, [others[0]] * 2), (3, [others[1]] * 2)]


async def test_a_partition_that_does_not_answer_holds_the_others_for_moments_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_commit, "HELD_AT_MOST_S", 0.01)
    kafka = FakeKafka()
    commits = group(kafka)
    stuck = commits.send([record(keys_of(0, 1)[0])], 5.0)
    await kafka.handed_over.get()

    for partition in (1, 2):
        waiting = commits.send([record(keys_of(partition, 1)[0])], 5.0)
        assert await asyncio.wait_for(kafka.handed_over.get(), 2) == partition
        kafka.acknowledge(partition)
        await asyncio.wait_for(waiting, 2)
    assert not stuck.done()


async def test_a_wave_follows_one_that_was_refused() -> None:
    kafka = FakeKafka(capacity=1)
    commits = group(kafka)
    key = keys_of(0, 1)[0]
    kafka.refuses = RuntimeError("fenced")
    refused = [commits.send([record(key)], 5.0) for _ in range(3)]

    await asyncio.wait_for(asyncio.gather(*refused, return_exceptions=True), 2)

    assert all(isinstance(one.exception(), RuntimeError) for one in refused)


async def test_a_full_batch_is_followed_by_another_in_order() -> None:
    kafka = FakeKafka(capacity=2)
    commits = group(kafka)
    keys = keys_of(0, 5)

    waiting = commits.send([record(key) for key in keys], 5.0)
    for _ in range(3):
        await turns()
        kafka.acknowledge(0)
    await turns()

    assert [key for _, batch in kafka.sent for key in batch] == keys
    assert [len(batch) for _, batch in kafka.sent] == [2, 2, 1]
    assert waiting.done()


async def test_a_push_larger_than_what_may_wait_is_taken_while_kafka_answers() -> None:
    """Refused, it would come again and be refused for ever."""
    kafka = FakeKafka(capacity=1)
    commits = group(kafka)
    key = keys_of(0, 1)[0]

    large = commits.send([record(key)] * (3 * MOST_OPEN_BATCHES), 5.0)
    another = commits.send([record(key)], 5.0)
    await turns()
    meanwhile = commits.send([record(key)], 5.0)
    while kafka.acks[0]:
        kafka.acknowledge(0)
        await turns()

    await asyncio.wait_for(asyncio.gather(large, another, meanwhile), 2)
    assert len(kafka.sent) == 3 * MOST_OPEN_BATCHES + 2


async def test_what_could_not_be_written_in_time_anyway_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a leader is away nothing may pile up: providers repeat what was refused, and memory is all we have."""
    monkeypatch.setattr(group_commit, "STUCK_AFTER_S", 0.0)
    kafka = FakeKafka(capacity=1)
    commits = group(kafka)
    key = keys_of(0, 1)[0]
    taken = [commits.send([record(key)], 5.0)]
    await turns()
    taken += [commits.send([record(key)], 5.0) for _ in range(MOST_OPEN_BATCHES)]

    with pytest.raises(Unavailable, match="partition 0 of t"):
        await commits.send([record(key)], 5.0)
    elsewhere = commits.send([record(keys_of(1, 1)[0])], 5.0)
    for _ in taken:
        await turns()
        kafka.acknowledge_all()
    await turns()

    await asyncio.wait_for(asyncio.gather(*taken, elsewhere), 2)
    again = commits.send([record(key)], 5.0)
    await turns()
    kafka.acknowledge_all()
    await asyncio.wait_for(again, 2)


async def test_a_refused_batch_fails_those_who_wait_for_it_and_nobody_else() -> None:
    kafka = FakeKafka()
    commits = group(kafka)
    kafka.refuses = RuntimeError("fenced")
    refused = commits.send([record(keys_of(0, 1)[0])], 5.0)
    await turns()
    kafka.refuses = None
    fine = commits.send([record(keys_of(1, 1)[0])], 5.0)
    again = commits.send([record(keys_of(0, 1)[0])], 5.0)
    await turns()
    kafka.acknowledge_all()
    await turns()

    with pytest.raises(RuntimeError, match="fenced"):
        await refused
    await asyncio.gather(fine, again)


async def test_who_has_the_acknowledgement_is_forgotten_at_once() -> None:
    """Kept until its time is over, each would be a second or two of memory that no cache has."""
    kafka = FakeKafka()
    commits = group(kafka)
    waiting = commits.send([record(keys_of(0, 1)[0])], 5.0)
    seen = weakref.ref(waiting)
    await turns()
    kafka.acknowledge_all()
    await waiting

    del waiting
    await turns()
    assert seen() is None


async def test_nothing_to_send_is_done_without_kafka() -> None:
    await asyncio.wait_for(group(FakeKafka()).send([], 5.0), 2)


async def test_a_call_that_cannot_be_encoded_fails_alone_and_nothing_of_it_is_sent() -> None:
    kafka = FakeKafka()
    good, bad = keys_of(0, 2)

    def records_of(key: bytes) -> list[RawOutgoing]:
        if key == bad:
            raise OverflowError("too large")
        return [record(key)]

    commits = GroupCommit(lambda: kafka, lambda _topic: 4, records_of)
    failed, fine = commits.send(bad, 5.0), commits.send(good, 5.0)
    await turns()
    kafka.acknowledge_all()

    with pytest.raises(OverflowError):
        await failed
    await asyncio.wait_for(fine, 2)
    assert kafka.sent == [(0, [good])]


async def test_those_of_a_wave_are_told_once_the_next_is_handed_over() -> None:
    """What they do then takes its time, and Kafka would have nothing to do meanwhile."""
    kafka = FakeKafka()
    commits = group(kafka)
    key = keys_of(0, 1)[0]
    first = commits.send([record(key)], 5.0)
    await kafka.handed_over.get()
    commits.send([record(key)], 5.0)
    await turns()

    kafka.acknowledge(0)
    await kafka.handed_over.get()

    assert not first.done()
    await asyncio.wait_for(first, 2)


async def test_what_comes_in_the_turn_of_an_acknowledgement_goes_with_the_wave_that_follows_it() -> None:
    kafka = FakeKafka()
    commits = group(kafka)
    key, other = keys_of(0, 1)[0], keys_of(1, 1)[0]
    for _ in range(2):
        commits.send([record(key)], 5.0)
        await turns()

    kafka.acknowledge(0)
    commits.send([record(other)], 5.0)
    await turns()

    assert kafka.sent == [(0, [key]), (0, [key]), (1, [other])]


async def test_a_sender_that_gave_up_harms_nobody() -> None:
    kafka = FakeKafka()
    commits = group(kafka)
    key = keys_of(0, 1)[0]
    impatient, patient = commits.send([record(key)], 5.0), commits.send([record(key)], 5.0)
    await turns()

    impatient.cancel()
    kafka.acknowledge(0)
    await turns()

    assert patient.done()
    assert not patient.cancelled()


async def test_whoever_waits_too_long_gets_a_timeout_and_the_others_wait_on() -> None:
    kafka = FakeKafka()
    commits = group(kafka)
    first, second = keys_of(0, 2)

    patient = commits.send([record(first)], 5.0)
    impatient = commits.send([record(second)], 0.05)
    hasty = commits.send([record(second)], 0.02)

    for waiting in (impatient, hasty):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 2)
    assert not patient.done()
    kafka.acknowledge(0)
    await asyncio.wait_for(patient, 2)
