"""Applies numbered, forward-only migrations: `NNNN_name.sql` inside the package that owns the schema.

Packages announce them under the entry point group `mailroom.migrations` (schema name → package), so that an image or a
wheel carries the tables its code needs. How they are written: README.md of this package, "Add a migration".
"""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.resources import files
from operator import attrgetter

import asyncpg
from pydantic import SecretStr

from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.index_migrations import apply_index_statements, is_index_migration
from mailroom_common.locks import advisory_lock_key
from mailroom_common.postgres import reveal_url, transient_errors

ENTRY_POINT_GROUP = "mailroom.migrations"

_LOCK_TIMEOUT = "5s"
_MAX_WAIT_FOR_OTHER_S = 60.0
_CHECK_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class Migration:
    schema: str
    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


def list_schemas() -> frozenset[str]:
    """The names of the schemas that the installed packages own."""
    return frozenset(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP))


def bundled_migrations(schema: str) -> list[Migration]:
    """The schema's migrations in order, from the package that owns it."""
    (entry,) = entry_points(group=ENTRY_POINT_GROUP, name=schema)
    return sorted(_read_package(schema, entry.value), key=attrgetter("number"))


async def apply_migrations(url: SecretStr | str, only: Collection[str] | None = None) -> list[str]:
    """Bring the schemas (`only` these) up to date, and return what was applied: `schema/NNNN_name` each.

    Two at once wait for each other. Each migration is one transaction under a lock timeout: on a busy table it
    fails, and an operator runs it again, instead of every query queueing behind it. An index migration is none, and is
    resumed by the next run where it was cut off.

    Raises:
        Fatal: a migration was changed after it had been applied.
        Unavailable: Postgres does not answer, or a lock could not be had.
    """
    applied: list[str] = []
    with transient_errors():
        conn = await asyncpg.connect(
            reveal_url(url), timeout=10, server_settings={"application_name": "mailroom-migrate"}
        )
        try:
            for schema in sorted(list_schemas() if only is None else only):
                applied += await _migrate_schema(conn, schema, bundled_migrations(schema))
        finally:
            await conn.close(timeout=5)
    return applied


async def require_current_schema(pool: asyncpg.Pool, schema: str) -> None:
    """A newer schema is fine: changes only expand.

    Raises:
        Fatal: the schema lacks a migration that this code needs, or was made by a migration with another text.
    """
    migrations = bundled_migrations(schema)
    newest = max((migration.number for migration in migrations), default=0)
    with transient_errors():
        try:
            # The schema's name is ours, never a caller's.
            rows = await pool.fetch(f'select number, digest from "{schema}".schema_migrations')  # noqa: S608
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            rows = []
    applied = {row["number"]: row["digest"] for row in rows}
    # The number alone would let a service start on the columns of another checkout, and dead-letter every record.
    is_current = [_is_applied(migration, applied) for migration in migrations]
    if not all(is_current):
        raise Fatal(
            f"schema {schema} is at migration {max(applied, default=0)} and this version needs {newest}: "
            "run `mailroom migrate`"
        )


async def _migrate_schema(conn: asyncpg.Connection, schema: str, migrations: list[Migration]) -> list[str]:
    key = advisory_lock_key("migrations", schema)
    await _lock_schema(conn, schema, key)
    try:
        await conn.execute(f"set lock_timeout = '{_LOCK_TIMEOUT}'")
        applied = await _read_applied(conn, schema)
        return [
            await _apply_migration(conn, migration) for migration in migrations if not _is_applied(migration, applied)
        ]
    finally:
        await conn.execute("select pg_advisory_unlock($1)", key)


async def _lock_schema(conn: asyncpg.Connection, schema: str, key: int) -> None:
    # Asked again and again: a statement that waits for the lock is a transaction that an index build of the holder
    # would wait for in its turn.
    for _ in range(round(_MAX_WAIT_FOR_OTHER_S / _CHECK_INTERVAL_S)):
        if await conn.fetchval("select pg_try_advisory_lock($1)", key):
            return
        await asyncio.sleep(_CHECK_INTERVAL_S)
    raise Unavailable(
        f"another process migrates schema {schema}; an index of a big table takes minutes, and Postgres builds it to "
        "its end where the process that began it is gone. Run `mailroom migrate` again later"
    )


async def _read_applied(conn: asyncpg.Connection, schema: str) -> dict[int, str]:
    await conn.execute(
        f'create schema if not exists "{schema}";'
        f'create table if not exists "{schema}".schema_migrations ('
        " number int primary key, name text not null, digest text not null,"
        " applied_at timestamptz not null default now())"
    )
    rows = await conn.fetch(f'select number, digest from "{schema}".schema_migrations')  # noqa: S608
    return {row["number"]: row["digest"] for row in rows}


def _is_applied(migration: Migration, applied: dict[int, str]) -> bool:
    digest = applied.get(migration.number)
    if digest is not None and digest != migration.digest:
        raise Fatal(
            f"migration {migration.schema}/{migration.name} was changed after it had been applied: the tables are "
            "those of another version, which this one does not read. Run `mailroom migrate` on a new database, or "
            "`make clean` where this is the state of a sandbox"
        )
    return digest is not None


async def _apply_migration(conn: asyncpg.Connection, migration: Migration) -> str:
    try:
        await _execute_migration(conn, migration)
    except asyncpg.PostgresError as error:
        # Postgres names the table at most; the note is the last line of what `mailroom migrate` prints.
        error.add_note(f"in migration {migration.schema}/{migration.name}")
        raise
    return f"{migration.schema}/{migration.name}"


async def _execute_migration(conn: asyncpg.Connection, migration: Migration) -> None:
    if is_index_migration(migration.sql):
        await apply_index_statements(conn, migration.sql)
        await conn.execute(f"set lock_timeout = '{_LOCK_TIMEOUT}'")
        await _record_migration(conn, migration)
    else:
        async with conn.transaction():
            await conn.execute(migration.sql)
            await _record_migration(conn, migration)


async def _record_migration(conn: asyncpg.Connection, migration: Migration) -> None:
    await conn.execute(
        f'insert into "{migration.schema}".schema_migrations (number, name, digest) values ($1, $2, $3)',  # noqa: S608
        migration.number,
        migration.name,
        migration.digest,
    )


def _read_package(schema: str, package: str) -> Iterator[Migration]:
    for file in files(package).iterdir():
        stem, _, suffix = file.name.rpartition(".")
        if suffix == "sql":
            yield Migration(schema, int(stem.partition("_")[0]), stem, file.read_text())
