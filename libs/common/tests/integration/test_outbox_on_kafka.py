"""The outbox on real Postgres and real Kafka: every event comes, in order per key, whoever dies or is away."""

import asyncio
import secrets
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.postgres import open_pool, open_transaction
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import CONNECTION_EVENTS, SCHEMAS, Topic

pytestmark = pytest.mark.stack

SCHEMA = "outbox_test"
TABLES = f"""
create schema if not exists {SCHEMA};
create table {SCHEMA}.outbox (
    id bigint generated always as identity primary key,
    topic text not null,
    key text not null,
    value bytea,
    headers jsonb not null default '{{}}',
    aggregate text not null,
    created_at timestamptz not null default now()
);
create table {SCHEMA}.thing (id text primary key, n int not null);
"""


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    async with open_pool(postgres_url, application_name="test", max_size=8) as pool:
        await pool.execute(f"drop schema if exists {SCHEMA} cascade; {TABLES}")
        yield pool


@pytest.fixture
async def kafka(kafka_bootstrap: str) -> KafkaSettings:
    settings = KafkaSettings(
        kafka_bootstrap=kafka_bootstrap, topic_prefix=f"t{secrets.token_hex(4)}.", kafka_replication=1
    )
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    names = [settings.topic_prefix + topic.name for topic in (CONNECTION_EVENTS, SCHEMAS)]
    await admin.create_topics([NewTopic(name, num_partitions=4, replication_factor=1) for name in names])
    await admin.close()
    return settings


class GatedProducer:
    """The real producer behind a gate: shut, it is what a client sees of a Kafka that is away."""

    def __init__(self, real: EventProducer) -> None:
        self._real = real
        self.shut = False
        self.refused = 0

    def topic_name(self, topic: Topic) -> str:
        return self._real.topic_name(topic)

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        if self.shut:
            self.refused += 1
            raise Unavailable("Kafka is away")
        return await self._real.send_raw(topic_name, key, value, headers, timeout_s=timeout_s)


class NeverAnswers(GatedProducer):
    def __init__(self, real: EventProducer) -> None:
        super().__init__(real)
        self.asked = asyncio.Event()

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        self.asked.set()
        return await asyncio.Event().wait()


@asynccontextmanager
async def _relay(
    postgres_url: str, producer: EventProducer | GatedProducer, *, lease_s: float = 10, blocked_retry_s: float = 60
) -> AsyncIterator[asyncio.Event]:
    stopping = asyncio.Event()
    relay = asyncio.create_task(
        OutboxRelay(postgres_url, SCHEMA, producer, lease_s=lease_s, blocked_retry_s=blocked_retry_s).run_relay(
            stopping
        )
    )
    try:
        yield stopping
    finally:
        stopping.set()
        await asyncio.wait_for(relay, 5)


@contextmanager
def _instance(postgres_url: str, kafka: KafkaSettings, *, lease_s: float = 10) -> Iterator[subprocess.Popen[str]]:
    script = Path(__file__).with_name("outbox_child.py")
    arguments = [postgres_url, kafka.kafka_bootstrap, kafka.topic_prefix, str(lease_s)]
    child = subprocess.Popen([sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


async def _change(pool: asyncpg.Pool, outbox: Outbox, thing: str, *, detail: str | None = None) -> None:
    """What a service does: lock the aggregate's row, change it, and say so in the same transaction."""
    async with open_transaction(pool) as conn:
        n = await conn.fetchval(
            "insert into outbox_test.thing values ($1, 1) on conflict (id) do update set n = thing.n + 1 returning n",
            thing,
        )
        await outbox.append_record(conn, CONNECTION_EVENTS, thing, _event(thing, n, detail), aggregate=thing)


def _event(thing: str, n: int, detail: str | None = None) -> ConnectionEvent:
    return ConnectionEvent(
        event_id=f"{thing}-{n}",
        occurred_at=datetime.now(UTC),
        tenant_id="t",
        doc_source_id=thing,
        kind=ConnectionKind.SYNCED,
        grant_generation=n,
        detail=detail,
    )


async def _change_all(pool: asyncpg.Pool, things: list[str], times: int) -> None:
    outbox = Outbox(SCHEMA, Codec())
    await asyncio.gather(*(_change(pool, outbox, thing) for _ in range(times) for thing in things))


async def _published(
    kafka: KafkaSettings, things: list[str], times: int, *, within_s: float = 60
) -> dict[str, list[int]]:
    """The numbers that Kafka holds for each thing, in its order, once all have arrived."""
    codec = Codec()
    seen: dict[str, list[int]] = defaultdict(list)
    consumer = AIOKafkaConsumer(
        kafka.topic_prefix + CONNECTION_EVENTS.name,
        bootstrap_servers=kafka.kafka_bootstrap,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        async with asyncio.timeout(within_s):
            while any(len(set(seen[thing])) < times for thing in things):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    for record in records:
                        event = codec.decode(CONNECTION_EVENTS, record.value)
                        assert isinstance(event, ConnectionEvent)
                        assert record.key.decode() == event.doc_source_id
                        assert dict(record.headers)["ce_id"] == event.event_id.encode()
                        seen[event.doc_source_id].append(event.grant_generation)
    finally:
        await consumer.stop()
    return seen


def _in_order(numbers: list[int]) -> bool:
    """Repeats are allowed; what is new comes in order."""
    return list(dict.fromkeys(numbers)) == sorted(set(numbers))


async def _emptied(pool: asyncpg.Pool) -> None:
    async with asyncio.timeout(45):
        while await _waiting(pool):  # noqa: ASYNC110  # the relay may be in another process, which has no event for us
            await asyncio.sleep(0.05)


async def _wait_for_session_older_than(pool: asyncpg.Pool, lease_s: int) -> None:
    """Until the relay has spoken to Postgres in a session that is older than its lease."""
    await _wait_for_sessions(pool, "query_start - backend_start > make_interval(secs => $2)", lease_s, count=1)


async def _wait_for_end_of_session(pool: asyncpg.Pool) -> None:
    await _wait_for_sessions(pool, "true", count=0)


async def _wait_for_sessions(pool: asyncpg.Pool, condition: str, *values: int, count: int) -> None:
    statement = f"select count(*) from pg_stat_activity where application_name = $1 and {condition}"  # noqa: S608  # ours
    async with asyncio.timeout(45):
        while await pool.fetchval(statement, f"{SCHEMA}-outbox", *values) != count:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.05)


async def _waiting(pool: asyncpg.Pool) -> int:
    count: int = await pool.fetchval("select count(*) from outbox_test.outbox")
    return count


THINGS = [f"thing-{number}" for number in range(7)]


async def test_rows_of_a_rolled_back_change_are_never_published(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async def change_and_fail() -> None:
        async with open_transaction(pool) as conn:
            await Outbox(SCHEMA, Codec()).append_record(
                conn, CONNECTION_EVENTS, "lost", _event("lost", 1), aggregate="lost"
            )
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await change_and_fail()
    await _change_all(pool, ["kept"], 1)
    async with EventProducer(kafka, Codec(), client_id="test") as producer, _relay(postgres_url, producer):
        assert set(await _published(kafka, ["kept"], 1)) == {"kept"}


async def test_relay_wakes_on_notify(pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str) -> None:
    async with (
        EventProducer(kafka, Codec(), client_id="test") as producer,
        # With this lease the poll that stands behind NOTIFY comes each two minutes.
        _relay(postgres_url, producer, lease_s=600),
    ):
        for _ in range(5):
            await _change_all(pool, ["quick"], 1)
            await _emptied(pool)


async def test_concurrent_changes_come_in_order_per_key_with_two_instances(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async with (
        EventProducer(kafka, Codec(), client_id="one") as one,
        EventProducer(kafka, Codec(), client_id="two") as two,
        _relay(postgres_url, one),
        _relay(postgres_url, two),
    ):
        await _change_all(pool, THINGS, 30)
        seen = await _published(kafka, THINGS, 30)
        await _emptied(pool)
    assert all(_in_order(numbers) for numbers in seen.values())


async def test_instances_killed_again_and_again_lose_and_reorder_nothing(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async def keep_changing() -> None:
        for _ in range(20):
            await _change_all(pool, THINGS, 3)
            await asyncio.sleep(0.05)

    changing = asyncio.create_task(keep_changing())
    for _ in range(3):
        with _instance(postgres_url, kafka) as child:
            assert child.stdout is not None
            await asyncio.to_thread(child.stdout.readline)
            await asyncio.sleep(secrets.randbelow(400) / 1000)
            child.send_signal(signal.SIGKILL)
    await changing
    with _instance(postgres_url, kafka), _instance(postgres_url, kafka):
        seen = await _published(kafka, THINGS, 60, within_s=60)
        await _emptied(pool)
    assert all(_in_order(numbers) for numbers in seen.values())


async def test_frozen_holder_loses_the_lock_and_another_goes_on(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    with _instance(postgres_url, kafka, lease_s=3) as frozen:
        await _change_all(pool, THINGS, 1)
        await _emptied(pool)
        frozen.send_signal(signal.SIGSTOP)
        async with (
            EventProducer(kafka, Codec(), client_id="two") as producer,
            _relay(postgres_url, producer, lease_s=3),
        ):
            await _change_all(pool, THINGS, 4)
            began = time.monotonic()
            await _emptied(pool)
            assert time.monotonic() - began < 20  # seconds after the lease, not whenever the frozen one comes back
            frozen.send_signal(signal.SIGCONT)
            await _change_all(pool, THINGS, 5)
            await _emptied(pool)
    seen = await _published(kafka, THINGS, 10)
    assert all(_in_order(numbers) for numbers in seen.values())


async def test_kafka_away_for_a_while_delays_and_loses_nothing(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async with EventProducer(kafka, Codec(), client_id="test") as real:
        gate = GatedProducer(real)
        gate.shut = True
        async with _relay(postgres_url, gate, lease_s=4):
            await _change_all(pool, THINGS, 5)
            await _wait_for_session_older_than(pool, 4)  # its lease: a waiting relay keeps its lock by speaking
            assert gate.refused > len(THINGS)
            assert await _waiting(pool) == 5 * len(THINGS)
            assert await _row_locks(pool) == 0
            gate.shut = False
            seen = await _published(kafka, THINGS, 5)
            await _emptied(pool)
    assert all(_in_order(numbers) for numbers in seen.values())


async def test_slow_key_does_not_hold_up_the_others(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    class OneKeyWaits(GatedProducer):
        async def send_raw(
            self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
        ) -> object:
            if key == b"slow" and self.shut:
                raise Unavailable("this partition has no leader")
            return await self._real.send_raw(topic_name, key, value, headers, timeout_s=timeout_s)

    async with EventProducer(kafka, Codec(), client_id="test") as real:
        waiting = OneKeyWaits(real)
        waiting.shut = True
        async with _relay(postgres_url, waiting):
            await _change_all(pool, ["slow", "quick"], 3)
            assert _in_order((await _published(kafka, ["quick"], 3))["quick"])
            assert await _waiting(pool) >= 3
            waiting.shut = False
            assert _in_order((await _published(kafka, ["slow"], 3))["slow"])


def _blocked_aggregates() -> float | None:
    return REGISTRY.get_sample_value("mailroom_outbox_blocked_aggregates", {"schema": SCHEMA})


async def _wait_for_blocked(count: int) -> None:
    await _wait_until(lambda: _blocked_aggregates() == count)


async def _wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # a metric and a log have no event
            await asyncio.sleep(0.05)


def _list_rejections(logs: Sequence[MutableMapping[str, Any]]) -> list[MutableMapping[str, Any]]:
    return [log for log in logs if log["event"] == "outbox_row_rejected"]


async def test_row_too_large_for_kafka_waits_with_those_behind_it_until_an_operator_takes_it_away(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    outbox = Outbox(SCHEMA, Codec())
    await _change(pool, outbox, "large")
    await _change(pool, outbox, "large", detail="x" * 1_100_000)
    await _change(pool, outbox, "large")
    rejected = await pool.fetchval("select id from outbox_test.outbox where octet_length(value) > 1000000")
    with capture_logs() as logs:
        async with (
            EventProducer(kafka, Codec(), client_id="test") as producer,
            _relay(postgres_url, producer, lease_s=4, blocked_retry_s=1),
        ):
            await _wait_for_blocked(1)
            await _change_all(pool, ["quick"], 3)
            assert _in_order((await _published(kafka, ["quick"], 3))["quick"])
            await _wait_until(
                lambda: len(_list_rejections(logs)) >= 2
            )  # it was sent again, and what is behind it was not
            assert (await _published(kafka, ["large"], 1))["large"] == [1]
            assert await _waiting(pool) == 2
            assert _blocked_aggregates() == 1

            await pool.execute("delete from outbox_test.outbox where id = $1", rejected)
            await _emptied(pool)
            assert (await _published(kafka, ["large"], 2))["large"] == [1, 3]
            await _wait_for_blocked(0)
    rejections = _list_rejections(logs)
    assert {(log["log_level"], log["outbox_id"], log["aggregate"]) for log in rejections} == {
        ("error", rejected, "large")
    }


async def test_rejected_rows_do_not_take_the_places_of_the_others(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    class TakesNothingLarge(GatedProducer):
        async def send_raw(
            self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
        ) -> object:
            if key and key.startswith(b"large"):
                self.refused += 1
                raise Rejected("a record is too large for Kafka")
            return await self._real.send_raw(topic_name, key, value, headers, timeout_s=timeout_s)

    more_than_fly_at_once = [f"large-{number}" for number in range(230)]
    await _change_all(pool, more_than_fly_at_once, 2)
    async with EventProducer(kafka, Codec(), client_id="test") as real:
        producer = TakesNothingLarge(real)
        async with _relay(postgres_url, producer):
            await _wait_for_blocked(230)
            await _change_all(pool, ["quick"], 1)
            assert (await _published(kafka, ["quick"], 1))["quick"] == [1]
            assert producer.refused == 230


async def test_row_that_kafka_takes_after_all_is_sent_by_itself(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    class LimitIsLow(GatedProducer):
        async def send_raw(
            self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
        ) -> object:
            if self.shut:
                raise Rejected("a record is too large for Kafka")
            return await self._real.send_raw(topic_name, key, value, headers, timeout_s=timeout_s)

    await _change_all(pool, ["thing"], 2)
    async with EventProducer(kafka, Codec(), client_id="test") as real:
        producer = LimitIsLow(real)
        producer.shut = True
        async with _relay(postgres_url, producer, lease_s=4, blocked_retry_s=1):
            await _wait_for_blocked(1)
            producer.shut = False  # the topic's limit is raised
            await _emptied(pool)
            assert _blocked_aggregates() == 0
    assert (await _published(kafka, ["thing"], 2))["thing"] == [1, 2]


async def test_relay_stops_at_once_while_kafka_does_not_answer(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async with EventProducer(kafka, Codec(), client_id="test") as real:
        silent = NeverAnswers(real)
        async with _relay(postgres_url, silent) as stopping:
            await _change_all(pool, ["thing"], 1)
            async with asyncio.timeout(5):
                await silent.asked.wait()
            stopping.set()
            began = time.monotonic()
        assert time.monotonic() - began < 3


async def test_relay_comes_back_after_its_session_was_ended(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    async with EventProducer(kafka, Codec(), client_id="test") as producer, _relay(postgres_url, producer):
        await _change_all(pool, ["thing"], 1)
        await _emptied(pool)
        ended = await pool.fetchval(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1",
            f"{SCHEMA}-outbox",
        )
        assert ended == 1
        await _change_all(pool, ["thing"], 1)
        await _emptied(pool)
    assert _in_order((await _published(kafka, ["thing"], 2))["thing"])


async def _row_locks(pool: asyncpg.Pool) -> int:
    count: int = await pool.fetchval(
        "select count(*) from pg_locks join pg_stat_activity using (pid) "
        "where application_name = $1 and locktype in ('tuple', 'transactionid', 'relation') and pg_locks.granted",
        f"{SCHEMA}-outbox",
    )
    return count


async def test_holder_that_thaws_finds_its_session_ended_and_stands_in_line_again(
    pool: asyncpg.Pool, kafka: KafkaSettings, postgres_url: str
) -> None:
    with _instance(postgres_url, kafka, lease_s=2) as frozen:
        await _change_all(pool, THINGS, 1)
        await _emptied(pool)
        frozen.send_signal(signal.SIGSTOP)
        await _wait_for_end_of_session(pool)
        frozen.send_signal(signal.SIGCONT)
        await _change_all(pool, THINGS, 1)
        await _emptied(pool)
        assert frozen.poll() is None
    assert all(_in_order(numbers) for numbers in (await _published(kafka, THINGS, 2)).values())
