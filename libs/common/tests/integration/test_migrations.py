import asyncio
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path

import asyncpg
import pytest

from mailroom_common import migrations
from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.locks import advisory_lock_key
from mailroom_common.migrations import Migration, apply_migrations, list_schemas, require_current_schema
from mailroom_common.postgres import acquire_session, open_pool, open_transaction

pytestmark = pytest.mark.stack

FIRST = Migration("m_test", 1, "0001_first", "create table m_test.one (n int)")
SECOND = Migration("m_test", 2, "0002_second", "alter table m_test.one add column m int")
INDEX = Migration(
    "m_test",
    2,
    "0002_index",
    "-- concurrently\ncreate unique index concurrently if not exists one_n on m_test.one (n);",
)
BROKEN = Migration("m_test", 3, "0003_broken", "create table m_test.half (n int); select 1 / 0")


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> list[Migration]:
    """What the package of `m_test` ships; tests change the list."""
    ours = [FIRST]
    monkeypatch.setattr(migrations, "bundled_migrations", lambda _schema: list(ours))
    return ours


@pytest.fixture(autouse=True)
async def _no_schema(postgres_url: str) -> None:
    conn = await asyncpg.connect(postgres_url)
    await conn.execute("drop schema if exists m_test cascade")
    await conn.close()


@pytest.fixture
async def conn(postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    conn = await asyncpg.connect(postgres_url)
    yield conn
    await conn.close()


async def test_applies_what_is_missing_once_and_says_so(postgres_url: str, shipped: list[Migration]) -> None:
    assert await apply_migrations(postgres_url, {"m_test"}) == ["m_test/0001_first"]
    shipped.append(SECOND)
    assert await apply_migrations(postgres_url, {"m_test"}) == ["m_test/0002_second"]
    assert await apply_migrations(postgres_url, {"m_test"}) == []


async def test_several_at_once_apply_each_migration_once(postgres_url: str, shipped: list[Migration]) -> None:
    shipped.append(SECOND)
    done = await asyncio.gather(*(apply_migrations(postgres_url, {"m_test"}) for _ in range(4)))
    assert sorted(chain.from_iterable(done)) == ["m_test/0001_first", "m_test/0002_second"]


async def test_failed_migration_leaves_nothing_of_itself(postgres_url: str, shipped: list[Migration]) -> None:
    shipped.append(BROKEN)
    with pytest.raises(asyncpg.DivisionByZeroError) as raised:
        await apply_migrations(postgres_url, {"m_test"})
    assert raised.value.__notes__ == ["in migration m_test/0003_broken"]
    conn = await asyncpg.connect(postgres_url)
    assert await conn.fetchval("select to_regclass('m_test.one')") == "m_test.one"
    assert await conn.fetchval("select to_regclass('m_test.half')") is None
    await conn.close()


async def test_changed_migration_is_refused(postgres_url: str, shipped: list[Migration]) -> None:
    await apply_migrations(postgres_url, {"m_test"})
    shipped[0] = Migration("m_test", 1, "0001_first", "create table m_test.other (n int)")
    with pytest.raises(Fatal, match="m_test/0001_first was changed"):
        await apply_migrations(postgres_url, {"m_test"})


async def test_busy_table_ends_a_migration_and_queues_nobody(postgres_url: str, shipped: list[Migration]) -> None:
    await apply_migrations(postgres_url, {"m_test"})
    shipped.append(SECOND)
    busy = await asyncpg.connect(postgres_url)
    async with busy.transaction():
        await busy.execute("select * from m_test.one")
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            await apply_migrations(postgres_url, {"m_test"})
    await busy.close()
    assert await apply_migrations(postgres_url, {"m_test"}) == ["m_test/0002_second"]


async def is_index_valid(conn: asyncpg.Connection) -> bool | None:
    valid: bool | None = await conn.fetchval(
        "select indisvalid from pg_index where indexrelid = to_regclass('m_test.one_n')"
    )
    return valid


async def wait_for_blocked_migration(conn: asyncpg.Connection) -> None:
    async with asyncio.timeout(30):
        # Postgres tells nobody that a session began to wait.
        while not await conn.fetchval(  # noqa: ASYNC110
            "select exists (select from pg_stat_activity where datname = current_database() "
            "and application_name = 'mailroom-migrate' and wait_event_type = 'Lock')"
        ):
            await asyncio.sleep(0.05)


async def test_an_index_is_built_beside_the_writers_of_its_table(
    postgres_url: str, shipped: list[Migration], conn: asyncpg.Connection
) -> None:
    await apply_migrations(postgres_url, {"m_test"})
    shipped.append(INDEX)
    writer = await asyncpg.connect(postgres_url)
    async with writer.transaction():
        await writer.execute("insert into m_test.one values (1)")
        building = asyncio.create_task(apply_migrations(postgres_url, {"m_test"}))
        await wait_for_blocked_migration(conn)
        await asyncio.wait_for(conn.execute("insert into m_test.one values (2)"), 2)
    await writer.close()
    assert await building == ["m_test/0002_index"]
    assert await is_index_valid(conn)


async def test_an_index_build_that_was_cut_off_is_begun_anew(
    postgres_url: str, shipped: list[Migration], conn: asyncpg.Connection
) -> None:
    await apply_migrations(postgres_url, {"m_test"})
    await conn.execute("insert into m_test.one values (1), (1)")
    shipped.append(INDEX)
    with pytest.raises(asyncpg.UniqueViolationError):
        await apply_migrations(postgres_url, {"m_test"})
    assert await is_index_valid(conn) is False, "what a build leaves behind that did not come to its end"
    await conn.execute("delete from m_test.one")
    assert await apply_migrations(postgres_url, {"m_test"}) == ["m_test/0002_index"]
    assert await is_index_valid(conn)


async def test_an_index_build_waits_for_nobody_who_waits_for_its_turn(
    postgres_url: str, shipped: list[Migration]
) -> None:
    shipped.append(INDEX)
    done = await asyncio.gather(*(apply_migrations(postgres_url, {"m_test"}) for _ in range(4)))
    assert sorted(chain.from_iterable(done)) == ["m_test/0001_first", "m_test/0002_index"]


async def test_who_has_waited_for_another_for_too_long_is_told_so(
    postgres_url: str, shipped: list[Migration], conn: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_MAX_WAIT_FOR_OTHER_S", 0.2)
    await conn.execute("select pg_advisory_lock($1)", advisory_lock_key("migrations", "m_test"))
    with pytest.raises(Unavailable, match="another process migrates schema m_test"):
        await apply_migrations(postgres_url, {"m_test"})


async def test_service_on_an_older_schema_does_not_start(postgres_url: str, shipped: list[Migration]) -> None:
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        with pytest.raises(Fatal, match="run `mailroom migrate`"):
            await require_current_schema(pool, "m_test")
        await apply_migrations(postgres_url, {"m_test"})
        await require_current_schema(pool, "m_test")
        shipped.append(SECOND)
        with pytest.raises(Fatal, match="is at migration 1 and this version needs 2"):
            await require_current_schema(pool, "m_test")


async def test_newer_schema_is_fine_for_an_older_version(postgres_url: str, shipped: list[Migration]) -> None:
    shipped.append(SECOND)
    await apply_migrations(postgres_url, {"m_test"})
    shipped.remove(SECOND)
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        await require_current_schema(pool, "m_test")
    assert await apply_migrations(postgres_url, {"m_test"}) == []


def test_every_shipped_migration_is_numbered_once_and_makes_its_own_schema() -> None:
    for schema in list_schemas():
        ours = migrations.bundled_migrations(schema)
        assert [migration.number for migration in ours] == list(range(1, len(ours) + 1)), schema
        assert f"create schema if not exists {schema}" in ours[0].sql, schema


def test_migrations_lie_where_a_wheel_carries_them() -> None:
    for schema in list_schemas():
        assert migrations.bundled_migrations(schema), schema
    folder = Path(migrations.__file__).parent / "tokens" / "migrations"
    assert (folder / "__init__.py").is_file()


async def test_passing_errors_are_ours_and_others_are_not(postgres_url: str) -> None:
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        with pytest.raises(asyncpg.UndefinedTableError):
            async with acquire_session(pool) as conn:
                await conn.execute("select * from nowhere")
        with pytest.raises(Unavailable):
            async with open_transaction(pool) as conn:
                await conn.execute("select pg_terminate_backend(pg_backend_pid())")


async def test_postgres_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        async with open_pool("postgresql://mailroom:secret@127.0.0.1:1/none", application_name="test"):
            pytest.fail("there is no server")


async def test_pool_speaks_json_and_utc(postgres_url: str) -> None:
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        assert await pool.fetchval("select $1::jsonb", {"a": [1, "ü"]}) == {"a": [1, "ü"]}
        assert await pool.fetchval("show timezone") == "UTC"
