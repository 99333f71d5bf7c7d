"""The transactional outbox: what a transaction changed is published afterwards, in order, at least once.

A service's migration creates its table:

    create table <schema>.outbox (
        id bigint generated always as identity primary key,
        topic text not null,
        key text not null,
        value bytea,
        headers jsonb not null default '{}',
        aggregate text not null,
        created_at timestamptz not null default now()
    );

A writer locks the aggregate's row before it adds, so that ids within an aggregate rise in the order of the commits.
One relay per schema publishes in id order and awaits the acknowledgement of an aggregate's row before its next.

A row that Kafka can never take (larger than the producer or the topic allows) is set aside with the later rows of its
aggregate, and the others go on. The log says `outbox_row_rejected` with its `outbox_id`, and
`mailroom_outbox_blocked_aggregates` stays above 0 until an operator acts:

1. When the topic's `max.message.bytes` was lowered, raise it again. The row is sent again each minute by itself.
2. Otherwise nothing can make the row fit. Take it away and keep what this returns, since its readers never hear of the
   event; within a minute the rows behind it go on:

    delete from <schema>.outbox where id = <outbox_id> returning *;

   Then mend the writer: it let more into an event than a record holds.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import asyncpg
import orjson
from asyncpg.pool import PoolConnectionProxy
from pydantic import SecretStr

from mailroom_common.errors import MailroomError, Rejected, Unavailable
from mailroom_common.events import Event
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import RawHeaders, build_event_headers, build_tombstone_headers, override_headers
from mailroom_common.locks import LEASE_S, SessionLock, advisory_lock_key, open_leased_session
from mailroom_common.logs import get_logger
from mailroom_common.metrics import (
    OUTBOX_BLOCKED_AGGREGATES,
    OUTBOX_DELAY_S,
    OUTBOX_FAILED_SENDS,
    OUTBOX_LEADER,
    OUTBOX_PUBLISHED,
)
from mailroom_common.postgres import transient_errors
from mailroom_common.topics import TOPICS, Topic

log = get_logger()

_TOPICS = {topic.name: topic for topic in TOPICS}
_BATCH_ROWS = 500
_MOST_AGGREGATES_IN_FLIGHT = 200
_SEND_TIMEOUT_S = 10.0
_STANDBY_S = 0.5
_LAST_SENDS_S = 1.0
_SET_ASIDE_S = 60.0


class OutboxPublisher(Protocol):
    """`EventProducer` of `kafka/producer.py`: returns when Kafka has acknowledged, raises Unavailable in time.

    Raises Rejected for a record that Kafka can never take.
    """

    def topic_name(self, topic: Topic) -> str: ...

    async def send_raw(
        self,
        topic_name: str,
        key: bytes | None,
        value: bytes | None,
        headers: RawHeaders,
        *,
        timeout_s: float,
    ) -> object: ...


class Outbox:
    """The writing side, one per service."""

    def __init__(self, schema: str, codec: Codec) -> None:
        self._codec = codec
        self._source = f"/mailroom/{schema.replace('_', '-')}".encode()
        self._channel = _channel(schema)
        # The schema's name is ours, never a caller's.
        self._insert = (
            f'insert into "{schema}".outbox (topic, key, value, headers, aggregate) '  # noqa: S608
            "values ($1, $2, $3, ($4::text)::jsonb, $5)"
        )

    async def append_record(
        self,
        conn: PoolConnectionProxy,
        topic: Topic,
        key: str,
        event: Event | None,
        *,
        aggregate: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Add a record to the transaction of `conn`, whose caller holds the lock on the aggregate's row.

        `event` None is a tombstone. The value is encoded now: a relay of a newer version publishes what was meant.
        """
        value = None if event is None else self._codec.encode(event)
        usual = (
            build_tombstone_headers(self._source)
            if event is None
            else build_event_headers(event, self._codec.find_kind(event), self._source)
        )
        told = orjson.dumps({name: text.decode() for name, text in override_headers(usual, headers or {})}).decode()
        await conn.execute(self._insert, topic.name, key, value, told, aggregate)
        # In the same transaction, so that it is heard when the row can be seen; Postgres folds repeats.
        await conn.execute("select pg_notify($1, '')", self._channel)


@dataclass(frozen=True, slots=True)
class _Row:
    id: int
    topic: Topic
    key: str
    value: bytes | None
    headers: RawHeaders
    aggregate: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class _Aside:
    """Why an aggregate waits: the row that Kafka does not take, and when it is sent again, by the loop's clock."""

    row_id: int
    again_at: float


def _row(record: asyncpg.Record) -> _Row:
    headers = [(name, text.encode()) for name, text in orjson.loads(record["headers"]).items()]
    return _Row(**{**record, "topic": _TOPICS[record["topic"]], "headers": headers})


class OutboxRelay:
    """OutboxPublisher a schema's outbox. Run one in every instance: the lock lets one at a time work.

    Lock, reads and deletes share one connection, so who has lost the lock can neither read nor delete any more; and no
    row lock is held while Kafka is slow.
    """

    def __init__(
        self,
        database_url: SecretStr | str,
        schema: str,
        producer: OutboxPublisher,
        *,
        lease_s: float = LEASE_S,
        set_aside_s: float = _SET_ASIDE_S,
    ) -> None:
        self._url = database_url
        self._schema = schema
        self._producer = producer
        self._lease_s = lease_s
        # NOTIFY wakes the relay; the poll is what keeps the lock, and the net below a NOTIFY that was lost.
        self._poll_s = lease_s / 5
        self._set_aside_s = set_aside_s
        self._wake = asyncio.Event()
        self._flights: dict[str, asyncio.Task[None]] = {}
        self._acknowledged: list[int] = []
        self._aside: dict[str, _Aside] = {}

    async def run_relay(self, stopping: asyncio.Event) -> None:
        """Publish until `stopping`, through any absence of Kafka and Postgres."""
        while not stopping.is_set():
            try:
                async with open_leased_session(
                    self._url, application_name=f"{self._schema}-outbox", lease_s=self._lease_s
                ) as conn:
                    with transient_errors():
                        if await self._become_leader(conn, stopping):
                            await self._lead(conn, stopping)
            except Unavailable as error:
                log.warning("outbox_relay_waits", schema=self._schema, reason=str(error))
                await _until(stopping, random.uniform(0.5, 1.5))  # noqa: S311  # jitter
            finally:
                OUTBOX_LEADER.labels(self._schema).set(0)

    async def _become_leader(self, conn: asyncpg.Connection, stopping: asyncio.Event) -> bool:
        # Asked for again and again, not waited for: a wait in the server would outlive a network that broke.
        while not stopping.is_set():
            if await conn.fetchval("select pg_try_advisory_lock($1)", advisory_lock_key("outbox", self._schema)):
                log.info("outbox_relay_leads", schema=self._schema)
                OUTBOX_LEADER.labels(self._schema).set(1)
                return True
            await _until(stopping, random.uniform(0.5, 1.5) * _STANDBY_S)  # noqa: S311  # jitter
        return False

    async def _lead(self, conn: asyncpg.Connection, stopping: asyncio.Event) -> None:
        held = SessionLock(f"outbox:{self._schema}", self._lease_s)
        self._acknowledged.clear()
        await conn.add_listener(_channel(self._schema), lambda *_: self._wake.set())
        try:
            while not stopping.is_set():
                self._wake.clear()
                await self._settle(conn)
                await self._forget_what_was_deleted(conn)
                if not await self._start_flights(conn, held):
                    await _first_of(self._wake, stopping, timeout_s=self._poll_s)
            await self._land(conn)
        finally:
            for flight in self._flights.values():
                flight.cancel()
            await asyncio.gather(*self._flights.values(), return_exceptions=True)
            self._flights.clear()
            # The next leader finds out by itself what cannot be sent.
            self._aside.clear()
            self._show_aside()

    async def _start_flights(self, conn: asyncpg.Connection, held: SessionLock) -> bool:
        """Send what no flight carries yet; False when there was nothing."""
        rows = await self._rows_on_the_ground(conn)
        held.record_activity()
        by_aggregate: dict[str, list[_Row]] = {}
        for row in rows:
            by_aggregate.setdefault(row.aggregate, []).append(row)
        for aggregate, waiting in by_aggregate.items():
            flight = asyncio.create_task(self._send_in_order(waiting, held))
            self._flights[aggregate] = flight
            flight.add_done_callback(lambda _: self._wake.set())
        return bool(rows)

    async def _rows_on_the_ground(self, conn: asyncpg.Connection) -> list[_Row]:
        limit = _BATCH_ROWS if len(self._flights) < _MOST_AGGREGATES_IN_FLIGHT else 0
        records = await conn.fetch(
            "select id, topic, key, value, headers::text as headers, aggregate, created_at "  # noqa: S608
            f'from "{self._schema}".outbox where aggregate <> all($1::text[]) order by id limit $2',
            [*self._flights, *(aggregate for aggregate, aside in self._aside.items() if _now() < aside.again_at)],
            limit,
        )
        return [_row(record) for record in records]

    async def _send_in_order(self, rows: list[_Row], held: SessionLock) -> None:
        for row in rows:
            try:
                await self._send(row, held)
            except Rejected as error:
                self._set_aside(row, error)
                return  # what is behind it in its aggregate keeps its place
            if self._aside.pop(row.aggregate, None):
                self._show_aside()
            self._acknowledged.append(row.id)
            OUTBOX_PUBLISHED.labels(self._schema).inc()
            OUTBOX_DELAY_S.labels(self._schema).observe((datetime.now(UTC) - row.created_at).total_seconds())

    def _set_aside(self, row: _Row, error: Rejected) -> None:
        log.error(
            "outbox_row_rejected",
            schema=self._schema,
            outbox_id=row.id,
            topic=row.topic.name,
            aggregate=row.aggregate,
            size_bytes=len(row.value or b""),
            reason=str(error),
            again_in_s=self._set_aside_s,
        )
        self._aside[row.aggregate] = _Aside(row.id, _now() + self._set_aside_s)
        self._show_aside()

    def _show_aside(self) -> None:
        OUTBOX_BLOCKED_AGGREGATES.labels(self._schema).set(len(self._aside))

    async def _forget_what_was_deleted(self, conn: asyncpg.Connection) -> None:
        """A row that an operator took away holds up its aggregate no longer."""
        if not any(aside.again_at <= _now() for aside in self._aside.values()):
            return
        asked = {aside.row_id for aside in self._aside.values()}
        found = await conn.fetch(f'select id from "{self._schema}".outbox where id = any($1)', list(asked))  # noqa: S608
        gone = asked - {record["id"] for record in found}
        self._aside = {aggregate: aside for aggregate, aside in self._aside.items() if aside.row_id not in gone}
        self._show_aside()

    async def _send(self, row: _Row, held: SessionLock) -> None:
        """
        Raises:
            Rejected: no repeat can help this row.
        """
        pause_s = 0.1
        while True:
            held.require_held()
            try:
                await self._producer.send_raw(
                    self._producer.topic_name(row.topic),
                    row.key.encode(),
                    row.value,
                    row.headers,
                    timeout_s=_SEND_TIMEOUT_S,
                )
            except Rejected:
                raise
            except MailroomError as error:
                # Whatever else Kafka says, the row stays and is sent again: an outbox has no dead letters.
                OUTBOX_FAILED_SENDS.labels(self._schema).inc()
                log.warning("outbox_send_failed", schema=self._schema, outbox_id=row.id, reason=str(error))
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311  # jitter
                pause_s = min(pause_s * 2, 5.0)
            else:
                return

    async def _settle(self, conn: asyncpg.Connection) -> None:
        # The landed are taken down before the delete and released after it: their rows would be read again otherwise.
        landed = [aggregate for aggregate, flight in self._flights.items() if flight.done()]
        await self._delete_acknowledged(conn)
        for aggregate in landed:
            if (error := self._flights.pop(aggregate).exception()) is not None:
                log.warning("outbox_flight_ended", schema=self._schema, reason=f"{type(error).__name__}: {error}")

    async def _delete_acknowledged(self, conn: asyncpg.Connection) -> None:
        deleted = self._acknowledged[:]
        if deleted:
            await conn.execute(f'delete from "{self._schema}".outbox where id = any($1)', deleted)  # noqa: S608
            del self._acknowledged[: len(deleted)]

    async def _land(self, conn: asyncpg.Connection) -> None:
        """At a stop: what Kafka acknowledges in a moment need not be sent a second time by the next leader."""
        if self._flights:
            await asyncio.wait(self._flights.values(), timeout=_LAST_SENDS_S)
        await self._delete_acknowledged(conn)


def _channel(schema: str) -> str:
    return f"outbox_{schema}"


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _first_of(*events: asyncio.Event, timeout_s: float) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _until(event: asyncio.Event, timeout_s: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout_s)
