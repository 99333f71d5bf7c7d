"""Turns of tenants, for which no task waits longer than the others of other tenants."""

import asyncio
from collections import Counter

import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.tenant_turns import TenantPlaces, TenantTurns


class Line:
    """Tasks that want a place, and the order in which they get one."""

    def __init__(self, places: TenantPlaces) -> None:
        self._places = places
        self.served: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.endings: dict[str, list[asyncio.Event]] = {}

    async def ask(self, *tenants: str) -> None:
        """In this order, and each has asked by the end."""
        for tenant_id in tenants:
            ending = asyncio.Event()
            self.tasks.append(asyncio.create_task(self._work(tenant_id, ending)))
            await asyncio.sleep(0)

    async def end_work(self, tenant_id: str) -> None:
        self.endings[tenant_id].pop(0).set()
        await _settle()

    async def _work(self, tenant_id: str, ending: asyncio.Event) -> None:
        async with self._places.hold_place(tenant_id):
            self.served.append(tenant_id)
            self.endings.setdefault(tenant_id, []).append(ending)
            await ending.wait()


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_those_with_the_least_in_use_come_first_and_then_who_waits_longest() -> None:
    turns = TenantTurns()
    for tenant_id in ("b", "a"):
        turns.record_turn(tenant_id)
    assert list(turns.order_tenants(["a", "b", "c"], {})) == ["c", "b", "a"]
    assert list(turns.order_tenants(["a", "b", "c"], Counter(c=2, b=1))) == ["a", "b", "c"]


async def test_a_tenant_that_asks_for_much_keeps_no_other_waiting() -> None:
    line = Line(TenantPlaces(2))
    await line.ask(*["flood"] * 20, "calm", "other", "calm")
    assert line.served == ["flood", "flood"]
    await line.end_work("flood")
    await line.end_work("flood")
    assert sorted(line.served[2:]) == ["calm", "other"]
    await line.end_work("calm")
    await line.end_work("other")
    assert sorted(line.served[4:]) == ["calm", "flood"]
    for task in line.tasks:
        task.cancel()


async def test_no_more_hold_a_place_than_there_are_and_all_are_served() -> None:
    places, held, most = TenantPlaces(3), 0, 0

    async def work(tenant_id: str) -> None:
        nonlocal held, most
        async with places.hold_place(tenant_id):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(work(f"t{number % 4}") for number in range(40)))
    assert (most, held) == (3, 0)


async def test_those_who_leave_the_line_leave_their_place_to_others() -> None:
    line = Line(TenantPlaces(1))
    await line.ask("a", "b", "b", "c")
    line.tasks[1].cancel()
    line.tasks[2].cancel()
    await _settle()
    await line.end_work("a")
    assert line.served == ["a", "c"]
    # Given at the moment in which its task is cancelled.
    await line.ask("b", "a")
    line.endings["c"].pop(0).set()
    await asyncio.sleep(0)
    line.tasks[4].cancel()
    await _settle()
    assert line.served[-1] == "a"
    await line.end_work("a")
    async with asyncio.timeout(1):
        await asyncio.gather(*line.tasks, return_exceptions=True)


async def test_an_error_gives_the_place_back() -> None:
    places = TenantPlaces(1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with places.hold_place("a"):
                raise ZeroDivisionError


async def test_only_so_many_may_wait() -> None:
    places = TenantPlaces(1, max_waiting=2)
    line = Line(places)
    await line.ask("a", "a", "a")
    with pytest.raises(Unavailable, match="2 wait for a place already"):
        async with places.hold_place("b"):
            pass
    for task in line.tasks:
        task.cancel()
