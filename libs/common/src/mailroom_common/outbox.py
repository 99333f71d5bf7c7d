"""The transactional outbox: events written in the transaction that changes state are published afterwards, in order.

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

A row that Kafka can never take (larger than the producer or the topic allows) blocks the later rows of its aggregate;
other aggregates go on. The log says `outbox_row_rejected` with its `outbox_id`, and
`mailroom_outbox_blocked_aggregates` stays above 0 until an operator acts:

1. When the topic's `max.message.bytes` was lowered, raise it again. The relay sends the row again each minute.
2. Otherwise nothing can make the row fit. Delete it and keep what this returns, since consumers never receive the
   event; within a minute the rows behind it are published:

    delete from <schema>.outbox where id = <outbox_id> returning *;

   Then correct the writer: it put more into an event than a record holds.
"""

import asyncio
from collections.abc import Mapping
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
from mailroom_common.retries import backoff_s, wait_for_event, wait_for_first
from mailroom_common.topics import TOPICS, Topic

log = get_logger()

_TOPICS = {topic.name: topic for topic in TOPICS}
_BATCH_ROWS = 500
_MAX_AGGREGATES_IN_FLIGHT = 200
_SEND_TIMEOUT_S = 10.0
_STANDBY_POLL_S = 0.5
_DRAIN_S = 1.0
_BLOCKED_RETRY_S = 60.0


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
    """The writing side: adds records to the transactions of one service."""

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
        standard = (
            build_tombstone_headers(self._source)
            if event is None
            else build_event_headers(event, self._codec.find_kind(event), self._source)
        )
        all_headers = {name: text.decode() for name, text in override_headers(standard, headers or {})}
        await conn.execute(self._insert, topic.name, key, value, orjson.dumps(all_headers).decode(), aggregate)
        # In the same transaction, so that the relay wakes when the row is visible; Postgres folds repeats.
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
class _Block:
    """Why an aggregate waits: the row that Kafka does not take, and when it is sent again, by the loop's clock."""

    row_id: int
    retry_at: float


def _read_row(record: asyncpg.Record) -> _Row:
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
        blocked_retry_s: float = _BLOCKED_RETRY_S,
    ) -> None:
        self._url = database_url
        self._schema = schema
        self._producer = producer
        self._lease_s = lease_s
        # NOTIFY wakes the relay. The poll keeps the session alive, and finds the rows whose NOTIFY was lost.
        self._poll_s = lease_s / 5
        self._blocked_retry_s = blocked_retry_s
        self._wake = asyncio.Event()
        self._sends: dict[str, asyncio.Task[None]] = {}  # by aggregate
        self._acknowledged: list[int] = []
        self._blocked: dict[str, _Block] = {}  # by aggregate
        self._is_leading = False

    def list_blocked_aggregates(self) -> list[str] | None:
        """Those whose rows wait for an operator, as far as they were sent yet. None: another instance's relay leads,
        and knows."""
        return list(self._blocked) if self._is_leading else None

    async def run_relay(self, stopping: asyncio.Event) -> None:
        """Publish until `stopping`, through any absence of Kafka and Postgres."""
        OUTBOX_LEADER.labels(self._schema).set(0)  # one that waits for the lock says so from the start
        while not stopping.is_set():
            try:
                async with open_leased_session(
                    self._url, application_name=f"{self._schema}-outbox", lease_s=self._lease_s
                ) as conn:
                    with transient_errors():
                        if await self._become_leader(conn, stopping):
                            await self._lead(conn, stopping)
            except Unavailable as error:
                # Postgres is away; rows collect in the outbox until the relay has its lock again.
                log.warning("outbox_relay_interrupted", schema=self._schema, reason=str(error))
                await wait_for_event(stopping, backoff_s(1, initial_s=1.0, max_s=1.0))
            finally:
                OUTBOX_LEADER.labels(self._schema).set(0)

    async def _become_leader(self, conn: asyncpg.Connection, stopping: asyncio.Event) -> bool:
        # Polled, and not waited for in the server: such a wait would outlive a network that broke.
        while not stopping.is_set():
            if await conn.fetchval("select pg_try_advisory_lock($1)", advisory_lock_key("outbox", self._schema)):
                log.info("outbox_leadership_acquired", schema=self._schema)
                OUTBOX_LEADER.labels(self._schema).set(1)
                return True
            await wait_for_event(stopping, backoff_s(1, initial_s=_STANDBY_POLL_S, max_s=_STANDBY_POLL_S))
        return False

    async def _lead(self, conn: asyncpg.Connection, stopping: asyncio.Event) -> None:
        lock = SessionLock(f"outbox:{self._schema}", self._lease_s)
        self._acknowledged.clear()
        try:
            self._is_leading = True
            await conn.add_listener(_channel(self._schema), lambda *_: self._wake.set())
            while not stopping.is_set():
                # Cleared before the table is read: a NOTIFY that comes after the read must not be lost.
                self._wake.clear()
                await self._collect_finished_sends(conn)
                await self._unblock_deleted_rows(conn)
                if not await self._dispatch_unsent_rows(conn, lock):
                    await wait_for_first(self._wake, stopping, timeout_s=self._poll_s)
            await self._drain(conn)
        finally:
            self._is_leading = False
            for send in self._sends.values():
                send.cancel()
            await asyncio.gather(*self._sends.values(), return_exceptions=True)
            self._sends.clear()
            # The next leader finds out by itself what cannot be sent.
            self._blocked.clear()
            self._report_blocked()

    async def _dispatch_unsent_rows(self, conn: asyncpg.Connection, lock: SessionLock) -> bool:
        """Begin to send the rows of aggregates that have no send under way; False when there were none."""
        rows = await self._read_unsent_rows(conn)
        lock.record_activity()
        by_aggregate: dict[str, list[_Row]] = {}
        for row in rows:
            by_aggregate.setdefault(row.aggregate, []).append(row)
        for aggregate, waiting in by_aggregate.items():
            send = asyncio.create_task(self._send_in_order(waiting, lock))
            self._sends[aggregate] = send
            send.add_done_callback(lambda _: self._wake.set())
        return bool(rows)

    async def _read_unsent_rows(self, conn: asyncpg.Connection) -> list[_Row]:
        limit = _BATCH_ROWS if len(self._sends) < _MAX_AGGREGATES_IN_FLIGHT else 0
        blocked = [aggregate for aggregate, block in self._blocked.items() if _now() < block.retry_at]
        records = await conn.fetch(
            "select id, topic, key, value, headers::text as headers, aggregate, created_at "  # noqa: S608
            f'from "{self._schema}".outbox where aggregate <> all($1::text[]) order by id limit $2',
            # An aggregate whose send is under way is left out whole: its rows must not overtake one another.
            [*self._sends, *blocked],
            limit,
        )
        return [_read_row(record) for record in records]

    async def _send_in_order(self, rows: list[_Row], lock: SessionLock) -> None:
        for row in rows:
            try:
                await self._send_row(row, lock)
            except Rejected as error:
                self._block_aggregate(row, error)
                return  # the rows behind it in its aggregate keep their order
            if self._blocked.pop(row.aggregate, None):
                self._report_blocked()
            self._acknowledged.append(row.id)
            OUTBOX_PUBLISHED.labels(self._schema).inc()
            OUTBOX_DELAY_S.labels(self._schema).observe((datetime.now(UTC) - row.created_at).total_seconds())

    def _block_aggregate(self, row: _Row, error: Rejected) -> None:
        # Kafka can never take this row: its aggregate is blocked until an operator changes or deletes it.
        log.error(
            "outbox_row_rejected",
            schema=self._schema,
            outbox_id=row.id,
            topic=row.topic.name,
            aggregate=row.aggregate,
            size_bytes=len(row.value or b""),
            reason=str(error),
            retry_in_s=self._blocked_retry_s,
        )
        self._blocked[row.aggregate] = _Block(row.id, _now() + self._blocked_retry_s)
        self._report_blocked()

    def _report_blocked(self) -> None:
        OUTBOX_BLOCKED_AGGREGATES.labels(self._schema).set(len(self._blocked))

    async def _unblock_deleted_rows(self, conn: asyncpg.Connection) -> None:
        """A row that an operator deleted blocks its aggregate no longer."""
        if not any(block.retry_at <= _now() for block in self._blocked.values()):
            return
        row_ids = {block.row_id for block in self._blocked.values()}
        existing = await conn.fetch(f'select id from "{self._schema}".outbox where id = any($1)', list(row_ids))  # noqa: S608
        deleted = row_ids - {record["id"] for record in existing}
        self._blocked = {key: block for key, block in self._blocked.items() if block.row_id not in deleted}
        self._report_blocked()

    async def _send_row(self, row: _Row, lock: SessionLock) -> None:
        """Returns once Kafka has acknowledged the row, however long it takes: an outbox has no dead letters.

        Raises:
            Rejected: no retry can help this row.
            Unavailable: the lock may be lost; another relay may send the row by now.
        """
        attempt = 0
        while True:
            # Before each attempt: a relay that was frozen must not send behind the back of its successor.
            lock.require_held()
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
                attempt += 1
                OUTBOX_FAILED_SENDS.labels(self._schema).inc()
                # Kafka did not acknowledge in time; the row stays and is sent again.
                log.warning("outbox_send_failed", schema=self._schema, outbox_id=row.id, reason=str(error))
                await asyncio.sleep(backoff_s(attempt, initial_s=0.1, max_s=5.0))
            else:
                return

    async def _collect_finished_sends(self, conn: asyncpg.Connection) -> None:
        # Finished sends are listed before the delete and released after it: released first, their rows would be read
        # again and sent twice.
        finished = [aggregate for aggregate, send in self._sends.items() if send.done()]
        await self._delete_acknowledged(conn)
        for aggregate in finished:
            if (error := self._sends.pop(aggregate).exception()) is not None:
                # A bug of ours while sending one aggregate's rows; they are still in the table and are read again.
                log.error("outbox_send_crashed", schema=self._schema, exc_info=error)

    async def _delete_acknowledged(self, conn: asyncpg.Connection) -> None:
        deleted = self._acknowledged[:]
        if deleted:
            await conn.execute(f'delete from "{self._schema}".outbox where id = any($1)', deleted)  # noqa: S608
            # Sends go on during the delete: what they acknowledged meanwhile stays for the next one.
            del self._acknowledged[: len(deleted)]

    async def _drain(self, conn: asyncpg.Connection) -> None:
        """At a stop: rows that Kafka acknowledges within a moment need not be sent again by the next leader."""
        if self._sends:
            await asyncio.wait(self._sends.values(), timeout=_DRAIN_S)
        await self._delete_acknowledged(conn)


def _channel(schema: str) -> str:
    return f"outbox_{schema}"


def _now() -> float:
    return asyncio.get_running_loop().time()
