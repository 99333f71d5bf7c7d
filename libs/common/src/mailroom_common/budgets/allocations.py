"""Units of a budget in this process: allocated in blocks, and spent call by call."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from mailroom_common.budgets.waiting import WaitLimit, is_old_mail
from mailroom_common.budgets.window import Allocation, AllocationWindow, UnitLimit
from mailroom_common.errors import CallDeferred, OldMailCallDeferred

_MAX_ACCOUNTS = 50_000
_LONGEST_OLD_MAIL_WAIT_S = 2.0


class Budgets(Protocol):
    """Where units are allocated from."""

    async def allocate_units(
        self, name: str, limit: UnitLimit, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation: ...


class LocalBudgets:
    """Budgets of this process alone: for tests, and for tools that run beside nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, AllocationWindow] = OrderedDict()

    async def allocate_units(
        self, name: str, limit: UnitLimit, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation:
        window = self._windows.pop(name, None) or AllocationWindow()
        self._windows[name] = window
        if len(self._windows) > _MAX_ACCOUNTS:
            self._windows.popitem(last=False)
        return window.allocate_units(limit, self._clock(), at_least=at_least, at_most=at_most, is_old_mail=is_old_mail)


@dataclass(slots=True)
class _Account:
    """What this process has left of a block. Calls for new mail and for old mail each have a queue."""

    left: int = 0
    users: int = 0
    queues: tuple[asyncio.Lock, asyncio.Lock] = field(default_factory=lambda: (asyncio.Lock(), asyncio.Lock()))


class AllocatedUnits:
    """In memory for the mailboxes used last: what is left of the others counts as spent."""

    def __init__(self, budgets: Budgets, *, max_accounts: int = _MAX_ACCOUNTS) -> None:
        self._budgets = budgets
        self._max_accounts = max_accounts
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    async def spend_units(self, name: str, limit: UnitLimit, units: int, wait_limit: WaitLimit) -> None:
        """Raises Throttled where that takes longer than `wait_limit` has left; then nothing is spent."""
        account = self._accounts.pop(name, None) or _Account()
        self._accounts[name] = account
        self._forget_oldest()
        account.users += 1
        try:
            is_old = is_old_mail()
            queued_at = time.monotonic()
            # One at a time: otherwise a small call would overtake a large one for ever.
            async with account.queues[is_old]:
                wait_limit.charge(time.monotonic() - queued_at)
                while account.left < units:
                    await self._allocate_block(account, name, limit, units, wait_limit)
                account.left -= units
        finally:
            account.users -= 1

    async def _allocate_block(
        self, account: _Account, name: str, limit: UnitLimit, units: int, wait_limit: WaitLimit
    ) -> None:
        allocation = await self._budgets.allocate_units(
            name,
            limit,
            at_least=units - account.left,
            at_most=max(limit.block_units, units - account.left),
            is_old_mail=is_old_mail(),
        )
        account.left += allocation.units
        if not allocation.wait_s:
            return
        # New mail of the same mailbox would wait with a call for old mail: its run ends instead, and goes on later.
        is_too_long = is_old_mail() and allocation.wait_s > _LONGEST_OLD_MAIL_WAIT_S
        if is_too_long or not await wait_limit.wait(allocation.wait_s):
            error_type = OldMailCallDeferred if is_old_mail() else CallDeferred
            raise error_type("the provider's quota is used up for now", retry_after_s=allocation.wait_s)

    def _forget_oldest(self) -> None:
        if len(self._accounts) > self._max_accounts:
            name = next(iter(self._accounts))
            # One that is in use stays, at the young end: its queue must not be forgotten.
            account = self._accounts.pop(name)
            if account.users:
                self._accounts[name] = account
