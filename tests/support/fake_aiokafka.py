"""A stand-in for aiokafka's consumer with its order of events, and what else a consumer's unit test needs."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import fastavro
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, UnknownMemberIdError

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason, SyncRequest
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.kafka.partition_consumer import PartitionConsumer
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.topics import SYNC_REQUESTS, Topic

AT = datetime(2026, 11, 28, tzinfo=UTC)
PARTITIONS = (0, 1)


@dataclass(frozen=True)
class FakeSettings:
    kafka_bootstrap: str = "nowhere:9092"
    topic_prefix: str = "t."
    instance_id: str | None = None
    kafka_security: KafkaSecurity = UNSECURED


@dataclass(frozen=True)
class FakeRecord:
    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: int = 1_795_000_000_000
    headers: tuple[tuple[str, bytes], ...] = ()


class FakeAiokafka:
    """As much of AIOKafkaConsumer as `GroupMember` uses, and its coordinator with the awaits that it has (0.14):
    a commit is shielded; its refusal asks for the rejoin first and is raised then; the coordination waits for that.
    """

    def __init__(self, partitions: Collection[int] = PARTITIONS, topic: Topic = SYNC_REQUESTS) -> None:
        self.names = {FakeSettings.topic_prefix + topic.name}
        self.owned = {TopicPartition(name, number) for name in self.names for number in partitions}
        self.records: dict[TopicPartition, list[FakeRecord]] = {partition: [] for partition in self.owned}
        self.committed: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.polled: list[set[int]] = []  # the partitions' numbers of each poll
        self.is_stopped = False
        self.joins = 0
        self.failed_commits = 0
        self.commits: list[dict[int, int]] = []  # offsets by partition number, of each commit that succeeded
        self.compacted = 0  # offsets at the end of each partition whose records are gone
        self.is_forgotten = False  # the session has run out, and this member does not know yet
        self.forgets_after_join: int | None = None
        self.who_notices = "commit"
        self.failure: Exception | None = None
        self._fetcher = SimpleNamespace(_fetch_max_wait_ms=0)
        self._rejoin_is_needed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_rejoining = False
        self._coordination: asyncio.Task[None] | None = None

    def write_requests(
        self, count: int, *, key: bytes | None = None, headers: tuple[tuple[str, bytes], ...] = ()
    ) -> None:
        """`count` requests in each partition, each with a key of its own unless one is given."""
        for partition, records in self.records.items():
            for _ in range(count):
                offset = len(records)
                value = Codec().encode(sync_request(f"ds-{offset}"))
                record_key = b"ds-%d" % offset if key is None else key
                records.append(
                    FakeRecord(partition.topic, partition.partition, offset, record_key, value, headers=headers)
                )

    def write_undecodable(self) -> None:
        self.write_value(b"bad", b"garbage")

    def write_value(self, key: bytes, value: bytes) -> None:
        """One record in each partition."""
        for partition, records in self.records.items():
            records.append(FakeRecord(partition.topic, partition.partition, len(records), key, value))

    def write_of_unknown_schema(self) -> FakeRecord:
        """A request of a later version in each partition; what is returned is the record of `schemas` that makes it
        readable."""
        schema = json.loads(load_packaged_schemas()[SYNC_REQUESTS.name][-1].text)
        body = BytesIO(Codec().encode(sync_request("ds-new"))[len(MARKER) + 8 :])
        values = fastavro.schemaless_reader(body, fastavro.parse_schema(schema))
        schema["fields"].append({"name": "colour", "type": ["null", "string"], "default": None})
        out = BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), values)
        fingerprint = compute_fingerprint(schema)
        self.write_value(b"new", MARKER + fingerprint + out.getvalue())
        return FakeRecord("schemas", 0, 0, fingerprint.hex().encode(), json.dumps(schema).encode())

    def begin_rebalance(self) -> None:
        self._request_rejoin()

    def committed_offsets(self) -> set[int | None]:
        """Over the partitions: one value when they stand alike."""
        return {self.committed.get(partition) for partition in self.owned}

    async def start(self) -> None: ...

    async def stop(self) -> None:
        self.is_stopped = True
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
    ) -> dict[TopicPartition, list[FakeRecord]]:
        self.polled.append({partition.partition for partition in wanted or self.owned})
        await asyncio.sleep(0.002)
        found = {}
        if self.joins and not self._is_rejoining:
            for partition in wanted or self.owned:
                if records := self.records[partition][self.positions[partition] :]:
                    found[partition] = records
                    self.positions[partition] += len(records)
        return found

    def highwater(self, partition: TopicPartition) -> int:
        return len(self.records[partition]) + self.compacted

    async def position(self, partition: TopicPartition) -> int:
        return self.positions[partition] + self.compacted

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        try:
            await asyncio.shield(self._do_commit(offsets))
        except UnknownMemberIdError as error:
            raise CommitFailedError from error

    async def _do_commit(self, offsets: dict[TopicPartition, int]) -> None:
        if self.is_forgotten and self.who_notices == "heartbeat":
            self._request_rejoin()
        await asyncio.sleep(0.005)  # the broker's answer
        if self.failure is not None:
            self.failed_commits += 1
            raise self.failure
        if not self.is_forgotten:
            self.committed.update(offsets)
            self.commits.append({partition.partition: offset for partition, offset in offsets.items()})
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


def sync_request(key: str) -> SyncRequest:
    return SyncRequest(
        event_id=f"e-{key}",
        occurred_at=AT,
        tenant_id="acme",
        doc_source_id=key,
        reasons=[SyncReason.MANUAL],
        first_requested_at=AT,
    )


@dataclass
class FakeDeadLetterSender:
    """Kafka's dead-letter topics; while `is_away` nothing is acknowledged."""

    is_away: bool = False
    attempts: int = 0
    values: list[bytes | None] = field(default_factory=list)
    headers: list[dict[str, bytes]] = field(default_factory=list)

    def dead_letter_topic_name(self, topic: Topic) -> str:
        return topic.dead_letter_topic

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        self.attempts += 1
        if self.is_away:
            raise Unavailable("not acknowledged")
        self.values.append(value)
        self.headers.append(dict(headers))
        return None


@asynccontextmanager
async def run_consumer(consumer: PartitionConsumer[Any]) -> AsyncIterator[asyncio.Task[None]]:
    """Runs the consumer for the block, then stops it gracefully."""
    stopping = asyncio.Event()
    task = asyncio.create_task(consumer.consume_records(stopping))
    try:
        yield task
    finally:
        stopping.set()
        await task


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # what is waited for is in the records of the stubs
            await asyncio.sleep(0.002)
