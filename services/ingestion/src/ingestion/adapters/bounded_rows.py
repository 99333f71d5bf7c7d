"""Rows for one answer, no more than an API process may hold: how long they are, the senders of documents choose."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from mailroom_common.postgres import DatabaseSession, open_transaction

# An extraction is up to 800 KB of JSON, and three times as much as Python values: a hundred of them end the process.
MAX_PAGE_BYTES = 4 * 1024 * 1024
_PREFETCHED_ROWS = 10


async def fetch_bounded(
    pool: asyncpg.Pool, statement: str, *values: Any, max_bytes: int = MAX_PAGE_BYTES
) -> tuple[list[asyncpg.Record], bool]:
    """The first rows, at least one, whose `json_bytes` make no more than `max_bytes`; and whether there are others."""
    rows: list[asyncpg.Record] = []
    left = max_bytes
    async with open_search_transaction(pool) as conn:  # without one there is no cursor
        async for row in conn.cursor(statement, *values, prefetch=_PREFETCHED_ROWS):
            left -= row["json_bytes"]
            if rows and left < 0:
                return rows, True
            rows.append(row)
    return rows, False


@asynccontextmanager
async def open_search_transaction(pool: asyncpg.Pool) -> AsyncIterator[DatabaseSession]:
    """A transaction whose statements are planned with their values each time.

    Postgres takes one plan for all values from the sixth time on that a session runs a statement: by it, an amount that
    nothing reaches is one that a third of the documents reach, and a page goes through all of a tenant.
    """
    async with open_transaction(pool) as conn:
        await conn.execute("set local plan_cache_mode = force_custom_plan")
        yield conn
