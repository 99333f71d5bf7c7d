"""Limits on the calls to each mailbox: how many at once, how many units in a time, and pauses after a throttle.

One `Quota` per provider and process, shared by everything that calls it. Units are allocated from budgets that all
processes of the application share (`mailroom_common.budgets`). Slots and pauses are counted in this process only: the
number of concurrent calls of several processes at one mailbox is held down by `count_sharers`, by which the doc sources
of one mailbox divide its slots.
Sources: four concurrent calls and 10,000 in ten minutes per mailbox, providers/graph.md 12; units per minute,
providers/gmail.md 10.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mailroom_common.budgets.allocations import AllocatedUnits, Budgets, LocalBudgets
from mailroom_common.budgets.waiting import WaitLimit, find_wait_limit
from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import CallDeferred
from mailroom_common.providers.types import Mailbox


@dataclass(slots=True)
class _MailboxUsage:
    """What one mailbox has in use. `users` are the calls that hold or await a slot: the entry stays while any does."""

    slots: asyncio.Semaphore
    users: int = 0
    paused_until: float = 0.0
    shares: dict[tuple[str, int], asyncio.Semaphore] = field(default_factory=dict)


class Quota:
    """Slots and units for each mailbox of one provider. `application` tells our own budgets from those that another
    registration at the provider has: it is a part of their names."""

    def __init__(
        self,
        *,
        slots: int,
        application: str = "",
        mailbox_limit: UnitLimit | None = None,
        project_limit: UnitLimit | None = None,
        budgets: Budgets | None = None,
        count_sharers: Callable[[Mailbox], int] = lambda _mailbox: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = slots
        self._application = application
        self._mailbox_limit = mailbox_limit
        self._project_limit = project_limit
        self._units = AllocatedUnits(budgets or LocalBudgets(clock))
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
            await self._spend_units(mailbox, units, limit)
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

    async def _spend_units(self, mailbox: Mailbox, units: int, wait_limit: WaitLimit) -> None:
        if not units:
            return
        application = f"{mailbox.provider}/{self._application}"
        for name, limit in (
            (f"{application}/mailbox/{build_mailbox_key(mailbox)}", self._mailbox_limit),
            (f"{application}/project", self._project_limit),
        ):
            if limit is not None:
                await self._units.spend_units(name, limit, units, wait_limit)

    async def _wait_for_pause(self, usage: _MailboxUsage, limit: WaitLimit) -> None:
        while (left_s := self._measure_pause_s(usage)) > 0:
            if not await limit.wait(left_s):
                raise CallDeferred("the provider asked for a pause at this mailbox", retry_after_s=left_s)

    def _measure_pause_s(self, usage: _MailboxUsage) -> float:
        return usage.paused_until - self._clock()

    def _find_share(self, usage: _MailboxUsage, mailbox: Mailbox) -> asyncio.Semaphore:
        share = max(1, self._slots // max(1, self._count_sharers(mailbox)))
        return usage.shares.setdefault((mailbox.doc_source_id, share), asyncio.Semaphore(share))

    def _find_usage(self, key: str) -> _MailboxUsage:
        usage = self._usages.get(key)
        if usage is None:
            usage = self._usages[key] = _MailboxUsage(asyncio.Semaphore(self._slots))
        return usage

    def _drop_if_idle(self, key: str, usage: _MailboxUsage) -> None:
        if usage.users == 0 and usage.paused_until <= self._clock():
            self._usages.pop(key, None)


def build_mailbox_key(mailbox: Mailbox) -> str:
    """One mailbox, whichever doc source it belongs to."""
    return (mailbox.provider_user_id or mailbox.address).lower()
