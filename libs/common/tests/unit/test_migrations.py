"""What a service checks of its schema before it starts; `tests/integration` applies migrations to a real database."""

from dataclasses import dataclass

import asyncpg
import pytest

from mailroom_common import migrations
from mailroom_common.errors import Fatal
from mailroom_common.migrations import Migration, require_current_schema

FIRST = Migration("m_test", 1, "0001_first", "create table m_test.one (n int)")
SECOND = Migration("m_test", 2, "0002_second", "create table m_test.two (n int)")


@dataclass
class FakePool:
    """Answers with the migrations that were applied, None where the schema does not exist."""

    applied: list[Migration] | None

    async def fetch(self, _query: str) -> list[dict[str, object]]:
        if self.applied is None:
            raise asyncpg.UndefinedTableError("no such table")
        return [{"number": migration.number, "digest": migration.digest} for migration in self.applied]


@pytest.fixture(autouse=True)
def _shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "bundled_migrations", lambda _schema: [FIRST, SECOND])


async def check_schema(*applied: Migration) -> None:
    await require_current_schema(FakePool(list(applied)), "m_test")  # type: ignore[arg-type]  # one call of a pool


async def test_schema_of_this_version_or_a_newer_one_is_current() -> None:
    await check_schema(FIRST, SECOND)
    await check_schema(FIRST, SECOND, Migration("m_test", 3, "0003_third", "select 3"))


async def test_schema_that_lacks_a_migration_is_named_with_its_remedy() -> None:
    with pytest.raises(Fatal, match="m_test is at migration 1 and this version needs 2: run `mailroom migrate`"):
        await check_schema(FIRST)
    with pytest.raises(Fatal, match="m_test is at migration 0"):
        await require_current_schema(FakePool(None), "m_test")  # type: ignore[arg-type]  # one call of a pool


async def test_schema_of_another_checkout_with_the_same_numbers_is_refused() -> None:
    edited = Migration("m_test", 2, "0002_second", "create table m_test.renamed (n int)")
    with pytest.raises(Fatal, match=r"m_test/0002_second was changed .*`mailroom migrate`.*`make clean`"):
        await check_schema(FIRST, edited)
