"""Which relay of several may send: the lock, its session, the poll of the leader, and how it stops."""

import asyncio

import pytest
from fake_aiokafka import wait_until
from outbox_fakes import FakeDatabase, FakeKafka, patch_database, read_metric, run_relay
from structlog.testing import capture_logs

from mailroom_common import outbox
from mailroom_common.errors import Unavailable


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> FakeDatabase:
    return patch_database(monkeypatch)


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


async def test_a_relay_without_the_lock_sends_nothing_and_asks_again(database: FakeDatabase, kafka: FakeKafka) -> None:
    database.lock_is_taken = True
    database.insert_rows("a", 1)
    async with run_relay(kafka):
        await wait_until(lambda: database.lock_attempts >= 3)
        assert (kafka.attempts, read_metric("mailroom_outbox_leader")) == ([], 0)
        database.lock_is_taken = False
        await wait_until(lambda: not database.rows)
        assert read_metric("mailroom_outbox_leader") == 1
    assert read_metric("mailroom_outbox_leader") == 0


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
