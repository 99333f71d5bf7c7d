"""A queue that is worked through: how much at once, and what an error does to the rest."""

import asyncio

import pytest

from mailroom_common.errors import Throttled
from sync_engine.domain.run_outcomes import SliceEnded
from sync_engine.handlers.work_queue import work_through


async def test_so_many_are_under_way_at_once_and_no_more() -> None:
    under_way: set[str] = set()
    most = 0

    async def work(item: str) -> None:
        nonlocal most
        under_way.add(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.discard(item)

    await work_through("abcdefg", work, max_concurrent=3)
    assert (most, under_way) == (3, set())


async def test_after_an_error_nothing_is_begun_and_what_is_under_way_ends() -> None:
    begun, ended = [], []

    async def work(item: str) -> None:
        begun.append(item)
        await asyncio.sleep(0)
        if item == "a":
            raise Throttled("429")
        await asyncio.sleep(0.01)
        ended.append(item)

    with pytest.raises(Throttled):
        await work_through("abcd", work, max_concurrent=2)
    assert (begun, ended) == (["a", "b"], ["b"])


async def test_the_end_of_the_slice_hides_no_error() -> None:
    async def work(item: str) -> None:
        await asyncio.sleep(0)
        raise SliceEnded if item == "a" else Throttled("429")

    with pytest.raises(Throttled):
        await work_through("ab", work, max_concurrent=2)
