import asyncio

import pytest

from mailroom_common.budgets.waiting import WaitLimit, find_wait_limit, limit_waiting


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return clock


async def test_all_waits_of_a_run_together_stay_within_its_limit(clock: Clock) -> None:
    limit = WaitLimit(10, clock)
    assert [await limit.wait(4) for _ in range(3)] == [True, True, False]
    assert await limit.wait(2)
    assert not limit.allows(0.1)


async def test_wait_beyond_the_limit_returns_at_once(clock: Clock) -> None:
    assert not await WaitLimit(10, clock).wait(11)
    assert clock.now == 1000


async def test_tasks_that_wait_at_the_same_time_use_the_limit_once() -> None:
    limit = WaitLimit(0.05)
    assert all(await asyncio.gather(*[limit.wait(0.03) for _ in range(20)]))
    assert limit.allows(0.01)


async def test_tasks_of_a_run_share_its_limit_and_other_runs_have_their_own() -> None:
    async def read_limit() -> WaitLimit:
        return find_wait_limit()

    with limit_waiting(10):
        assert await asyncio.create_task(read_limit()) is find_wait_limit()
        outer = find_wait_limit()
        with limit_waiting(10):
            assert find_wait_limit() is not outer
    assert find_wait_limit() is not find_wait_limit()
