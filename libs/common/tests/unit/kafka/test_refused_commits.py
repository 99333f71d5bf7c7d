"""Both runners, when a commit is refused or does not get through, on aiokafka's own order of events.

On real Kafka `tests/integration/kafka/test_frozen_member.py` has the same; there nobody chooses who wakes first.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaError, UnknownMemberIdError

from mailroom_common.events import SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.folding import FoldingConsumer
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import SYNC_REQUESTS, Topic

AT = datetime(2026, 11, 28, tzinfo=UTC)
PARTITIONS = (0, 1)


@dataclass(frozen=True)
class Settings:
    kafka_bootstrap: str = "nowhere:9092"
    topic_prefix: str = "t."
    instance_id: str | None = None


@dataclass(frozen=True)
class Record:
    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: int = 1_795_000_000_000
    headers: tuple[tuple[str, bytes], ...] = ()


class Aiokafka:
    """As much of AIOKafkaConsumer as `Membership` uses, and its coordinator with the awaits that it has (0.14):
    a commit is shielded; its refusal asks for the rejoin first and is raised then; the coordination waits for that.
    """

    def __init__(self) -> None:
        self.names = {Settings.topic_prefix + SYNC_REQUESTS.name}
        self.owned = {TopicPartition(name, number) for name in self.names for number in PARTITIONS}
        self.records: dict[TopicPartition, list[Record]] = {partition: [] for partition in self.owned}
        self.committed: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.joins = 0
        self.commits = 0
        self.is_forgotten = False  # the session has run out, and this member does not know yet
        self.forgets_after_join: int | None = None
        self.who_notices = "commit"
        self.failure: Exception | None = None
        self._rejoin_is_needed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_rejoining = False
        self._coordination: asyncio.Task[None] | None = None

    def write(self, count: int) -> None:
        for partition, records in self.records.items():
            for _ in range(count):
                offset = len(records)
                value = Codec().encode(request(f"ds-{offset}"))
                records.append(Record(partition.topic, partition.partition, offset, b"ds-%d" % offset, value))

    async def start(self) -> None: ...

    async def stop(self) -> None:
        if self._coordination is not None:
            self._coordination.cancel()

    async def topics(self) -> set[str]:
        return self.names

    def subscribe(self, topics: Collection[str], listener: ConsumerRebalanceListener) -> None:
        self._coordination = asyncio.create_task(self._coordinate(listener))

    def assignment(self) -> set[TopicPartition]:
        return self.owned

    async def getmany(
        self, *wanted: TopicPartition, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, list[Record]]:
        await asyncio.sleep(0.002)
        found = {}
        if self.joins and not self._is_rejoining:
            for partition in wanted or self.owned:
                if records := self.records[partition][self.positions[partition] :]:
                    found[partition] = records
                    self.positions[partition] += len(records)
        return found

    def highwater(self, partition: TopicPartition) -> int:
        return len(self.records[partition])

    async def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        try:
            await asyncio.shield(self._do_commit(offsets))
        except UnknownMemberIdError as error:
            raise CommitFailedError from error

    async def _do_commit(self, offsets: dict[TopicPartition, int]) -> None:
        self.commits += 1
        if self.is_forgotten and self.who_notices == "heartbeat":
            self._request_rejoin()
        await asyncio.sleep(0.005)  # the broker's answer
        if self.failure is not None:
            raise self.failure
        if not self.is_forgotten:
            self.committed.update(offsets)
            return
        if self.who_notices == "commit":
            self._request_rejoin()
        elif self.who_notices == "heartbeat after the commit" and not self._is_rejoining:
            asyncio.get_running_loop().call_later(0.005, self._request_rejoin)
        raise UnknownMemberIdError

    def _request_rejoin(self) -> None:
        if not self._rejoin_is_needed.done():
            self._rejoin_is_needed.set_result(None)

    async def _coordinate(self, listener: ConsumerRebalanceListener) -> None:
        while True:
            self._is_rejoining = True
            await listener.on_partitions_revoked(self.owned if self.joins else set())
            await asyncio.sleep(0.002)  # JoinGroup, SyncGroup
            self._rejoin_is_needed = asyncio.get_running_loop().create_future()
            self.positions = {partition: self.committed.get(partition, 0) for partition in self.owned}
            self._is_rejoining = False
            self.joins += 1
            self.is_forgotten = self.joins == self.forgets_after_join
            await listener.on_partitions_assigned(self.owned)
            await asyncio.wait([self._rejoin_is_needed], return_when=asyncio.FIRST_COMPLETED)


def request(key: str) -> SyncRequest:
    return SyncRequest(
        event_id=f"e-{key}",
        occurred_at=AT,
        tenant_id="acme",
        doc_source_id=key,
        reasons=[SyncReason.MANUAL],
        first_requested_at=AT,
    )


class NoLetters:
    def dead_letter_topic_name(self, topic: Topic) -> str:
        return topic.dead_letter_topic

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        raise AssertionError("nothing here is poison")


@dataclass(eq=False)
class Fold:
    """All that it reads is done at once."""

    read_so_far: list[int]

    def read(self, record: IncomingRecord) -> None:
        self.read_so_far.append(record.offset)

    def committable(self, position: int) -> int:
        return position

    def reached_end(self) -> None: ...


@dataclass
class Bench:
    kind: str
    kafka: Aiokafka
    taken: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    open_now: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        codec = Codec()
        schemas, letters = SchemaDirectory(Settings(), codec), DeadLetterWriter(NoLetters(), "test")
        self.consumer: WindowedConsumer | FoldingConsumer
        if self.kind == "windowed":
            self.consumer = WindowedConsumer(
                Settings(),
                group="g",
                topics=[SYNC_REQUESTS],
                handle=self.handle,
                codec=codec,
                schemas=schemas,
                dead_letters=letters,
            )
        else:
            self.consumer = FoldingConsumer(
                Settings(),
                group="g",
                topics=[SYNC_REQUESTS],
                opened=self.opened,
                closed=self.closed,
                codec=codec,
                schemas=schemas,
                dead_letters=letters,
            )

    async def handle(self, record: IncomingRecord) -> None:
        self.taken[record.partition].append(record.offset)

    def opened(self, partition: Partition) -> Fold:
        assert partition.number not in self.open_now, "opened anew while the last owner still works on it"
        self.open_now.add(partition.number)
        return Fold(self.taken[partition.number])

    async def closed(self, partition: Partition) -> None:
        await asyncio.sleep(0.02 if partition.number == 0 else 0.01)
        self.open_now.remove(partition.number)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stopping = asyncio.Event()
        task = asyncio.create_task(self.consumer.consume_records(stopping))
        try:
            yield
        finally:
            stopping.set()
            await task

    def has_taken(self, count: int) -> bool:
        return all(set(self.taken[number]) == set(range(count)) for number in PARTITIONS)

    def has_committed(self, offset: int) -> bool:
        return all(self.kafka.committed.get(partition) == offset for partition in self.kafka.owned)


@pytest.fixture(params=["windowed", "folding"])
async def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bench:
    kafka = Aiokafka()
    monkeypatch.setattr(GroupMember, "_make", lambda _: kafka)
    monkeypatch.setattr(f"mailroom_common.kafka.{request.param}._COMMIT_EVERY_S", 0.05)
    return Bench(request.param, kafka)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(2):
        while not holds():  # noqa: ASYNC110  # what is waited for is in the records of the stubs
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("who_notices", ["commit", "heartbeat", "heartbeat after the commit"])
async def test_partitions_that_come_back_after_a_refused_commit_are_read_and_committed(
    bench: Bench, who_notices: str
) -> None:
    bench.kafka.who_notices = who_notices
    bench.kafka.forgets_after_join = 1
    bench.kafka.write(3)
    async with bench.running():
        await until(lambda: bench.kafka.joins == 2)
        bench.kafka.write(2)
        await until(lambda: bench.has_taken(5))
        await until(lambda: bench.has_committed(5))
    # The three were not committed, so they came again; nothing came a third time, and order held.
    assert dict(bench.taken) == {number: [0, 1, 2, 0, 1, 2, 3, 4] for number in PARTITIONS}


@pytest.mark.parametrize("failure", [KafkaError("not now"), TimeoutError()])
async def test_a_commit_that_did_not_get_through_is_sent_again_though_nothing_new_came(
    bench: Bench, failure: Exception
) -> None:
    bench.kafka.failure = failure
    bench.kafka.write(3)
    async with bench.running():
        await until(lambda: bench.kafka.commits > 0)
        await asyncio.sleep(0.01)
        assert not bench.has_committed(3)
        bench.kafka.failure = None
        await until(lambda: bench.has_committed(3))


async def test_a_commit_that_did_not_get_through_is_sent_again_when_the_partitions_leave(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.kafka.failure = KafkaError("not now")
    bench.kafka.write(3)
    async with bench.running():
        await until(lambda: bench.kafka.commits > 0)
        await asyncio.sleep(0.01)
        monkeypatch.setattr(f"mailroom_common.kafka.{bench.kind}._COMMIT_EVERY_S", 60)
        bench.kafka.failure = None
    assert bench.has_committed(3)
