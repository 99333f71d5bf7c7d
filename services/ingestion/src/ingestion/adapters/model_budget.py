"""What each tenant may spend on a language model in a day: counted in Postgres by all workers together, or in memory by
one run of a command."""

from datetime import date

import asyncpg

from mailroom_common.postgres import acquire_session

# One statement: two workers never spend the same rest of a day.
_RESERVE = """
    insert into ingestion.model_spending as spent (tenant_id, day, tokens, cost)
    select $1::text, $2::date, $3::bigint, $4::double precision
    where $3 <= $5::bigint and ($6::double precision is null or $4 <= $6)
    on conflict (tenant_id, day) do update
    set tokens = spent.tokens + excluded.tokens, cost = spent.cost + excluded.cost
    where spent.tokens + excluded.tokens <= $5
        and ($6::double precision is null or spent.cost + excluded.cost <= $6)
    returning 1
"""
_RETURN = """
    update ingestion.model_spending set tokens = tokens - $3, cost = cost - $4 where tenant_id = $1 and day = $2
"""


class PgModelBudget:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def reserve_tokens(
        self, tenant_id: str, day: date, tokens: int, cost: float, *, day_tokens: int, day_cost: float | None
    ) -> bool:
        async with acquire_session(self._pool) as conn:
            return await conn.fetchval(_RESERVE, tenant_id, day, tokens, cost, day_tokens, day_cost) is not None

    async def return_tokens(self, tenant_id: str, day: date, tokens: int, cost: float) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_RETURN, tenant_id, day, tokens, cost)


class RunModelBudget:
    """One run of a command may spend what a tenant may in a day. It is not counted among what the workers spend."""

    def __init__(self) -> None:
        self._tokens = 0
        self._cost = 0.0

    async def reserve_tokens(
        self, _tenant_id: str, _day: date, tokens: int, cost: float, *, day_tokens: int, day_cost: float | None
    ) -> bool:
        if self._tokens + tokens > day_tokens or (day_cost is not None and self._cost + cost > day_cost):
            return False
        self._tokens, self._cost = self._tokens + tokens, self._cost + cost
        return True

    async def return_tokens(self, _tenant_id: str, _day: date, tokens: int, cost: float) -> None:
        self._tokens, self._cost = self._tokens - tokens, self._cost - cost
