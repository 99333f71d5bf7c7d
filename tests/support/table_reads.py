"""How much of a table the statements under test read: counted by Postgres, within one transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mailroom_common.postgres import DatabaseSession


@dataclass(frozen=True, slots=True)
class OneSession:
    """A pool of one session, so that what is done through it lies within the transaction around it."""

    conn: DatabaseSession

    @asynccontextmanager
    async def acquire(self, *, timeout: float) -> AsyncIterator[DatabaseSession]:
        yield self.conn


async def count_reads(conn: DatabaseSession, table: str) -> int:
    """Rows that were read so far, and look-ups in indexes."""
    count: int = await conn.fetchval(
        "select seq_tup_read + idx_scan + idx_tup_fetch from pg_stat_xact_user_tables where relid = $1::regclass", table
    )
    return count
