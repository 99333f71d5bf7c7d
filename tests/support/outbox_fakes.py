"""A table and a Kafka in memory for the outbox relay, and a relay that runs between them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import REGISTRY

from mailroom_common import outbox
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.outbox import OutboxRelay
from mailroom_common.topics import CONNECTION_EVENTS, Topic

SCHEMA = "unit_test"


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


def patch_database(monkeypatch: pytest.MonkeyPatch) -> FakeDatabase:
    """The relays that start afterwards use it."""
    database = FakeDatabase()
    monkeypatch.setattr(outbox, "open_leased_session", database.open_session)
    monkeypatch.setattr(outbox, "_STANDBY_POLL_S", 0.01)
    return database


def read_metric(name: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"schema": SCHEMA})


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
