"""What tenants spend on a language model in a day: counted together, never beyond the limit."""

import asyncio
from datetime import date

import asyncpg
import pytest

from ingestion.adapters.model_budget import PgModelBudget

pytestmark = pytest.mark.stack

TODAY, TOMORROW = date(2026, 4, 2), date(2026, 4, 3)


async def reserve(
    budget: PgModelBudget, tenant: str = "acme", day: date = TODAY, tokens: int = 10, cost: float = 1
) -> bool:
    return await budget.reserve_tokens(tenant, day, tokens, cost, day_tokens=100, day_cost=5.0)


async def test_of_many_calls_at_once_no_more_are_made_than_a_day_allows(pool: asyncpg.Pool) -> None:
    budget = PgModelBudget(pool)
    assert sum(await asyncio.gather(*(reserve(budget) for _ in range(20)))) == 5
    assert await reserve(budget, "other")
    assert await reserve(budget, day=TOMORROW)


async def test_what_was_not_used_can_be_spent(pool: asyncpg.Pool) -> None:
    budget = PgModelBudget(pool)
    assert await reserve(budget, "returns", tokens=100)
    assert not await reserve(budget, "returns", tokens=1)
    await budget.return_tokens("returns", TODAY, 50, 0.5)
    assert await reserve(budget, "returns", tokens=50)


async def test_a_first_call_beyond_the_limit_is_refused_too(pool: asyncpg.Pool) -> None:
    budget = PgModelBudget(pool)
    assert not await reserve(budget, "first", tokens=101)
    assert not await reserve(budget, "first", cost=5.01)
    assert await budget.reserve_tokens("first", TODAY, 10, 99, day_tokens=100, day_cost=None)
