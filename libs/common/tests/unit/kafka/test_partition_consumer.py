"""What consumers share, on aiokafka's own order of events: commits that are refused or do not get through.

On real Kafka `test_membership_when_frozen.py` has the same; there nobody chooses who wakes first.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from aiokafka.errors import KafkaError
from fake_aiokafka import (
    AT,
    PARTITIONS,
    FakeAiokafka,
    FakeDeadLetterSender,
    FakeRecord,
    FakeSettings,
    run_consumer,
    wait_until,
)
from newer_build import write_new_symbol
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.kafka import partition_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import CONNECTION_EVENTS, SYNC_REQUESTS, Topic

CONNECTION_EVENT = ConnectionEvent(
    event_id="e",
    occurred_at=AT,
    tenant_id="acme",
    doc_source_id="ds-1",
    kind=ConnectionKind.SYNCED,
    grant_generation=1,
)


@dataclass
class Bench:
    kafka: FakeAiokafka
    topic: Topic = SYNC_REQUESTS
    handled: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        codec = Codec()
        self.letters = FakeDeadLetterSender()
        self.schemas = SchemaDirectory(FakeSettings(), codec)
        self.consumer = WindowedConsumer(
            FakeSettings(),
            group="g",
            topics=[self.topic],
            handle=self.handle_record,
            codec=codec,
            schemas=self.schemas,
            dead_letters=DeadLetterWriter(self.letters, "test"),
        )

    async def handle_record(self, record: IncomingRecord) -> None:
        self.handled[record.partition].append(record.offset)

    def has_handled(self, count: int) -> bool:
        return all(set(self.handled[number]) == set(range(count)) for number in PARTITIONS)


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    kafka = FakeAiokafka()
    monkeypatch.setattr(GroupMember, "_create_client", lambda _: kafka)
    monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 0.05)
    return Bench(kafka)


@pytest.mark.parametrize("who_notices", ["commit", "heartbeat", "heartbeat after the commit"])
async def test_partitions_that_come_back_after_a_refused_commit_are_read_and_committed(
    bench: Bench, who_notices: str
) -> None:
    bench.kafka.who_notices = who_notices
    bench.kafka.forgets_after_join = 1
    bench.kafka.write_requests(3)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.kafka.joins == 2)
        bench.kafka.write_requests(2)
        await wait_until(lambda: bench.has_handled(5))
        await wait_until(lambda: bench.kafka.committed_offsets() == {5})
    # The three were not committed, so they came again; nothing came a third time, and order held.
    assert dict(bench.handled) == {number: [0, 1, 2, 0, 1, 2, 3, 4] for number in PARTITIONS}


@pytest.mark.parametrize("failure", [KafkaError("not now"), TimeoutError()])
async def test_a_commit_that_failed_is_sent_again_though_no_new_record_came(bench: Bench, failure: Exception) -> None:
    bench.kafka.failure = failure
    bench.kafka.write_requests(3)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.kafka.failed_commits > 0)
        assert bench.kafka.committed_offsets() == {None}
        bench.kafka.failure = None
        await wait_until(lambda: bench.kafka.committed_offsets() == {3})


async def test_a_commit_that_failed_is_sent_again_when_the_partitions_are_released(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.kafka.failure = KafkaError("not now")
    bench.kafka.write_requests(3)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.has_handled(3) and bench.kafka.failed_commits > 0)
        monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 60)
        await asyncio.sleep(0.06)  # the round of commits that has begun with the short interval
        bench.kafka.failure = None
    assert bench.kafka.committed_offsets() == {3}


async def test_partitions_wait_for_a_schema_that_is_not_known_yet_say_so_and_go_on_once_it_is_learned(
    bench: Bench,
) -> None:
    bench.kafka.write_requests(1)
    schema_record = bench.kafka.write_of_unknown_schema()
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await wait_until(
            lambda: bench.kafka.committed_offsets() == {1} and bench.consumer.check_readiness() is not None
        )
        fingerprint = schema_record.key.decode()
        assert bench.consumer.check_readiness() == (
            f"sync-requests/0 waits for schema {fingerprint} (2 partitions wait)"
        )
        assert REGISTRY.get_sample_value("mailroom_kafka_partitions_awaiting_schema", {"group": "g"}) == 2
        bench.schemas.apply_record(schema_record)
        await wait_until(lambda: bench.kafka.committed_offsets() == {3})
        assert bench.consumer.check_readiness() is None
        assert REGISTRY.get_sample_value("mailroom_kafka_partitions_awaiting_schema", {"group": "g"}) == 0
    assert dict(bench.handled) == {number: [0, 1, 2] for number in PARTITIONS}


async def test_partitions_wait_for_the_upgrade_at_a_symbol_that_this_build_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = FakeAiokafka(topic=CONNECTION_EVENTS)
    monkeypatch.setattr(GroupMember, "_create_client", lambda _: kafka)
    monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 0.05)
    bench = Bench(kafka, CONNECTION_EVENTS)
    newer_record = write_new_symbol(CONNECTION_EVENT, "connection-events", "kind", "mailbox_moved")
    kafka.write_value(b"ds-1", Codec().encode(CONNECTION_EVENT))
    kafka.write_value(b"ds-1", newer_record.value)
    kafka.write_value(b"ds-1", Codec().encode(CONNECTION_EVENT))
    schema_record = FakeRecord("schemas", 0, 0, newer_record.fingerprint.hex().encode(), newer_record.schema.encode())
    with capture_logs() as logs:
        async with run_consumer(bench.consumer):
            await wait_until(lambda: "waits for schema" in (bench.consumer.check_readiness() or ""))
            bench.schemas.apply_record(schema_record)
            await wait_until(lambda: kafka.committed_offsets() == {1})
            assert bench.consumer.check_readiness() == (
                "connection-events/0 waits for this service to be upgraded: a newer build wrote a symbol of "
                "ConnectionKind that this build does not have (2 partitions wait)"
            )
            waiting = [
                REGISTRY.get_sample_value(f"mailroom_kafka_partitions_awaiting_{what}", {"group": "g"})
                for what in ("schema", "upgrade")
            ]
            assert waiting == [0, 2]
    assert [log["offset"] for log in logs if log["event"] == "upgrade_awaited"] == [1, 1]
    assert (dict(bench.handled), bench.letters.headers) == ({number: [0] for number in PARTITIONS}, [])
    assert REGISTRY.get_sample_value("mailroom_kafka_partitions_awaiting_upgrade", {"group": "g"}) == 0


async def test_a_partition_that_has_a_backlog_is_not_polled_and_one_without_is(bench: Bench) -> None:
    (waiting, other) = sorted(bench.kafka.owned)
    schema_record = bench.kafka.write_of_unknown_schema()
    bench.kafka.records[other].clear()
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.consumer.check_readiness() is not None)
        polls = len(bench.kafka.polled)
        await wait_until(lambda: len(bench.kafka.polled) > polls + 3)
        assert bench.kafka.polled[polls + 1 :] == [{other.partition}] * (len(bench.kafka.polled) - polls - 1)
        bench.schemas.apply_record(schema_record)
        await wait_until(lambda: bench.kafka.polled[-1] == {waiting.partition, other.partition})
    assert bench.handled[waiting.partition] == [0]


async def test_nothing_is_polled_while_every_partition_has_a_backlog_and_polling_begins_again_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def wait_without_limit(event: asyncio.Event, timeout_s: float) -> None:
        waits.append(timeout_s)
        await event.wait()

    monkeypatch.setattr(partition_consumer, "wait_for_event", wait_without_limit)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.has_handled(1))
        schema_record = bench.kafka.write_of_unknown_schema()
        await wait_until(lambda: len(waits) > 0)
        polls = len(bench.kafka.polled)
        await asyncio.sleep(0.03)  # a few more polls, if there were any
        assert (len(bench.kafka.polled), waits) == (polls, [0.5])
        bench.schemas.apply_record(schema_record)
        await wait_until(lambda: bench.has_handled(2))
        await wait_until(lambda: len(bench.kafka.polled) > polls)


async def test_records_of_a_lost_partition_that_still_come_are_ignored_until_the_group_is_joined_again(
    bench: Bench,
) -> None:
    rejoin = bench.kafka._request_rejoin
    bench.kafka._request_rejoin = lambda: None  # type: ignore[method-assign]  # the heartbeat is late
    bench.kafka.who_notices = "heartbeat after the commit"
    bench.kafka.forgets_after_join = 1
    bench.kafka.write_requests(1)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.has_handled(1) and len(bench.consumer._lost) == len(PARTITIONS))
        bench.kafka.write_requests(1)
        await wait_until(lambda: set(bench.kafka.positions.values()) == {2})
        await asyncio.sleep(0.01)  # the poll that brought them
        assert dict(bench.handled) == {number: [0] for number in PARTITIONS}
        rejoin()
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert dict(bench.handled) == {number: [0, 0, 1] for number in PARTITIONS}


async def test_an_offset_is_committed_once_however_many_rounds_follow(bench: Bench) -> None:
    bench.kafka.write_requests(3)
    async with run_consumer(bench.consumer):
        await wait_until(lambda: bench.kafka.committed_offsets() == {3})
        count = len(bench.kafka.commits)
        await asyncio.sleep(0.2)  # several rounds of commits
        assert len(bench.kafka.commits) == count


async def test_a_process_that_has_stopped_counts_no_partition_that_waits_for_a_schema(bench: Bench) -> None:
    bench.kafka.write_of_unknown_schema()
    async with run_consumer(bench.consumer):
        await wait_until(lambda: (bench.consumer.check_readiness() or "").endswith("(2 partitions wait)"))
    assert REGISTRY.get_sample_value("mailroom_kafka_partitions_awaiting_schema", {"group": "g"}) == 0
