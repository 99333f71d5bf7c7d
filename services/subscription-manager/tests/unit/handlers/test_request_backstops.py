import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from connection_samples import NOW, Clock, make_connection
from fake_connection_store import FakeConnectionStore

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.request_backstops import BackstopScheduler

IDS = [f"{number}" * 8 + "-1111-4111-8111-111111111111" for number in range(1, 6)]


class CountingStore(FakeConnectionStore):
    """`rounds` counts the requests; the one of number `until` sets `came`."""

    def __init__(self, until: int = 1) -> None:
        super().__init__(*(make_connection(id=one, provider_user_id=one, next_backstop_at=NOW) for one in IDS))
        self.rounds = 0
        self.came = asyncio.Event()
        self._until = until
        self.errors: list[Exception] = []

    async def request_backstop_syncs(self, now: datetime, *, interval: timedelta, limit: int) -> int:
        self.rounds += 1
        if self.rounds >= self._until:
            self.came.set()
        if self.errors:
            raise self.errors.pop()
        return await super().request_backstop_syncs(now, interval=interval, limit=limit)


@asynccontextmanager
async def run_until_left(store: CountingStore, interval: timedelta = timedelta(minutes=15)) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    scheduler = BackstopScheduler(store, interval=interval, clock=Clock())
    task = asyncio.ensure_future(scheduler.run_backstops(stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(task, 15)


async def test_every_active_doc_source_gets_its_backstop_and_no_other() -> None:
    store = CountingStore()
    store.rows[IDS[3]] = make_connection(id=IDS[3], next_backstop_at=NOW, state=ConnectionState.PAUSED)
    store.rows[IDS[4]] = make_connection(id=IDS[4], next_backstop_at=NOW + timedelta(minutes=5))
    async with run_until_left(store):
        await asyncio.wait_for(store.came.wait(), 15)
    assert sorted(store.sync_requests) == [(one, SyncReason.BACKSTOP) for one in IDS[:3]]


async def test_backstops_go_on_after_an_absence_of_postgres() -> None:
    store = CountingStore(until=2)
    store.errors = [Unavailable("Postgres")]
    async with run_until_left(store, timedelta(seconds=0.1)):
        await asyncio.wait_for(store.came.wait(), 15)
    assert sorted(one for one, _ in store.sync_requests) == IDS
