"""One budget for all processes: each process has a pool and allocations of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from mailroom_common.budgets.allocations import AllocatedUnits
from mailroom_common.budgets.store import PgBudgets
from mailroom_common.budgets.waiting import WaitLimit, limit_waiting
from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import Throttled
from mailroom_common.events import Access, Profile
from mailroom_common.migrations import apply_migrations
from mailroom_common.postgres import open_pool
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox

pytestmark = pytest.mark.stack

LIMIT = UnitLimit(1000, window_s=60)


@pytest.fixture
async def pools(postgres_url: str) -> AsyncIterator[list[asyncpg.Pool]]:
    await apply_migrations(postgres_url, {"mailroom_quota"})
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(open_pool(postgres_url, application_name="test", max_size=2))
            for _ in range(3)
        ]


async def test_processes_together_spend_no_more_than_the_limit(pools: list[asyncpg.Pool]) -> None:
    name, spent = str(uuid4()), 0
    processes = [AllocatedUnits(PgBudgets(pool)) for pool in pools]

    async def spend(units: AllocatedUnits) -> None:
        nonlocal spent
        while True:
            await units.spend_units(name, LIMIT, 7, WaitLimit(0))
            spent += 7

    results = await asyncio.gather(*[spend(units) for units in processes], return_exceptions=True)
    assert all(isinstance(result, Throttled) for result in results)
    assert 0.9 * 980 <= spent <= 980


async def test_what_subscription_manager_spends_on_a_watch_is_seen_by_the_worker(pools: list[asyncpg.Pool]) -> None:
    mailbox = Mailbox(
        doc_source_id=str(uuid4()),
        provider="gmail",
        access=Access.DELEGATED,
        profile=Profile.INVOICE,
        address="ap@example.org",
        provider_user_id=str(uuid4()),
        grant_generation=1,
    )
    manager, worker = (
        Quota(slots=8, application="app", mailbox_limit=UnitLimit(110), budgets=PgBudgets(pool)) for pool in pools[:2]
    )
    async with manager.hold_slot(mailbox, units=100):
        pass
    with limit_waiting(0), pytest.raises(Throttled):
        async with worker.hold_slot(mailbox, units=20):
            pytest.fail("a call was let through")


@pytest.mark.parametrize("touched_ago", [timedelta(hours=25), timedelta(hours=-2)])
async def test_row_that_nobody_allocated_from_for_a_day_or_touched_in_the_future_is_deleted(
    pools: list[asyncpg.Pool], touched_ago: timedelta
) -> None:
    idle, busy = str(uuid4()), str(uuid4())
    for name in (idle, busy):
        await PgBudgets(pools[0]).allocate_units(name, LIMIT, at_least=1, at_most=1, is_old_mail=False)
    await pools[0].execute(
        "update mailroom_quota.budget set touched_at = now() - $2::interval where name = $1", idle, touched_ago
    )
    await PgBudgets(pools[1]).allocate_units(busy, LIMIT, at_least=1, at_most=1, is_old_mail=False)
    rows = await pools[0].fetch("select name from mailroom_quota.budget where name = any($1::text[])", [idle, busy])
    assert [row["name"] for row in rows] == [busy]
