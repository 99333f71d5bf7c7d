"""Rows for one answer, no more than an API process may hold: how long they are, the senders of documents choose."""

from typing import Any

import asyncpg

from mailroom_common.postgres import open_transaction

# An extraction is up to 800 KB of JSON, and three times as much as Python values: a hundred of them end the process.
MAX_PAGE_BYTES = 4 * 1024 * 1024
_PREFETCHED_ROWS = 10


async def fetch_bounded(
    pool: asyncpg.Pool, statement: str, *values: Any, max_bytes: int = MAX_PAGE_BYTES
) -> tuple[list[asyncpg.Record], bool]:
    """The first rows, at least one, whose `json_bytes` make no more than `max_bytes`; and whether there are others."""
    rows: list[asyncpg.Record] = []
    left = max_bytes
    async with open_transaction(pool) as conn:  # without one there is no cursor
        async for row in conn.cursor(statement, *values, prefetch=_PREFETCHED_ROWS):
            left -= row["json_bytes"]
            if rows and left < 0:
                return rows, True
            rows.append(row)
    return rows, False
