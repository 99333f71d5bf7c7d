"""Limits on the calls to each mailbox: how many at once, how many units per minute, and pauses after a throttle.

One `Quota` per provider and process, shared by everything that calls it. Counted in this process only: the number of
concurrent calls of several processes at one mailbox is held down by `count_sharers`, by which the doc sources of one
mailbox divide its slots.
Sources: four concurrent calls per mailbox, providers/graph.md 12; units per minute, providers/gmail.md 10.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mailroom_common.errors import Throttled
from mailroom_common.providers.types import Mailbox
from mailroom_common.providers.waiting import WaitLimit, find_wait_limit

_WINDOW_S = 60.0


class UnitWindow:
    """At most `limit` units within any minute; callers that exceed it wait, first come first served."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._spent: deque[tuple[float, int]] = deque()
        self._total = 0
        self._turn = asyncio.Lock()

    @property
    def is_idle(self) -> bool:
        self._forget_old()
        return not self._spent and not self._turn.locked()

    async def spend_units(self, units: int, limit: WaitLimit) -> None:
        """Raises Throttled where that takes longer than `limit` has left; then nothing is spent."""
        # One waits at a time: otherwise a small call would overtake a large one for ever.
        async with self._turn:
            while (wait_s := self._wait_s(units)) > 0:
                if not await limit.wait(wait_s):
                    raise Throttled("the units of this minute are spent", retry_after_s=wait_s)
            self._spent.append((self._clock(), units))
            self._total += units

    def _wait_s(self, units: int) -> float:
        self._forget_old()
        excess = self._total + units - self._limit
        if excess <= 0 or not self._spent:  # a single call above the limit goes alone rather than never
            return 0.0
        for at, spent in self._spent:
            excess -= spent
            if excess <= 0:
                return max(at + _WINDOW_S - self._clock(), 0.001)
        return max(self._spent[-1][0] + _WINDOW_S - self._clock(), 0.001)

    def _forget_old(self) -> None:
        horizon = self._clock() - _WINDOW_S
        while self._spent and self._spent[0][0] <= horizon:
            self._total -= self._spent.popleft()[1]


@dataclass(slots=True)
class _MailboxUsage:
    """What one mailbox has in use. `users` are the calls that hold or await a slot: the entry stays while any does."""

    slots: asyncio.Semaphore
    units: UnitWindow | None
    users: int = 0
    paused_until: float = 0.0
    shares: dict[tuple[str, int], asyncio.Semaphore] = field(default_factory=dict)


class Quota:
    """Slots and units for each mailbox of one provider."""

    def __init__(
        self,
        *,
        slots: int,
        units_per_minute: int | None = None,
        project: UnitWindow | None = None,
        count_sharers: Callable[[Mailbox], int] = lambda _mailbox: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = slots
        self._units_per_minute = units_per_minute
        self._project = project
        self._count_sharers = count_sharers
        self._clock = clock
        self._usages: dict[str, _MailboxUsage] = {}

    @asynccontextmanager
    async def hold_slot(self, mailbox: Mailbox, *, units: int = 0) -> AsyncIterator[None]:
        """Hold a slot for one call, once its units are there and no pause is on: it waits for them as `WaitLimit` says.

        Raises:
            Throttled: a pause that the provider asked for, or the wait for units, is longer; no call is made.
        """
        key = build_mailbox_key(mailbox)
        usage = self._find_usage(key)
        usage.users += 1
        limit = find_wait_limit()
        try:
            # Before anything is spent or held: a paused mailbox must not use up units or keep callers in its queue.
            await self._wait_for_pause(usage, limit)
            await self._spend_units(usage, units, limit)
            while True:
                await self._wait_for_pause(usage, limit)
                # The doc source's share first: one that waits for its own share holds none of the mailbox's slots.
                async with self._find_share(usage, mailbox), usage.slots:
                    # Again: the provider may have asked for a pause while this call waited.
                    if self._measure_pause_s(usage) <= 0:
                        yield
                        return
        finally:
            usage.users -= 1
            self._drop_if_idle(key, usage)

    def pause_mailbox(self, mailbox: Mailbox, seconds: float) -> None:
        usage = self._find_usage(build_mailbox_key(mailbox))
        usage.paused_until = max(usage.paused_until, self._clock() + seconds)

    async def _spend_units(self, usage: _MailboxUsage, units: int, limit: WaitLimit) -> None:
        if not units:
            return
        for window in (usage.units, self._project):
            if window is not None:
                await window.spend_units(units, limit)

    async def _wait_for_pause(self, usage: _MailboxUsage, limit: WaitLimit) -> None:
        while (left_s := self._measure_pause_s(usage)) > 0:
            if not await limit.wait(left_s):
                raise Throttled("the provider asked for a pause at this mailbox", retry_after_s=left_s)

    def _measure_pause_s(self, usage: _MailboxUsage) -> float:
        return usage.paused_until - self._clock()

    def _find_share(self, usage: _MailboxUsage, mailbox: Mailbox) -> asyncio.Semaphore:
        share = max(1, self._slots // max(1, self._count_sharers(mailbox)))
        return usage.shares.setdefault((mailbox.doc_source_id, share), asyncio.Semaphore(share))

    def _find_usage(self, key: str) -> _MailboxUsage:
        usage = self._usages.get(key)
        if usage is None:
            units = UnitWindow(self._units_per_minute, self._clock) if self._units_per_minute else None
            usage = self._usages[key] = _MailboxUsage(asyncio.Semaphore(self._slots), units)
        return usage

    def _drop_if_idle(self, key: str, usage: _MailboxUsage) -> None:
        if usage.users == 0 and usage.paused_until <= self._clock() and (usage.units is None or usage.units.is_idle):
            self._usages.pop(key, None)


def build_mailbox_key(mailbox: Mailbox) -> str:
    """One mailbox, whichever doc source it belongs to."""
    return (mailbox.provider_user_id or mailbox.address).lower()
