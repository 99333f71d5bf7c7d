"""Migrations for tests that share a database: the first test of a module applies them, the others do not look again."""

from mailroom_common.migrations import apply_migrations

_migrated: set[tuple[str, str]] = set()


async def migrate_once(database_url: str, schema: str) -> None:
    if (database_url, schema) not in _migrated:
        await apply_migrations(database_url, only={schema})
        _migrated.add((database_url, schema))
