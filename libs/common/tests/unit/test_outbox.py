"""The relay against a table in memory: order, what is deleted when, what blocks, and who may lead.

`tests/integration/test_outbox_on_kafka.py` has real Postgres and Kafka, and processes that are killed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from mailroom_common import outbox
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.topics import CONNECTION_EVENTS, Topic
from mailroom_common.tracing import bind_traceparent

SCHEMA = "unit_test"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class FakeSession:
    """One session with the statements that the relay uses, on a table that all sessions share."""

    database: "FakeDatabase"
    is_leader: bool = False

    async def fetchval(self, sql: str, *_: object) -> bool:
        assert "pg_try_advisory_lock" in sql
        self.database.lock_attempts += 1
        self.is_leader = not self.database.lock_is_taken
        return self.is_leader

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None:
        assert channel == f"outbox_{SCHEMA}"
        self.database.listeners.append(callback)

    async def fetch(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        if self.database.session_failure is not None:
            raise self.database.session_failure
        rows = list(self.database.rows.values())
        if sql.startswith("select id from"):
            return [row for row in rows if row["id"] in arguments[0]]
        aggregates, limit = arguments
        self.database.reads += 1
        # As Postgres may return them where no order is asked for.
        ordered = sorted(rows, key=lambda row: row["id"], reverse="order by id" not in sql)
        return [row for row in ordered if row["aggregate"] not in aggregates][:limit]

    async def execute(self, sql: str, *arguments: Any) -> None:
        if self.database.write_failure is not None:
            raise self.database.write_failure
        if sql.startswith("insert"):
            topic, key, value, headers, aggregate = arguments
            self.database.insert_row(aggregate, key=key, topic=topic, value=value, headers=headers)
        elif sql.startswith("delete"):
            self.database.deleted.extend(arguments[0])
            for row_id in arguments[0]:
                self.database.rows.pop(row_id, None)
        else:
            assert "pg_notify" in sql
            self.database.notified.append(arguments[0])


@dataclass
class FakeDatabase:
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    listeners: list[Callable[..., None]] = field(default_factory=list)
    notified: list[str] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    lock_is_taken: bool = False
    lock_attempts: int = 0
    sessions: int = 0
    reads: int = 0
    next_id: int = 1
    session_failure: Exception | None = None  # of reads
    write_failure: Exception | None = None

    def insert_row(
        self,
        aggregate: str,
        *,
        key: str | None = None,
        topic: str = CONNECTION_EVENTS.name,
        value: bytes = b"v",
        headers: str = '{"traceparent": "t"}',
    ) -> int:
        row_id = self.next_id
        self.next_id += 1
        self.rows[row_id] = {
            "id": row_id,
            "topic": topic,
            "key": key or f"{aggregate}:{row_id}",
            "value": value,
            "headers": headers,
            "aggregate": aggregate,
            "created_at": datetime.now(UTC),
        }
        return row_id

    def insert_rows(self, aggregate: str, count: int) -> list[str]:
        return [f"{aggregate}:{self.insert_row(aggregate)}" for _ in range(count)]

    def notify(self) -> None:
        for listener in self.listeners:
            listener()

    @asynccontextmanager
    async def open_session(self, *_: object, **__: object) -> AsyncIterator[FakeSession]:
        self.sessions += 1
        yield FakeSession(self)


@dataclass
class FakeKafka:
    """Acknowledges after a moment; `gates` hold single keys, `failures` are raised once each in turn."""

    sent: list[str] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)
    headers: list[RawHeaders] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    failures: dict[str, list[Exception]] = field(default_factory=dict)
    under_way: int = 0
    most_under_way: int = 0
    cancel_takes_s: float = 0.0

    def topic_name(self, topic: Topic) -> str:
        return f"prefix.{topic.name}"

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        assert topic_name == f"prefix.{CONNECTION_EVENTS.name}"
        name = (key or b"").decode()
        self.attempts.append(name)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if (gate := self.gates.get(name)) is not None:
                await gate.wait()
            if failures := self.failures.get(name):
                raise failures.pop(0)
        except asyncio.CancelledError:
            await asyncio.sleep(self.cancel_takes_s)
            raise
        finally:
            self.under_way -= 1
        self.sent.append(name)
        self.headers.append(headers)
        return None


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> FakeDatabase:
    database = FakeDatabase()
    monkeypatch.setattr(outbox, "open_leased_session", database.open_session)
    monkeypatch.setattr(outbox, "_STANDBY_POLL_S", 0.01)
    return database


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


@asynccontextmanager
async def run_relay(kafka: FakeKafka, **options: float) -> AsyncIterator[asyncio.Task[None]]:
    """With a lease whose poll comes later than any test waits: what is not announced is not found by chance."""
    stopping = asyncio.Event()
    relay = OutboxRelay("postgresql://nowhere", SCHEMA, kafka, **{"lease_s": 120, **options})
    task = asyncio.create_task(relay.run_relay(stopping))
    try:
        yield task
    finally:
        stopping.set()
        await asyncio.wait_for(task, 5)


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # what is waited for is in the fakes
            await asyncio.sleep(0.002)


def metric(name: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"schema": SCHEMA})


def keys_of(kafka: FakeKafka, aggregate: str) -> list[str]:
    return [key for key in kafka.sent if key.startswith(f"{aggregate}:")]


def in_order(keys: Sequence[str]) -> bool:
    return [int(key.partition(":")[2]) for key in keys] == sorted(int(key.partition(":")[2]) for key in keys)


async def test_rows_of_an_aggregate_are_sent_in_the_order_of_their_ids(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    expected = database.insert_rows("a", 20)
    async with run_relay(kafka):
        await wait_until(lambda: not database.rows)
    assert kafka.sent == expected


async def test_the_next_row_of_an_aggregate_is_sent_after_the_acknowledgement_of_the_one_before(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    first, second = database.insert_rows("a", 2)
    kafka.gates[first] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.attempts == [first])
        third = f"a:{database.insert_row('a')}"
        database.notify()
        reads = database.reads
        await wait_until(lambda: database.reads > reads)
        assert kafka.attempts == [first]  # neither the row behind it nor one that came later overtakes it
        kafka.gates[first].set()
        await wait_until(lambda: not database.rows)
    assert kafka.sent == [first, second, third]


async def test_aggregates_are_sent_side_by_side_and_a_slow_one_holds_up_no_other(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (slow,) = database.insert_rows("slow", 1)
    quick = database.insert_rows("quick", 3)
    kafka.gates[slow] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: keys_of(kafka, "quick") == quick)
        assert kafka.sent == quick
        kafka.gates[slow].set()
        await wait_until(lambda: not database.rows)


async def test_order_holds_when_a_send_has_to_be_repeated(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[tuple[int, float, float]] = []

    def record_pause(attempt: int, *, initial_s: float, max_s: float) -> float:
        pauses.append((attempt, initial_s, max_s))
        return 0.02

    monkeypatch.setattr(outbox, "backoff_s", record_pause)
    rows = database.insert_rows("a", 3)
    kafka.failures[rows[0]] = [Unavailable("not now"), Unavailable("not now")]
    failed = metric("mailroom_outbox_send_attempts_failed_total") or 0
    begun_s = asyncio.get_running_loop().time()
    async with run_relay(kafka):
        await wait_until(lambda: not database.rows)
    assert kafka.attempts == [rows[0], rows[0], rows[0], rows[1], rows[2]]
    assert pauses == [(1, 0.1, 5.0), (2, 0.1, 5.0)]
    assert asyncio.get_running_loop().time() - begun_s > 0.035
    assert metric("mailroom_outbox_send_attempts_failed_total") == failed + 2


async def test_a_row_is_deleted_only_once_it_is_acknowledged(database: FakeDatabase, kafka: FakeKafka) -> None:
    first, second = database.insert_rows("a", 2)
    kafka.gates[second] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.attempts == [first, second])
        database.notify()
        await wait_until(lambda: list(database.rows) == [2])
        kafka.gates[second].set()
        await wait_until(lambda: not database.rows)


async def test_no_row_is_sent_twice_while_nothing_fails(database: FakeDatabase, kafka: FakeKafka) -> None:
    async with run_relay(kafka):
        for round_number in range(30):
            database.insert_rows(f"a{round_number % 3}", 2)
            database.notify()
            await asyncio.sleep(0)
        await wait_until(lambda: not database.rows)
    assert sorted(kafka.attempts) == sorted(set(kafka.attempts))
    assert sorted(database.deleted) == list(range(1, 61))  # nor is it deleted twice: its id may be another row's then
    assert all(in_order(keys_of(kafka, f"a{number}")) for number in range(3))


async def test_a_rejected_row_blocks_its_aggregate_alone_and_is_sent_again_later(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    large, behind = database.insert_rows("a", 2)
    other = database.insert_rows("b", 1)
    kafka.failures[large] = [Rejected("too large")]
    with capture_logs() as logs:
        async with run_relay(kafka, blocked_retry_s=0.1):
            await wait_until(lambda: kafka.sent == other)
            assert metric("mailroom_outbox_blocked_aggregates") == 1
            assert kafka.attempts.count(large) == 1
            await asyncio.sleep(0.11)
            database.notify()
            await wait_until(lambda: not database.rows)
            assert metric("mailroom_outbox_blocked_aggregates") == 0
    assert kafka.sent == [*other, large, behind]
    [rejected] = [line for line in logs if line["event"] == "outbox_row_rejected"]
    assert (rejected["outbox_id"], rejected["aggregate"], rejected["size_bytes"]) == (1, "a", 1)


async def test_a_blocked_aggregate_is_not_sent_again_before_its_time(database: FakeDatabase, kafka: FakeKafka) -> None:
    large, _ = database.insert_rows("a", 2)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=60):
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 1)
        for _round in range(3):
            reads = database.reads
            database.notify()
            await wait_until(lambda before=reads: database.reads > before)  # type: ignore[misc]  # bound at once
        assert kafka.attempts == [large]
    assert metric("mailroom_outbox_blocked_aggregates") == 0  # this process blocks nothing once it does not lead


async def test_a_row_that_an_operator_deleted_blocks_no_longer(database: FakeDatabase, kafka: FakeKafka) -> None:
    large, behind = database.insert_rows("a", 2)
    kafka.failures[large] = [Rejected("too large")] * 9
    async with run_relay(kafka, blocked_retry_s=0.05):
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.06)  # until its time to be sent again
        del database.rows[1]
        database.notify()
        await wait_until(lambda: kafka.sent == [behind])
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 0)


async def test_a_blocked_aggregate_whose_only_row_was_deleted_is_reported_no_longer(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (large,) = database.insert_rows("a", 1)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=0.01):
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.02)  # until its time to be sent again
        database.rows.clear()
        database.notify()
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 0)


async def test_a_blocked_row_that_kafka_takes_at_last_is_reported_no_longer(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (large,) = database.insert_rows("a", 1)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=0.01):
        await wait_until(lambda: metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.02)  # until its time to be sent again
        database.notify()
        await wait_until(lambda: not database.rows)
        assert metric("mailroom_outbox_blocked_aggregates") == 0


async def test_no_more_aggregates_than_the_limit_are_under_way(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_MAX_AGGREGATES_IN_FLIGHT", 4)
    monkeypatch.setattr(outbox, "_BATCH_ROWS", 2)
    for number in range(12):
        (key,) = database.insert_rows(f"a{number}", 1)
        kafka.gates[key] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.under_way == 4)  # two reads of two
        database.notify()
        await asyncio.sleep(0.02)
        assert kafka.most_under_way == 4
        for gate in kafka.gates.values():
            gate.set()
        await wait_until(lambda: not database.rows)


async def test_a_relay_without_the_lock_sends_nothing_and_asks_again(database: FakeDatabase, kafka: FakeKafka) -> None:
    database.lock_is_taken = True
    database.insert_rows("a", 1)
    async with run_relay(kafka):
        await wait_until(lambda: database.lock_attempts >= 3)
        assert (kafka.attempts, metric("mailroom_outbox_leader")) == ([], 0)
        database.lock_is_taken = False
        await wait_until(lambda: not database.rows)
        assert metric("mailroom_outbox_leader") == 1
    assert metric("mailroom_outbox_leader") == 0


async def test_a_relay_that_is_stopped_while_it_waits_for_the_lock_never_leads(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    database.lock_is_taken = True
    async with run_relay(kafka):
        await wait_until(lambda: database.lock_attempts >= 1)
    assert database.listeners == []


async def test_a_row_whose_lock_may_be_lost_is_not_sent_until_the_relay_leads_again(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "backoff_s", lambda *_, **__: 0.001)
    first, second = database.insert_rows("a", 2)
    kafka.gates[first] = asyncio.Event()
    loop = asyncio.get_running_loop()
    real_time = loop.time
    with capture_logs() as logs:
        async with run_relay(kafka, lease_s=10):
            await wait_until(lambda: kafka.attempts == [first])
            database.session_failure = Unavailable("the session was ended")
            # The process stood still for most of its lease.
            monkeypatch.setattr(loop, "time", lambda: real_time() + 9)
            kafka.gates[first].set()
            await wait_until(lambda: any(line["event"] == "outbox_send_crashed" for line in logs))
            assert kafka.attempts == [first]
            database.session_failure = None
            await wait_until(lambda: not database.rows)
    assert kafka.sent == [first, second]


async def test_a_row_whose_notification_was_lost_is_found_by_the_poll(database: FakeDatabase, kafka: FakeKafka) -> None:
    async with run_relay(kafka, lease_s=2):
        await wait_until(lambda: database.reads > 0)
        database.insert_rows("a", 1)
        await wait_until(lambda: not database.rows)


async def test_an_idle_relay_reads_its_table_only_when_it_is_woken(database: FakeDatabase, kafka: FakeKafka) -> None:
    database.insert_rows("a", 1)
    async with run_relay(kafka):
        await wait_until(lambda: not database.rows)
        await asyncio.sleep(0.02)  # the read that follows the last delete
        reads = database.reads
        await asyncio.sleep(0.05)
        assert database.reads == reads


async def test_a_relay_that_reads_its_table_keeps_its_lock_for_longer_than_one_lease(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    real_time = loop.time
    passed_s = 0.0
    monkeypatch.setattr(loop, "time", lambda: real_time() + passed_s)
    async with run_relay(kafka):
        await wait_until(lambda: database.reads > 0)
        for _round in range(4):
            reads = database.reads
            passed_s += 50
            database.notify()
            await wait_until(lambda before=reads: database.reads > before)  # type: ignore[misc]  # bound at once
            database.insert_rows("a", 1)
            database.notify()
            await wait_until(lambda: not database.rows)
        assert (database.sessions, len(kafka.attempts)) == (1, 4)


async def test_a_lost_session_is_replaced_and_what_was_not_deleted_is_sent_again(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "backoff_s", lambda *_, **__: 0.001)
    async with run_relay(kafka):
        await wait_until(lambda: database.reads > 0)
        database.session_failure = Unavailable("the session was ended")
        row = f"a:{database.insert_row('a')}"
        database.notify()
        await wait_until(lambda: database.sessions >= 3)
        database.session_failure = None
        await wait_until(lambda: not database.rows)
    assert kafka.sent == [row]


async def test_a_send_that_was_under_way_when_the_session_was_lost_is_begun_again_with_the_next_one(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "backoff_s", lambda *_, **__: 0.001)
    (row,) = database.insert_rows("a", 1)
    kafka.gates[row] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.under_way == 1)
        database.session_failure = Unavailable("the session was ended")
        database.notify()
        await wait_until(lambda: database.sessions >= 2)
        database.session_failure = None
        await wait_until(lambda: kafka.attempts == [row, row])
        kafka.gates[row].set()
        await wait_until(lambda: not database.rows)
    assert kafka.sent == [row]


async def test_an_acknowledgement_of_a_lost_session_deletes_no_row_of_the_next_one(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Postgres that failed over may have lost the last rows, and gives their ids to others."""
    monkeypatch.setattr(outbox, "backoff_s", lambda *_, **__: 0.001)
    (row,) = database.insert_rows("a", 1)
    kafka.gates[row] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.under_way == 1)
        database.session_failure = database.write_failure = Unavailable("failed over")
        kafka.gates[row].set()
        await wait_until(lambda: database.sessions >= 2)
        database.rows.clear()
        database.next_id = 1
        database.insert_row("b", key="other")
        database.session_failure = database.write_failure = None
        await wait_until(lambda: not database.rows)
    assert kafka.sent == [row, "other"]


async def test_a_stopping_relay_waits_a_moment_for_acknowledgements_and_deletes_their_rows(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (row,) = database.insert_rows("a", 1)
    kafka.gates[row] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.under_way == 1)
        asyncio.get_running_loop().call_later(0.05, kafka.gates[row].set)
    assert database.rows == {}


async def test_a_stopping_relay_leaves_what_kafka_does_not_acknowledge_to_the_next_one(
    database: FakeDatabase, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_DRAIN_S", 0.05)
    kafka.cancel_takes_s = 0.02
    (row,) = database.insert_rows("a", 1)
    kafka.gates[row] = asyncio.Event()
    async with run_relay(kafka):
        await wait_until(lambda: kafka.under_way == 1)
    assert list(database.rows) == [1]
    assert kafka.under_way == 0  # cancelled: nothing is sent after the lock is given up


async def test_an_event_is_added_with_its_headers_and_wakes_the_relay(database: FakeDatabase, kafka: FakeKafka) -> None:
    event = ConnectionEvent(
        event_id="e-1",
        occurred_at=datetime(2026, 11, 28, tzinfo=UTC),
        tenant_id="acme",
        doc_source_id="ds-1",
        kind=ConnectionKind.SYNCED,
        grant_generation=1,
    )
    session: Any = FakeSession(database)
    with bind_traceparent(TRACE):
        await Outbox(SCHEMA, Codec()).append_record(
            session, CONNECTION_EVENTS, "ds-1", event, aggregate="ds-1", headers={"own": "1"}
        )
    row = database.rows[1]
    headers = orjson.loads(row["headers"])
    assert (row["topic"], row["key"], row["aggregate"]) == (CONNECTION_EVENTS.name, "ds-1", "ds-1")
    assert Codec().decode(CONNECTION_EVENTS, row["value"]) == event
    assert (headers["ce_id"], headers["own"], headers["traceparent"]) == ("e-1", "1", TRACE)
    assert headers["ce_source"] == "/mailroom/unit-test"
    assert database.notified == [f"outbox_{SCHEMA}"]
    async with run_relay(kafka):
        await wait_until(lambda: kafka.sent == ["ds-1"])
    assert ("traceparent", TRACE.encode()) in kafka.headers[0]


async def test_a_tombstone_has_no_value_and_no_event_headers(database: FakeDatabase) -> None:
    session: Any = FakeSession(database)
    await Outbox(SCHEMA, Codec()).append_record(session, CONNECTION_EVENTS, "ds-1", None, aggregate="ds-1")
    assert database.rows[1]["value"] is None
    assert "ce_id" not in orjson.loads(database.rows[1]["headers"])
