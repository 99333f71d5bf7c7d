import asyncio
import time

import pytest

from mailroom_common.budgets.allocations import AllocatedUnits, LocalBudgets
from mailroom_common.budgets.waiting import WaitLimit, mark_calls
from mailroom_common.budgets.window import Allocation, UnitLimit
from mailroom_common.errors import CallDeferred, OldMailCallDeferred, Throttled

LIMIT = UnitLimit(6_000)


class CountedBudgets(LocalBudgets):
    def __init__(self) -> None:
        super().__init__()
        self.allocations = 0

    async def allocate_units(
        self, name: str, limit: UnitLimit, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation:
        self.allocations += 1
        await asyncio.sleep(0)
        return await super().allocate_units(name, limit, at_least=at_least, at_most=at_most, is_old_mail=is_old_mail)


class NeverEnoughBudgets(LocalBudgets):
    """Whoever asks is told to come back in a moment."""

    def __init__(self, wait_s: float = 0.1) -> None:
        super().__init__()
        self._wait_s = wait_s

    async def allocate_units(
        self, name: str, limit: UnitLimit, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation:
        return Allocation(0, self._wait_s)


async def test_idle_mailbox_allocates_once_for_many_runs() -> None:
    budgets = CountedBudgets()
    units = AllocatedUnits(budgets)
    for _ in range(30):
        await units.spend_units("mailbox", LIMIT, 2, WaitLimit(0))
    assert budgets.allocations == 1


async def test_calls_at_once_never_spend_more_than_was_allocated() -> None:
    budgets, granted = CountedBudgets(), 0
    units, limit = AllocatedUnits(budgets), UnitLimit(1000)

    async def call(number: int) -> None:
        nonlocal granted
        with mark_calls(is_old_mail=number % 2 == 0):
            await units.spend_units("mailbox", limit, 20, WaitLimit(0))
        granted += 20

    results = await asyncio.gather(*[call(number) for number in range(200)], return_exceptions=True)
    assert {type(result) for result in results} <= {type(None), CallDeferred, OldMailCallDeferred}
    assert 0.9 * 980 <= granted <= 980


async def test_wait_that_the_caller_may_not_make_is_a_throttle_and_spends_nothing() -> None:
    budgets = LocalBudgets()
    first, second = AllocatedUnits(budgets), AllocatedUnits(budgets)
    limit = UnitLimit(100)
    await first.spend_units("mailbox", limit, 90, WaitLimit(0))
    for _ in range(3):
        with pytest.raises(Throttled) as caught:
            await second.spend_units("mailbox", limit, 20, WaitLimit(10))
        assert caught.value.retry_after_s is not None
        assert 50 < caught.value.retry_after_s <= 62
    await second.spend_units("mailbox", limit, 5, WaitLimit(0))


async def test_old_mail_leaves_units_to_new_mail() -> None:
    units, limit = AllocatedUnits(LocalBudgets()), UnitLimit(1000)
    with mark_calls(is_old_mail=True):
        await units.spend_units("mailbox", limit, 920, WaitLimit(0))
        with pytest.raises(OldMailCallDeferred):
            await units.spend_units("mailbox", limit, 20, WaitLimit(0))
    await units.spend_units("mailbox", limit, 20, WaitLimit(0))


async def test_call_for_old_mail_does_not_wait_for_long_within_its_run() -> None:
    units, wait_limit = AllocatedUnits(NeverEnoughBudgets(wait_s=5)), WaitLimit(10)
    with mark_calls(is_old_mail=True), pytest.raises(OldMailCallDeferred) as caught:
        await asyncio.wait_for(units.spend_units("mailbox", LIMIT, 20, wait_limit), timeout=4)
    assert caught.value.retry_after_s == 5


async def test_what_is_left_of_a_mailbox_that_is_forgotten_counts_as_spent() -> None:
    budgets = CountedBudgets()
    units = AllocatedUnits(budgets, max_accounts=2)
    for name in ("one", "two", "three", "one"):
        await units.spend_units(name, LIMIT, 2, WaitLimit(0))
    assert budgets.allocations == 4


async def test_waiting_behind_others_counts_so_that_a_queue_of_callers_ends_with_the_first_ones_limit() -> None:
    units, limit = AllocatedUnits(NeverEnoughBudgets()), UnitLimit(1000)
    began = time.monotonic()
    calls = [units.spend_units("project", limit, 20, WaitLimit(0.3)) for _ in range(8)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results} == {CallDeferred}
    assert time.monotonic() - began < 1
