"""The folding consumer on real Kafka: what a fold sees, what is committed, and how a partition changes hands."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO

import fastavro
import pytest
from fake_aiokafka import sync_request
from kafka_site import KafkaSite, create_kafka_site, eventually, run_consumer

from mailroom_common.events import SyncRequest
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.topics import SCHEMAS, SYNC_REQUESTS
from sync_engine.adapters.folding_consumer import FoldingConsumer

pytestmark = pytest.mark.stack

GROUP = "mailroom.test.folding"
AT = datetime(2026, 11, 28, tzinfo=UTC)


def encoded(key: str) -> bytes:
    return Codec().encode(sync_request(key))


@dataclass
class Fold:
    """Remembers what it read; a tombstone clears its key, as a work table would have it."""

    read_so_far: list[IncomingRecord] = field(default_factory=list)
    pending: dict[str, int] = field(default_factory=dict)
    ends: int = 0

    def read_record(self, record: IncomingRecord) -> None:
        self.read_so_far.append(record)
        if record.value is None:
            self.pending.pop(record.key, None)
        else:
            self.pending[record.key] = record.offset

    def find_committable_offset(self, position: int) -> int:
        return min(self.pending.values(), default=position)

    def reached_end(self) -> None:
        self.ends += 1

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.read_so_far]


class Running:
    def __init__(self, site: KafkaSite, producer: EventProducer) -> None:
        self.codec = Codec()
        self.schemas = SchemaDirectory(site, self.codec)
        self.stopping = asyncio.Event()
        self.folds: dict[int, Fold] = {}
        self.closed: list[int] = []
        self.consumer = FoldingConsumer(
            site,
            group=GROUP,
            topics=[SYNC_REQUESTS],
            open_fold=self.open,
            close_fold=self.close,
            codec=self.codec,
            schemas=self.schemas,
            dead_letters=DeadLetterWriter(producer, "test"),
        )

    def open(self, partition: Partition) -> Fold:
        return self.folds.setdefault(partition.number, Fold())

    async def close(self, partition: Partition) -> None:
        self.closed.append(partition.number)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Running"]:
        async with run_consumer(self.consumer, self.schemas, self.stopping):
            yield self

    def has_reached_both_ends(self) -> bool:
        return len(self.folds) == 2 and all(fold.ends for fold in self.folds.values())


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[KafkaSite]:
    async with create_kafka_site(kafka_bootstrap, (SCHEMAS, SYNC_REQUESTS)) as site:
        yield site


@pytest.fixture
async def producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="test") as producer:
        yield producer


async def test_a_fold_sees_requests_tombstones_and_headers_in_order_and_learns_of_the_end(
    site: KafkaSite, producer: EventProducer
) -> None:
    first = await producer.send_event(SYNC_REQUESTS, "ds-1", sync_request("ds-1"))
    await producer.send_event(SYNC_REQUESTS, "ds-1", None, headers={"resolves": str(first.offset)})
    second = await producer.send_event(SYNC_REQUESTS, "ds-1", sync_request("ds-1"))

    run = Running(site, producer)
    async with run.running():
        await eventually(run.has_reached_both_ends)  # the empty partition too
        fold = run.folds[first.partition]
        assert fold.offsets == [first.offset, first.offset + 1, second.offset]
        assert [record.event for record in fold.read_so_far] == [sync_request("ds-1"), None, sync_request("ds-1")]
        assert fold.read_so_far[1].headers["resolves"] == str(first.offset)

        own = await producer.send_event(SYNC_REQUESTS, "ds-1", sync_request("ds-1"))
        await eventually(lambda: fold.offsets[-1] == own.offset and fold.ends == 2)


async def test_the_lowest_pending_offset_is_committed_and_a_successor_begins_there(
    site: KafkaSite, producer: EventProducer
) -> None:
    await site.write_raw(SYNC_REQUESTS.name, [(key.encode(), encoded(key)) for key in ("a", "b", "c")])
    await site.write_raw(SYNC_REQUESTS.name, [(b"a", None), (b"c", None)])

    run = Running(site, producer)
    async with run.running():
        await eventually(run.has_reached_both_ends)
    assert sorted(run.closed) == [0, 1]
    assert await site.committed(GROUP, SYNC_REQUESTS) == 1  # b is pending, and nothing below it

    successor = Running(site, producer)
    async with successor.running():
        await eventually(successor.has_reached_both_ends)
        assert successor.folds[0].offsets == [1, 2, 3, 4]
        await site.write_raw(SYNC_REQUESTS.name, [(b"b", None)])

        async def committed_all() -> bool:
            return await site.committed(GROUP, SYNC_REQUESTS) == 6

        await eventually(committed_all)


async def test_an_undecodable_request_is_dead_lettered_and_reading_goes_on(
    site: KafkaSite, producer: EventProducer
) -> None:
    await site.write_raw(SYNC_REQUESTS.name, [(b"a", encoded("a")), (b"bad", b"garbage"), (b"b", encoded("b"))])

    run = Running(site, producer)
    async with run.running():
        await eventually(run.has_reached_both_ends)
        assert run.folds[0].offsets == [0, 2]

    [dead] = await site.read_all(SYNC_REQUESTS.dead_letter_topic)
    assert (dead.key, dead.value) == (b"bad", b"garbage")


async def test_an_unknown_fingerprint_holds_its_partition_until_its_schema_is_there(
    site: KafkaSite, producer: EventProducer
) -> None:
    schema = json.loads(load_packaged_schemas()["sync-requests"][-1].text)
    schema["fields"].append({"name": "colour", "type": ["null", "string"], "default": None})
    fingerprint = compute_fingerprint(schema)
    out = BytesIO()
    values = {name: getattr(sync_request("b"), name) for name in SyncRequest.__dataclass_fields__}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {**values, "colour": "red"})
    newer = MARKER + fingerprint + out.getvalue()
    await site.write_raw(SYNC_REQUESTS.name, [(b"a", encoded("a")), (b"a", None), (b"b", newer), (b"c", encoded("c"))])

    run = Running(site, producer)
    async with run.running():
        await eventually(lambda: fingerprint.hex() in (run.consumer.check_readiness() or ""))
        assert run.folds[0].offsets == [0, 1]
        assert run.folds[0].ends == 0

        async def committed_up_to_it() -> bool:
            return await site.committed(GROUP, SYNC_REQUESTS) == 2

        await eventually(committed_up_to_it)
        await site.write_raw("schemas", [(fingerprint.hex().encode(), json.dumps(schema).encode())])
        await eventually(lambda: run.folds[0].offsets == [0, 1, 2, 3])
        await eventually(run.has_reached_both_ends)
        assert run.consumer.check_readiness() is None


async def test_a_partition_that_moves_is_closed_by_its_old_owner_before_the_new_one_opens_it(
    site: KafkaSite, producer: EventProducer
) -> None:
    await site.write_raw(SYNC_REQUESTS.name, [(b"a", encoded("a"))], 0)
    await site.write_raw(SYNC_REQUESTS.name, [(b"b", encoded("b"))], 1)
    first, second = Running(site, producer), Running(site, producer)
    owned: set[int] = set()

    def watched(run: Running) -> None:
        def opened(partition: Partition) -> Fold:
            assert partition.number not in owned, "two owners at once"
            owned.add(partition.number)
            return run.folds.setdefault(partition.number, Fold())

        async def closed(partition: Partition) -> None:
            await asyncio.sleep(0.3)  # work on the fold takes a moment to end
            run.closed.append(partition.number)
            owned.discard(partition.number)

        run.consumer._open_fold = opened
        run.consumer._close_fold = closed

    watched(first)
    watched(second)
    async with first.running():
        await eventually(first.has_reached_both_ends)
        async with second.running():
            await eventually(lambda: len(second.folds) == 1 and len(owned) == 2)
            [moved] = second.folds
            await eventually(lambda: second.folds[moved].offsets == [0])

    assert moved in first.closed
