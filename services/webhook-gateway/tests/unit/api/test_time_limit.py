import asyncio

import pytest

from webhook_gateway.api.time_limit import TimeLimit


async def test_whoever_waits_too_long_is_interrupted() -> None:
    limit = TimeLimit(0.01)

    with pytest.raises(TimeoutError), limit.watch():
        await asyncio.Event().wait()


async def test_each_has_the_whole_time_from_when_it_began() -> None:
    """The later of two is not interrupted by the alarm of the earlier."""
    limit = TimeLimit(0.4)
    ended: list[str] = []

    async def wait(name: str) -> None:
        with pytest.raises(TimeoutError), limit.watch():
            await asyncio.Event().wait()
        ended.append(name)

    earlier = asyncio.create_task(wait("earlier"))
    await asyncio.sleep(0.2)
    later = asyncio.create_task(wait("later"))

    await earlier
    await asyncio.sleep(0.01)
    assert ended == ["earlier"]
    await later
    assert ended == ["earlier", "later"]


async def test_whoever_is_done_in_time_is_left_alone_afterwards() -> None:
    limit = TimeLimit(0.01)
    with limit.watch():
        await asyncio.sleep(0)

    with pytest.raises(TimeoutError), limit.watch():  # the alarm has rung when this one ends
        await asyncio.Event().wait()
    await asyncio.sleep(0)

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancel_of_somebody_else_stays_a_cancel() -> None:
    limit = TimeLimit(60)

    async def wait() -> None:
        with limit.watch():
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_fails_meanwhile_fails_as_it_did() -> None:
    with pytest.raises(ValueError, match="its own"), TimeLimit(60).watch():
        raise ValueError("its own")


async def test_many_are_interrupted_by_one_alarm() -> None:
    limit = TimeLimit(0.01)

    async def wait() -> None:
        with limit.watch():
            await asyncio.Event().wait()

    ended = await asyncio.gather(*(wait() for _ in range(100)), return_exceptions=True)

    assert [type(error) for error in ended] == [TimeoutError] * 100
