"""What an index migration may hold; `tests/integration/test_migrations.py` builds indexes on a real database."""

import re

import pytest

from mailroom_common.index_migrations import IndexStatement, is_index_migration, parse_index_statements
from mailroom_common.migrations import Migration, bundled_migrations, list_schemas

# Their plain builds are from before index migrations, and before any site had big tables.
_LAST_PLAIN = {
    "ingestion": 3,
    "mailroom_quota": 1,
    "mailroom_tokens": 1,
    "subscription_manager": 9,
    "sync_engine": 14,
}
_CREATED_TABLE = re.compile(r"create table (?:if not exists )?([\w.]+)", re.IGNORECASE)
_CREATED_INDEX = re.compile(r"create (?:unique )?index .*? on (?:only )?([\w.]+)", re.IGNORECASE)
# A unique constraint builds an index too, unless it takes one that is there: `unique using index NAME`.
_ALTERED = re.compile(r"alter table (?:only )?([\w.]+)([^;]*)", re.IGNORECASE)
_CONSTRAINT = re.compile(r"\b(?:unique|primary key|exclude)\b(?!\s+using\s+index)", re.IGNORECASE)


def find_blocking_builds(sql: str) -> list[str]:
    """The tables that are older than the migration and that it builds an index of in a transaction."""
    if is_index_migration(sql):
        return []
    statements = " ".join(re.sub("--.*", "", sql).split())
    built = _CREATED_INDEX.findall(statements)
    built += [table for table, actions in _ALTERED.findall(statements) if _CONSTRAINT.search(actions)]
    return sorted(set(built) - set(_CREATED_TABLE.findall(statements)))


def list_new_migrations() -> list[Migration]:
    return [
        migration
        for schema in sorted(list_schemas())
        for migration in bundled_migrations(schema)
        if migration.number > _LAST_PLAIN.get(schema, 0)
    ]


def test_no_migration_keeps_the_writers_of_a_table_waiting_until_its_index_is_built() -> None:
    blocking = {
        f"{migration.schema}/{migration.name}": tables
        for migration in list_new_migrations()
        if (tables := find_blocking_builds(migration.sql))
    }
    assert blocking == {}, "build it in an index migration: libs/common/README.md, Add a migration"


def test_every_index_migration_can_be_run_statement_by_statement() -> None:
    for migration in list_new_migrations():
        if is_index_migration(migration.sql):
            assert parse_index_statements(migration.sql), migration.name


@pytest.mark.parametrize(
    "sql",
    [
        "create index a on s.old (b)",
        "create table s.new (a int); create unique index\n  c on s.old (b);",
        "alter table s.old add column b int unique",
        "alter table s.old add constraint c primary key (a)",
    ],
)
def test_an_index_of_an_older_table_is_found_in_a_plain_migration(sql: str) -> None:
    assert find_blocking_builds(sql) == ["s.old"]


@pytest.mark.parametrize(
    "sql",
    [
        "create table s.new (a int unique); create index a on s.new (a)",
        "alter table s.old add constraint c unique using index c",
        "alter table s.old add column b int -- unique",
        "-- concurrently\ncreate index concurrently if not exists a on s.old (b)",
    ],
)
def test_what_blocks_nobody_is_allowed(sql: str) -> None:
    assert find_blocking_builds(sql) == []


def test_statements_are_told_apart_without_their_comments() -> None:
    sql = """-- concurrently
    -- Why; not a statement.
    create unique index concurrently if not exists part_due
        on s.part (is_due, due_at)  -- read by claims
        where due_at is not null;
    drop index concurrently if exists s.part_old;
    """
    assert is_index_migration(sql)
    assert parse_index_statements(sql) == [
        IndexStatement(
            "create unique index concurrently if not exists part_due on s.part (is_due, due_at) "
            "where due_at is not null",
            "s.part_due",
        ),
        IndexStatement("drop index concurrently if exists s.part_old", None),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "create index concurrently a on s.t (b)",  # a second run would fail where it is there
        "create index if not exists a on s.t (b)",  # keeps writers waiting
        "create index concurrently if not exists a on t (b)",  # whose index a cut-off build left cannot be looked up
        "drop index concurrently s.a",
        "alter table s.t add column b int",
        "update s.t set b = ';'",
    ],
)
def test_any_other_statement_is_refused(statement: str) -> None:
    with pytest.raises(ValueError, match="only creates and drops indexes"):
        parse_index_statements(f"-- concurrently\n{statement};")
