"""Waiting and trying again: one back-off with jitter for the whole code base, and waits that an event ends early."""

import asyncio
import random
from collections.abc import Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from mailroom_common.logs import get_logger

log = get_logger()


def retry_forever(
    *errors: type[BaseException], log_event: str, initial_s: float = 0.2, max_s: float = 5.0, **facts: object
) -> AsyncRetrying:
    """Calls again, as `await retry_forever(KafkaError, log_event="…")(function)`, while one of `errors` is raised.

    Each failure is logged as `log_event` with `facts`. There is no limit: who waits for a server that is away has
    nothing better to do, and is cancelled when the process stops.
    """
    return AsyncRetrying(
        retry=retry_if_exception_type(errors),
        # Never below half of the first pause: full jitter alone may try again at once, in every process of a site.
        wait=wait_random_exponential(multiplier=initial_s, max=max_s, min=initial_s / 2),
        before_sleep=_log_retry(log_event, facts),
    )


def _log_retry(log_event: str, facts: dict[str, object]) -> Callable[[RetryCallState], None]:
    def log_retry(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        pause_s = state.next_action.sleep if state.next_action is not None else 0.0
        log.warning(log_event, **facts, error=describe_error(error), retry_in_s=round(pause_s, 2))

    return log_retry


def backoff_s(attempt: int, *, initial_s: float, max_s: float) -> float:
    """The pause after the `attempt`-th failure (from 1): doubled each time up to `max_s`, and spread by a fifth."""
    longest_s: float = min(initial_s * 2 ** min(attempt - 1, 30), max_s)
    return longest_s * random.uniform(0.8, 1.2)  # noqa: S311  # spreads the load, hides nothing


def describe_error(error: BaseException | None) -> str:
    """The error's kind, and its text where it has one."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def wait_for_event(event: asyncio.Event, timeout_s: float) -> None:
    """Returns when `event` is set or the time is over."""
    await wait_for_first(event, timeout_s=timeout_s)


async def wait_for_first(*events: asyncio.Event, timeout_s: float) -> None:
    """Returns when one of `events` is set or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
