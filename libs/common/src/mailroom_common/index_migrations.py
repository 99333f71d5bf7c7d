"""Index migrations: built beside the traffic of a running site, and resumed where a build was cut off.

A plain `create index` keeps every writer of the table waiting until it is built, which takes minutes on a big one. A
migration whose first line is `-- concurrently` holds nothing but indexes, and each of its statements runs by itself,
outside a transaction.
"""

import re
from dataclasses import dataclass

import asyncpg

FIRST_LINE = "-- concurrently"

# For one transaction that is older than the build and writes to the table. Nobody queues behind the build meanwhile;
# services end what is idle in a transaction after a minute.
_LOCK_TIMEOUT = "10min"
_CREATE = re.compile(
    r"create (?:unique )?index concurrently if not exists (?P<index>\w+) on (?P<schema>\w+)\.\w+(?: using \w+)? ?\(.+",
    re.IGNORECASE,
)
_DROP = re.compile(r"drop index concurrently if exists \w+\.\w+", re.IGNORECASE)
# Where a build is cut off Postgres leaves an index that is maintained and never used, and takes it for a whole one.
_IS_INVALID = "select exists (select from pg_index where indexrelid = to_regclass($1) and not indisvalid)"


@dataclass(frozen=True, slots=True)
class IndexStatement:
    """`builds` is the index that it creates, with its schema; None where it drops one."""

    sql: str
    builds: str | None


def is_index_migration(sql: str) -> bool:
    return sql.partition("\n")[0].rstrip() == FIRST_LINE


def parse_index_statements(sql: str) -> list[IndexStatement]:
    """
    Raises:
        ValueError: it has a statement of another form than `create index concurrently if not exists NAME on
            SCHEMA.TABLE (…)` and `drop index concurrently if exists SCHEMA.NAME`.
    """
    lines = (line.partition("--")[0] for line in sql.splitlines())
    statements = (" ".join(statement.split()) for statement in "\n".join(lines).split(";"))
    return [_parse_statement(statement) for statement in statements if statement]


def _parse_statement(statement: str) -> IndexStatement:
    if created := _CREATE.fullmatch(statement):
        return IndexStatement(statement, f"{created['schema']}.{created['index']}")
    if _DROP.fullmatch(statement):
        return IndexStatement(statement, None)
    raise ValueError(f"an index migration only creates and drops indexes, concurrently and if needed: {statement!r}")


async def apply_index_statements(conn: asyncpg.Connection, sql: str) -> None:
    """Safe to repeat after a cut-off build: what is whole stays, and what is not is built anew."""
    await conn.execute(f"set lock_timeout = '{_LOCK_TIMEOUT}'")
    # However long it takes; and so that nothing on the way takes the silence of a long statement for a dead connection.
    await conn.execute("set statement_timeout = 0")
    await conn.execute("set tcp_keepalives_idle = 60")
    for statement in parse_index_statements(sql):
        if statement.builds is not None and await conn.fetchval(_IS_INVALID, statement.builds):
            await conn.execute(f"drop index concurrently if exists {statement.builds}")
        await conn.execute(statement.sql)
