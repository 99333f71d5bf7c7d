"""The relay against a table in memory: order, what is deleted when, and what blocks.

`tests/integration/test_outbox_on_kafka.py` has real Postgres and Kafka, and processes that are killed.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from fake_aiokafka import wait_until
from outbox_fakes import (
    SCHEMA,
    FakeDatabase,
    FakeKafka,
    FakeSession,
    patch_database,
    read_metric,
    run_relay,
)
from structlog.testing import capture_logs

from mailroom_common import outbox
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.kafka.codec import Codec
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.topics import CONNECTION_EVENTS
from mailroom_common.tracing import bind_traceparent

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> FakeDatabase:
    return patch_database(monkeypatch)


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


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
    failed = read_metric("mailroom_outbox_send_attempts_failed_total") or 0
    begun_s = asyncio.get_running_loop().time()
    async with run_relay(kafka):
        await wait_until(lambda: not database.rows)
    assert kafka.attempts == [rows[0], rows[0], rows[0], rows[1], rows[2]]
    assert pauses == [(1, 0.1, 5.0), (2, 0.1, 5.0)]
    assert asyncio.get_running_loop().time() - begun_s > 0.035
    assert read_metric("mailroom_outbox_send_attempts_failed_total") == failed + 2


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
            assert read_metric("mailroom_outbox_blocked_aggregates") == 1
            assert kafka.attempts.count(large) == 1
            await asyncio.sleep(0.11)
            database.notify()
            await wait_until(lambda: not database.rows)
            assert read_metric("mailroom_outbox_blocked_aggregates") == 0
    assert kafka.sent == [*other, large, behind]
    [rejected] = [line for line in logs if line["event"] == "outbox_row_rejected"]
    assert (rejected["outbox_id"], rejected["aggregate"], rejected["size_bytes"]) == (1, "a", 1)


async def test_a_blocked_aggregate_is_not_sent_again_before_its_time(database: FakeDatabase, kafka: FakeKafka) -> None:
    large, _ = database.insert_rows("a", 2)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=60):
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 1)
        for _round in range(3):
            reads = database.reads
            database.notify()
            await wait_until(lambda before=reads: database.reads > before)  # type: ignore[misc]  # bound at once
        assert kafka.attempts == [large]
    assert read_metric("mailroom_outbox_blocked_aggregates") == 0  # this process blocks nothing once it does not lead


async def test_what_is_blocked_is_told_by_the_relay_that_leads_and_by_no_other(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    large, _ = database.insert_rows("a", 2)
    kafka.failures[large] = [Rejected("too large")]
    relay, stopping = OutboxRelay("postgresql://nowhere", SCHEMA, kafka, lease_s=120), asyncio.Event()
    assert relay.list_blocked_aggregates() is None
    running = asyncio.create_task(relay.run_relay(stopping))
    await wait_until(lambda: relay.list_blocked_aggregates() == ["a"])
    stopping.set()
    await asyncio.wait_for(running, 5)
    assert relay.list_blocked_aggregates() is None


async def test_a_row_that_an_operator_deleted_blocks_no_longer(database: FakeDatabase, kafka: FakeKafka) -> None:
    large, behind = database.insert_rows("a", 2)
    kafka.failures[large] = [Rejected("too large")] * 9
    async with run_relay(kafka, blocked_retry_s=0.05):
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.06)  # until its time to be sent again
        del database.rows[1]
        database.notify()
        await wait_until(lambda: kafka.sent == [behind])
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 0)


async def test_a_blocked_aggregate_whose_only_row_was_deleted_is_reported_no_longer(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (large,) = database.insert_rows("a", 1)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=0.01):
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.02)  # until its time to be sent again
        database.rows.clear()
        database.notify()
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 0)


async def test_a_blocked_row_that_kafka_takes_at_last_is_reported_no_longer(
    database: FakeDatabase, kafka: FakeKafka
) -> None:
    (large,) = database.insert_rows("a", 1)
    kafka.failures[large] = [Rejected("too large")]
    async with run_relay(kafka, blocked_retry_s=0.01):
        await wait_until(lambda: read_metric("mailroom_outbox_blocked_aggregates") == 1)
        await asyncio.sleep(0.02)  # until its time to be sent again
        database.notify()
        await wait_until(lambda: not database.rows)
        assert read_metric("mailroom_outbox_blocked_aggregates") == 0


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
