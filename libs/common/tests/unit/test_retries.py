"""Waiting and trying again: what is retried, how long the pauses are, and which waits end early."""

import asyncio

import pytest
from structlog.testing import capture_logs
from tenacity import RetryCallState

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.retries import backoff_s, describe_error, retry_forever, wait_for_event, wait_for_first


class Flaky:
    """Raises its errors one after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def answer(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


async def test_it_calls_again_while_a_named_error_is_raised_and_logs_each_failure() -> None:
    flaky = Flaky(Unavailable("not yet"), Unavailable("not yet"))
    with capture_logs() as logs:
        retrying = retry_forever(Unavailable, log_event="thing_failed", initial_s=0.001, max_s=0.002, thing="t")
        assert await retrying(flaky.answer) == "answer"
    assert flaky.calls == 3
    assert [(line["event"], line["thing"], line["error"]) for line in logs] == [
        ("thing_failed", "t", "Unavailable: not yet")
    ] * 2


async def test_the_log_says_when_the_next_call_is_made() -> None:
    with capture_logs() as logs:
        await retry_forever(Unavailable, log_event="thing_failed", initial_s=0.04)(Flaky(Unavailable("no")).answer)
    assert 0.02 <= logs[0]["retry_in_s"] <= 0.04


@pytest.mark.parametrize(("attempt", "longest_s"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (1_000, 5.0)])
def test_pauses_are_drawn_between_half_the_first_one_and_a_limit_that_doubles(attempt: int, longest_s: float) -> None:
    retrying = retry_forever(Unavailable, log_event="thing_failed", initial_s=1.0, max_s=5.0)
    state = RetryCallState(retrying, None, (), {})
    state.attempt_number = attempt
    pauses = [retrying.wait(state) for _ in range(400)]
    assert 0.5 <= min(pauses) < 0.6
    assert 0.9 * longest_s <= max(pauses) <= longest_s


async def test_another_error_is_raised_as_it_is_and_at_once() -> None:
    flaky = Flaky(Rejected("never"))
    with pytest.raises(Rejected, match="never"):
        await retry_forever(Unavailable, log_event="thing_failed")(flaky.answer)
    assert flaky.calls == 1


async def test_a_cancelled_retry_ends() -> None:
    retrying = retry_forever(Unavailable, log_event="thing_failed", initial_s=60, max_s=60)
    flaky = Flaky(Unavailable("not yet"))

    async def wait_for_answer() -> str:
        return await retrying(flaky.answer)

    task = asyncio.create_task(wait_for_answer())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(("attempt", "longest_s"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (1_000, 5.0)])
def test_pauses_double_up_to_their_limit_and_are_spread_by_a_fifth(attempt: int, longest_s: float) -> None:
    pauses = [backoff_s(attempt, initial_s=1.0, max_s=5.0) for _ in range(200)]
    assert 0.8 * longest_s <= min(pauses) < max(pauses) <= 1.2 * longest_s


async def test_a_wait_ends_with_the_first_of_its_events_and_leaves_no_task_behind() -> None:
    never, soon = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().call_soon(soon.set)
    before = asyncio.all_tasks()
    async with asyncio.timeout(1):
        await wait_for_first(never, soon, timeout_s=60)
    assert soon.is_set()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_wait_ends_when_its_time_is_over_and_not_before() -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    async with asyncio.timeout(1):
        await wait_for_event(asyncio.Event(), 0.02)
    assert loop.time() - begun_s > 0.015


def test_an_error_without_a_text_is_named_by_its_kind() -> None:
    assert (describe_error(TimeoutError()), describe_error(ValueError("x"))) == ("TimeoutError", "ValueError: x")
