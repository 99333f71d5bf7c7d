import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta

from connection_fakes import NOW, Clock, FakeConnections, a_connection

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason
from subscription_manager.domain.connection import State
from subscription_manager.handlers.run_keeper import RunBackstop, RunKeeper

IDS = [f"{number}" * 8 + "-1111-4111-8111-111111111111" for number in range(1, 6)]


def connections(**changed: object) -> FakeConnections:
    return FakeConnections(*(a_connection(id=one, provider_user_id=one, **changed) for one in IDS))


@asynccontextmanager
async def running(run: Callable[[asyncio.Event], Coroutine[None, None, None]]) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    task = asyncio.ensure_future(run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(task, 15)


class Keeper:
    """Notes who is kept, and how many at once; `gate` holds them up."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.most = 0
        self._now = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.came = asyncio.Event()
        self.wanted = len(IDS)
        self.error: Exception | None = None

    async def keep(self, doc_source_id: str) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        self.kept.append(doc_source_id)
        if len(self.kept) >= self.wanted:
            self.came.set()
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
            if self.error is not None:
                raise self.error
        finally:
            self._now -= 1


def runner(world: FakeConnections, keeper: Keeper, *, at_once: int = 2, wake: asyncio.Event | None = None) -> RunKeeper:
    return RunKeeper(world, keeper.keep, wake=wake or asyncio.Event(), poll_s=30, at_once=at_once, clock=Clock())


async def test_all_that_is_due_is_kept_a_few_at_a_time_and_once() -> None:
    keeper = Keeper()
    async with running(runner(connections(), keeper).run):
        await asyncio.wait_for(keeper.came.wait(), 15)
    assert sorted(keeper.kept) == IDS
    assert keeper.most == 2


async def test_two_instances_share_the_work() -> None:
    world, one, two = connections(), Keeper(), Keeper()
    one.gate.clear()
    two.gate.clear()
    async with (
        running(runner(world, one, at_once=5).run),
        running(runner(world, two, at_once=5).run),
    ):
        await asyncio.sleep(0.05)
    assert sorted(one.kept + two.kept) == IDS


async def test_wake_is_followed_at_once() -> None:
    world, keeper, wake = connections(attention_at=None), Keeper(), asyncio.Event()
    keeper.wanted = 1
    async with running(runner(world, keeper, wake=wake).run):
        await asyncio.sleep(0.02)
        world.rows[IDS[0]] = a_connection(id=IDS[0], attention_at=NOW)
        wake.set()
        await asyncio.wait_for(keeper.came.wait(), 1)
    assert keeper.kept == [IDS[0]]


async def test_failure_of_one_stops_nobody() -> None:
    for error in (Unavailable("lock"), RuntimeError("bug")):
        keeper = Keeper()
        keeper.error = error
        async with running(runner(connections(), keeper).run):
            await asyncio.wait_for(keeper.came.wait(), 15)
        assert sorted(keeper.kept) == IDS


async def test_database_that_is_away_is_waited_for() -> None:
    class Away(FakeConnections):
        asked_before = 0

        async def claim_attention(self, now: object, *, lease: timedelta, limit: int) -> list[str]:
            self.asked_before += 1
            if self.asked_before == 1:
                raise Unavailable("Postgres")
            return [IDS[0]] if self.asked_before == 2 else []

    keeper, wake = Keeper(), asyncio.Event()
    keeper.wanted = 1
    async with running(runner(Away(), keeper, wake=wake).run):
        await asyncio.sleep(0.02)
        wake.set()
        await asyncio.wait_for(keeper.came.wait(), 15)
    assert keeper.kept == [IDS[0]]


async def test_every_active_doc_source_gets_its_backstop_and_no_other() -> None:
    world = connections(backstop_at=NOW)
    world.rows[IDS[3]] = a_connection(id=IDS[3], backstop_at=NOW, state=State.PAUSED)
    world.rows[IDS[4]] = a_connection(id=IDS[4], backstop_at=NOW + timedelta(minutes=5))
    async with running(RunBackstop(world, interval=timedelta(minutes=15), clock=Clock()).run):
        await asyncio.sleep(0.05)
    assert sorted(world.asked) == [(one, SyncReason.BACKSTOP) for one in IDS[:3]]
    for one in IDS[:3]:
        assert world.rows[one].backstop_at is not None


async def test_backstop_outlives_an_absence_of_postgres() -> None:
    class Away(FakeConnections):
        times = 0

        async def ask_for_backstops(self, now: object, *, interval: timedelta, limit: int) -> int:
            self.times += 1
            if self.times == 1:
                raise Unavailable("Postgres")
            return 0

    world = Away()
    async with running(RunBackstop(world, interval=timedelta(seconds=0.1), clock=Clock()).run):
        await asyncio.sleep(0.1)
    assert world.times > 1
