"""How long a caller may wait for quota, and how urgent its calls are: for all of them, also those of its tasks."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SINGLE_CALL_WAIT_S = 5.0
"""For a call outside any run: a page that somebody looks at, a renewal."""


class WaitLimit:
    """Waits of several tasks at the same time count once: what is limited is how much later the caller ends."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._left_s = seconds
        self._clock = clock
        self._waits_until = 0.0

    def allows(self, seconds: float) -> bool:
        return self._measure_delay(seconds) <= self._left_s

    async def wait(self, seconds: float) -> bool:
        """Whether the wait was within the limit; if not, it returns at once."""
        delay_s = self._measure_delay(seconds)
        if delay_s > self._left_s:
            return False
        self._left_s -= delay_s
        self._waits_until = max(self._waits_until, self._clock() + seconds)
        await asyncio.sleep(seconds)
        return True

    def charge(self, seconds: float) -> None:
        """What was waited already, in a queue. Tasks that queue at the same time are charged once."""
        now = self._clock()
        self._left_s -= max(0.0, now - max(now - seconds, self._waits_until))
        self._waits_until = max(self._waits_until, now)

    def _measure_delay(self, seconds: float) -> float:
        now = self._clock()
        return max(0.0, now + seconds - max(now, self._waits_until))


_current_limit: ContextVar[WaitLimit | None] = ContextVar("wait_limit", default=None)


@contextmanager
def limit_waiting(seconds: float) -> Iterator[None]:
    """All calls made within it, and in tasks that are started within it, wait `seconds` at most altogether."""
    token = _current_limit.set(WaitLimit(seconds))
    try:
        yield
    finally:
        _current_limit.reset(token)


def find_wait_limit() -> WaitLimit:
    """That of the run under way; a call outside any has one of its own."""
    return _current_limit.get() or WaitLimit(_SINGLE_CALL_WAIT_S)


_is_old_mail: ContextVar[bool] = ContextVar("is_old_mail", default=False)


@contextmanager
def mark_calls(*, is_old_mail: bool) -> Iterator[None]:
    """Calls for old mail leave a part of each quota to new mail and renewals."""
    token = _is_old_mail.set(is_old_mail)
    try:
        yield
    finally:
        _is_old_mail.reset(token)


def is_old_mail() -> bool:
    return _is_old_mail.get()
