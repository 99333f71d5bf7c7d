"""Document events: every one once, wherever a reader goes on, however their transactions end."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingestion_site import SCHEMA, wait_for_blocked_statement

from ingestion.adapters.document_events import _DELETE_OLD, PgEventLog
from ingestion.ports.events import Channel, EventLogRange
from mailroom_common.migrations import apply_migrations

pytestmark = pytest.mark.stack

_INSERT = "insert into ingestion.document_event (tenant_id, document_id, document) values ($1, $2, '{}')"
_EMPTY = "delete from ingestion.document_event; update ingestion.document_event_head set last_seq = 0, deleted_seq = 0"

# What may happen: a writer begins and inserts, a writer commits or rolls back, one of two sequencers numbers what it
# sees, a reader goes on from where it is.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(0, 3)),
        st.tuples(st.just("commit"), st.integers(0, 3)),
        st.tuples(st.just("roll back"), st.integers(0, 3)),
        st.tuples(st.just("number"), st.integers(0, 1)),
        st.tuples(st.just("read"), st.integers(0, 2)),
    ),
    max_size=40,
)


class EventLogHistory:
    """Four writers with open transactions, and three readers that reconnect with the last id each time."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self.events = PgEventLog(pool)
        self.writers: dict[
            int, tuple[asyncpg.pool.PoolConnectionProxy, asyncpg.transaction.Transaction, list[str]]
        ] = {}
        self.committed: list[str] = []
        self.seen: dict[int, list[tuple[int, str]]] = {0: [], 1: [], 2: []}
        self.count = 0

    async def take_step(self, step: str, who: int) -> None:
        match step:
            case "insert":
                await self.insert_event(who)
            case "commit" | "roll back":
                await self.end_transaction(who, commit=step == "commit")
            case "number":
                await self.events.assign_numbers()
            case "read":
                await self.read_on(who, limit=1 + who)

    async def insert_event(self, who: int) -> None:
        if who not in self.writers:
            conn = await self.pool.acquire()
            transaction = conn.transaction()
            await transaction.start()
            self.writers[who] = (conn, transaction, [])
        conn, _, inserted = self.writers[who]
        self.count += 1
        inserted.append(f"event-{self.count}")
        await conn.execute(_INSERT, "acme", inserted[-1])

    async def end_transaction(self, who: int, *, commit: bool) -> None:
        if who not in self.writers:
            return
        conn, transaction, inserted = self.writers.pop(who)
        await (transaction.commit() if commit else transaction.rollback())
        await self.pool.release(conn)
        if commit:
            self.committed += inserted

    async def read_on(self, who: int, limit: int = 100) -> None:
        last = self.seen[who][-1][0] if self.seen[who] else 0
        rows = await self.pool.fetch(
            "select seq, document_id from ingestion.document_event where tenant_id = 'acme' and seq > $1 "
            "order by seq limit $2",
            last,
            limit,
        )
        assert [event.seq for event in await self.events.list_events("acme", after=last, limit=limit)] == [
            row["seq"] for row in rows
        ]
        self.seen[who] += [(row["seq"], row["document_id"]) for row in rows]

    async def finish_all(self) -> None:
        for who in list(self.writers):
            await self.end_transaction(who, commit=True)
        while await self.events.assign_numbers():
            pass
        for who in self.seen:
            await self.read_on(who)


def test_each_reader_sees_every_committed_event_once_in_one_order(postgres_url: str) -> None:
    loop = asyncio.new_event_loop()
    try:
        pool = loop.run_until_complete(_open_pool(postgres_url))

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(STEPS)
        def holds(steps: list[tuple[str, int]]) -> None:
            loop.run_until_complete(_take_steps(pool, steps))

        holds()
        loop.run_until_complete(pool.close())
    finally:
        loop.close()


async def _open_pool(url: str) -> asyncpg.Pool:
    await apply_migrations(url, only={SCHEMA})
    return await asyncpg.create_pool(url, min_size=1, max_size=10)


async def _take_steps(pool: asyncpg.Pool, steps: list[tuple[str, int]]) -> None:
    await pool.execute(_EMPTY)
    history = EventLogHistory(pool)
    for step, who in steps:
        await history.take_step(step, who)
    await history.finish_all()
    for seen in history.seen.values():
        numbers = [seq for seq, _ in seen]
        assert numbers == sorted(set(numbers))
        assert sorted(event for _, event in seen) == sorted(history.committed)
    assert history.seen[0] == history.seen[1] == history.seen[2]


async def test_two_sequencers_at_once_give_no_number_twice(pool: asyncpg.Pool) -> None:
    await pool.executemany(_INSERT, [("acme", f"d{number}") for number in range(2000)])
    sequencers = [PgEventLog(pool) for _ in range(4)]

    async def run(events: PgEventLog) -> int:
        return sum([count async for count in _until_nothing(events)])

    assert sum(await asyncio.gather(*(run(events) for events in sequencers))) == 2000
    numbers = [row["seq"] for row in await pool.fetch("select seq from ingestion.document_event order by id")]
    assert numbers == list(range(1, 2001))
    assert (await sequencers[0].read_range("acme")).newest_seq == 2000


async def _until_nothing(events: PgEventLog):  # type: ignore[no-untyped-def]  # a generator of counts
    while count := await events.assign_numbers():
        yield count


async def test_old_events_are_deleted_and_the_head_says_up_to_where(pool: asyncpg.Pool) -> None:
    events = PgEventLog(pool)
    await pool.executemany(_INSERT, [("acme", f"d{number}") for number in range(3)])
    await events.assign_numbers()
    await pool.execute("update ingestion.document_event set created_at = now() - interval '31 days' where seq <= 2")
    await pool.execute(_INSERT, "acme", "not numbered yet")
    await pool.execute("update ingestion.document_event set created_at = now() - interval '31 days' where seq is null")
    assert await events.delete_events(older_than=timedelta(days=30)) == 2
    assert await events.delete_events(older_than=timedelta(days=30)) == 0
    assert await events.read_range("acme") == EventLogRange(newest_seq=3, deleted_seq=2)
    assert await events.read_range("other") == EventLogRange(newest_seq=2, deleted_seq=2)
    assert [event.seq for event in await events.list_events("acme", after=0, limit=10)] == [3]


async def test_old_events_are_looked_for_by_their_age_and_not_through_the_whole_log(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as conn, conn.transaction():
        for other_way in ("seqscan", "bitmapscan", "sort"):
            await conn.execute(f"set local enable_{other_way} = off")  # as with millions of events
        plan = await conn.fetch(f"explain {_DELETE_OLD}", timedelta(days=30), 500)
    assert "document_event_by_age" in "\n".join(row[0] for row in plan)


async def test_long_events_are_read_a_few_at_a_time(pool: asyncpg.Pool) -> None:
    events = PgEventLog(pool)
    await pool.executemany(_INSERT, [("acme", f"d{number}") for number in range(3)])
    await pool.execute("update ingestion.document_event set document = $1", {"lines": ["x" * 600_000]})
    await events.assign_numbers()
    assert [event.seq for event in await events.list_events("acme", after=0, limit=200)] == [1]
    assert [event.seq for event in await events.list_events("acme", after=1, limit=200)] == [2]
    assert [event.seq for event in await events.list_events("acme", after=2, limit=200)] == [3]


async def test_a_reader_who_sees_old_events_gone_also_sees_the_head_that_says_so(pool: asyncpg.Pool) -> None:
    events = PgEventLog(pool)
    await pool.execute(_INSERT, "acme", "d")
    await events.assign_numbers()
    await pool.execute("update ingestion.document_event set created_at = now() - interval '31 days'")
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("select from ingestion.document_event_head for update")
        forgetting = asyncio.create_task(events.delete_events(older_than=timedelta(days=30)))
        await wait_for_blocked_statement(pool, "document_event_head")
        assert await pool.fetchval("select count(*) from ingestion.document_event") == 1
    assert await forgetting == 1


async def test_an_event_with_a_number_wakes_the_streams(pool: asyncpg.Pool) -> None:
    heard = asyncio.Event()

    def on_notify(*_: object) -> None:
        heard.set()

    await pool.execute(_INSERT, "acme", "d")
    async with pool.acquire() as conn:
        await conn.add_listener(Channel.EVENT_NUMBERED, on_notify)
        await PgEventLog(pool).assign_numbers()
        await asyncio.wait_for(heard.wait(), 5)
        await conn.remove_listener(Channel.EVENT_NUMBERED, on_notify)
