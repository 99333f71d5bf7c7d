import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from connection_samples import NOW, Clock, make_connection
from fake_connection_store import FakeConnectionStore
from structlog.testing import capture_logs

from mailroom_common.errors import Unavailable
from subscription_manager.handlers.subscription_reconciler import SubscriptionReconciler

IDS = [f"{number}" * 8 + "-1111-4111-8111-111111111111" for number in range(1, 6)]


def make_store(**changed: object) -> FakeConnectionStore:
    return FakeConnectionStore(*(make_connection(id=one, provider_user_id=one, **changed) for one in IDS))


class StepRecorder:
    """Records which doc sources advance, and how many at once; `gate` holds the steps up."""

    def __init__(self, expected: int = len(IDS)) -> None:
        self.advanced: list[str] = []
        self.max_running = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.all_came = asyncio.Event()
        self.error: Exception | None = None
        self._expected = expected
        self._running = 0

    async def advance_subscription(self, doc_source_id: str) -> None:
        self._running += 1
        self.max_running = max(self.max_running, self._running)
        self.advanced.append(doc_source_id)
        if len(self.advanced) >= self._expected:
            self.all_came.set()
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
            if self.error is not None:
                raise self.error
        finally:
            self._running -= 1

    async def wait_for_all(self, within_s: float = 15) -> None:
        await asyncio.wait_for(self.all_came.wait(), within_s)


class CountingStore(FakeConnectionStore):
    """Tells when it was asked for due checks: `asked` is set by each claim."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # connections
        self.claims = 0
        self.asked = asyncio.Event()

    async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
        self.claims += 1
        self.asked.set()
        return await super().claim_due_checks(now, lease=lease, limit=limit)


def make_reconciler(
    store: FakeConnectionStore,
    steps: StepRecorder,
    *,
    max_concurrent: int = 2,
    max_pause_s: float = 30,
    wake: asyncio.Event | None = None,
    clock: Clock | None = None,
) -> SubscriptionReconciler:
    return SubscriptionReconciler(
        store,
        steps.advance_subscription,
        wake=wake or asyncio.Event(),
        max_pause_s=max_pause_s,
        max_concurrent=max_concurrent,
        clock=clock or Clock(),
    )


@asynccontextmanager
async def run_until_left(reconciler: SubscriptionReconciler) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    task = asyncio.ensure_future(reconciler.run_reconciler(stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(task, 15)


async def test_all_that_is_due_advances_a_few_at_a_time_and_once() -> None:
    steps = StepRecorder()
    async with run_until_left(make_reconciler(make_store(), steps)):
        await steps.wait_for_all()
    assert sorted(steps.advanced) == IDS
    assert steps.max_running == 2


async def test_no_more_is_claimed_than_may_run() -> None:
    # What another instance could have taken would wait for us.
    store, steps = make_store(), StepRecorder(expected=2)
    steps.gate.clear()
    async with run_until_left(make_reconciler(store, steps)):
        await steps.wait_for_all()
        due = [row.id for row in store.rows.values() if row.next_check_at == NOW]
        assert len(due) == len(IDS) - 2
        steps.gate.set()


async def test_two_instances_share_the_work() -> None:
    store, one, two = make_store(), StepRecorder(expected=3), StepRecorder(expected=2)
    one.gate.clear()
    two.gate.clear()
    async with (
        run_until_left(make_reconciler(store, one, max_concurrent=3)),
        run_until_left(make_reconciler(store, two, max_concurrent=5)),
    ):
        await one.wait_for_all()
        await two.wait_for_all()
    assert sorted(one.advanced + two.advanced) == IDS


async def test_wake_is_followed_at_once() -> None:
    store, steps, wake = CountingStore(), StepRecorder(expected=1), asyncio.Event()
    async with run_until_left(make_reconciler(store, steps, wake=wake)):
        await asyncio.wait_for(store.asked.wait(), 15)
        store.rows[IDS[0]] = make_connection(id=IDS[0], next_check_at=NOW)
        wake.set()
        await steps.wait_for_all(5)
    assert steps.advanced == [IDS[0]]


async def test_wake_during_a_claim_is_not_lost() -> None:
    wake, steps = asyncio.Event(), StepRecorder(expected=1)

    class ChangedDuringClaim(CountingStore):
        async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
            claimed = await super().claim_due_checks(now, lease=lease, limit=limit)
            if self.claims == 1:
                self.rows[IDS[0]] = make_connection(id=IDS[0], next_check_at=NOW)
                wake.set()
            return claimed

    async with run_until_left(make_reconciler(ChangedDuringClaim(), steps, wake=wake)):
        await steps.wait_for_all(5)


async def test_scheduled_check_is_made_when_its_time_comes_and_not_at_the_next_round() -> None:
    class RealClock(Clock):
        def __init__(self) -> None:
            super().__init__()
            self._began = time.monotonic()

        def __call__(self) -> datetime:
            return NOW + timedelta(seconds=time.monotonic() - self._began)

    store = FakeConnectionStore(make_connection(next_check_at=NOW + timedelta(seconds=0.5)))
    steps = StepRecorder(expected=1)
    async with run_until_left(make_reconciler(store, steps, clock=RealClock())):
        await steps.wait_for_all(10)


async def test_wake_is_followed_once_and_nothing_is_asked_while_nothing_is_due() -> None:
    store, steps, wake = (
        CountingStore(make_connection(next_check_at=NOW + timedelta(days=1))),
        StepRecorder(),
        asyncio.Event(),
    )
    async with run_until_left(make_reconciler(store, steps, wake=wake)):
        await asyncio.wait_for(store.asked.wait(), 15)
        for _ in range(50):
            await asyncio.sleep(0)
        assert store.claims == 1
        wake.set()
        for _ in range(50):
            await asyncio.sleep(0)
        assert store.claims == 2


async def test_failure_of_one_stops_no_other() -> None:
    outcomes = (
        (Unavailable("lock"), "subscription_check_interrupted"),
        (RuntimeError("bug"), "subscription_step_crashed"),
    )
    for error, name in outcomes:
        steps = StepRecorder()
        steps.error = error
        with capture_logs() as events:
            async with run_until_left(make_reconciler(make_store(), steps)):
                await steps.wait_for_all()
        assert sorted(steps.advanced) == IDS
        assert {event["event"] for event in events} == {name}


async def test_step_that_hangs_is_cancelled_at_the_stop() -> None:
    steps = StepRecorder(expected=1)
    steps.gate.clear()
    async with run_until_left(make_reconciler(FakeConnectionStore(make_connection()), steps)):
        await steps.wait_for_all()


async def test_database_that_is_away_is_waited_for() -> None:
    class Away(CountingStore):
        async def claim_due_checks(self, now: datetime, *, lease: timedelta, limit: int) -> Sequence[str]:
            await super().claim_due_checks(now, lease=lease, limit=0)
            if self.claims == 1:
                raise Unavailable("Postgres")
            return [IDS[0]] if self.claims == 2 else []

        async def find_next_check_time(self) -> datetime | None:
            raise Unavailable("Postgres")

    steps = StepRecorder(expected=1)
    async with run_until_left(make_reconciler(Away(), steps, max_pause_s=0.05)):
        await steps.wait_for_all()
    assert steps.advanced == [IDS[0]]
