"""Budgets that all processes of an application share: rows of `mailroom_quota.budget`."""

import time

import asyncpg

from mailroom_common.budgets.window import Allocation, AllocationWindow, UnitLimit
from mailroom_common.postgres import DatabaseSession, open_transaction

SCHEMA = "mailroom_quota"

_SWEEP_INTERVAL_S = 3600.0

# The database's clock: that of no process counts, as they differ. Read with the lock held, or a little before it, which
# counts into the newest slice all the same.
_LOCK = """
select slice_number, allocated, extract(epoch from clock_timestamp())::float8 as now
from mailroom_quota.budget where name = $1 for update
"""
_INSERT = """
insert into mailroom_quota.budget (name, slice_number, allocated) values ($1, $2, $3) on conflict do nothing
"""
_UPDATE = """
update mailroom_quota.budget set slice_number = $2, allocated = $3, touched_at = clock_timestamp() where name = $1
"""


class PgBudgets:
    """`Budgets` in Postgres. Raises Unavailable where that does not answer: no call is made uncounted."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._next_sweep = time.monotonic()

    async def allocate_units(
        self, name: str, limit: UnitLimit, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation:
        await self._delete_idle()
        async with open_transaction(self._pool) as conn:
            window, now = await _lock_window(conn, name)
            allocation = window.allocate_units(limit, now, at_least=at_least, at_most=at_most, is_old_mail=is_old_mail)
            if allocation.units:
                await conn.execute(_UPDATE, name, window.slice_number, window.allocated)
        return allocation

    async def _delete_idle(self) -> None:
        """Rows of mailboxes that are no more. One that is allocated from meanwhile is young by the time it is unlocked.
        One touched in the future was written while the database's clock was ahead, and would outlive its day."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + _SWEEP_INTERVAL_S
        async with open_transaction(self._pool) as conn:
            await conn.execute(
                "delete from mailroom_quota.budget where touched_at < clock_timestamp() - interval '1 day' "
                "or touched_at > clock_timestamp() + interval '1 hour'"
            )


async def _lock_window(conn: DatabaseSession, name: str) -> tuple[AllocationWindow, float]:
    row = await conn.fetchrow(_LOCK, name)
    while row is None:  # again where it is deleted as idle in between
        empty = AllocationWindow()
        await conn.execute(_INSERT, name, empty.slice_number, empty.allocated)
        row = await conn.fetchrow(_LOCK, name)
    return AllocationWindow(row["slice_number"], list(row["allocated"])), row["now"]
