"""`mailroom migrate --create-roles` on real Postgres: what each role may reach, by the catalogue and by trying it."""

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import asyncpg
import pytest
from typer.testing import CliRunner, Result

from mailroom_cli.__main__ import app

pytestmark = pytest.mark.stack

ROLES = ("subscription_manager", "sync_engine", "sync_engine_api", "ingestion", "outside_job")
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
ALL_ROWS = {"SELECT", "INSERT", "UPDATE", "DELETE"}
# By the design, not by the code: role → schema → what it may do to a table there. Everything else is denied.
ALLOWED: dict[str, dict[str, set[str]]] = {
    "subscription_manager": {
        "subscription_manager": ALL_ROWS,
        "mailroom_tokens": ALL_ROWS,
        "mailroom_quota": ALL_ROWS,
    },
    "sync_engine": {
        "sync_engine": ALL_ROWS,
        "mailroom_tokens": ALL_ROWS,
        "mailroom_quota": ALL_ROWS,
        "bo_airflow": ALL_ROWS - {"DELETE"},
    },
    "sync_engine_api": {"sync_engine": {"SELECT"}},
    "ingestion": {"ingestion": ALL_ROWS},
    "outside_job": {"bo_airflow": ALL_ROWS - {"DELETE"}},
}
SCHEMAS = ("bo_airflow", "ingestion", "mailroom_quota", "mailroom_tokens", "subscription_manager", "sync_engine")


@dataclass(frozen=True, slots=True)
class Site:
    """A database of its own, and roles with names of their own: the server is shared."""

    url: str
    suffix: str
    environment: dict[str, str]

    def role(self, name: str) -> str:
        return f"{name}_{self.suffix}"

    def url_of(self, name: str) -> str:
        parts = urlsplit(self.url)
        return parts._replace(netloc=f"{self.role(name)}:pw-{name}@{parts.netloc.rpartition('@')[2]}").geturl()

    def migrate(self, *arguments: str, **changed: str) -> Result:
        return CliRunner().invoke(app, ["migrate", *arguments], env={**self.environment, **changed})

    def fetch(self, query: str, *values: object, as_role: str | None = None) -> list[asyncpg.Record]:
        async def run() -> list[asyncpg.Record]:
            conn = await asyncpg.connect(self.url_of(as_role) if as_role else self.url)
            try:
                return list(await conn.fetch(query, *values))
            finally:
                await conn.close()

        return asyncio.run(run())


def _new_site(postgres_url: str, *, passwords: bool) -> Site:
    suffix = secrets.token_hex(4)
    environment = {"MAILROOM_DATABASE_URL": postgres_url}
    for name in ROLES:
        environment[f"MAILROOM_ROLE_{name.upper()}"] = f"{name}_{suffix}"
        if passwords:
            environment[f"MAILROOM_ROLE_{name.upper()}_PASSWORD"] = f"pw-{name}"
    return Site(postgres_url, suffix, environment)


def _drop_roles(site: Site) -> None:
    for name in ROLES:
        if site.fetch("select 1 from pg_roles where rolname = $1", site.role(name)):
            site.fetch(f"drop owned by {site.role(name)}")
            site.fetch(f"drop role {site.role(name)}")


@pytest.fixture(scope="module")
def site(postgres_url: str) -> Iterator[Site]:
    made = _new_site(postgres_url, passwords=True)
    result = made.migrate("--create-roles")
    assert result.exit_code == 0, result.output
    yield made
    _drop_roles(made)


def test_each_role_has_its_rights_and_no_other(site: Site) -> None:
    rows = site.fetch(
        "select r.rolname, n.nspname, c.relname, p.name as privilege"
        " from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join pg_roles r"
        " cross join unnest($1::text[]) as p(name)"
        " where c.relkind in ('r', 'p', 'v', 'm') and n.nspname = any($2) and r.rolname = any($3)"
        " and has_schema_privilege(r.oid, n.oid, 'USAGE') and has_table_privilege(r.oid, c.oid, p.name)",
        list(PRIVILEGES),
        list(SCHEMAS),
        [site.role(name) for name in ROLES],
    )
    found = {(row["rolname"], row["nspname"], row["relname"], row["privilege"]) for row in rows}
    tables = site.fetch("select schemaname, tablename from pg_tables where schemaname = any($1)", list(SCHEMAS))
    expected = {
        (site.role(name), table["schemaname"], table["tablename"], privilege)
        for name in ROLES
        for table in tables
        for privilege in ALLOWED[name].get(table["schemaname"], set())
        if table["tablename"] != "schema_migrations" or privilege == "SELECT"
    }
    assert {table["schemaname"] for table in tables} == set(SCHEMAS)
    assert found == expected


def test_the_api_of_messages_may_say_when_parked_rows_are_tried_again_and_nothing_else(site: Site) -> None:
    columns = site.fetch(
        "select table_name, column_name from information_schema.column_privileges"
        " where grantee = $1 and privilege_type = 'UPDATE'",
        site.role("sync_engine_api"),
    )
    found = {(row["table_name"], row["column_name"]) for row in columns}
    assert found == {("message_part", "next_attempt_at"), ("parked_item", "next_attempt_at")}
    site.fetch("update sync_engine.parked_item set next_attempt_at = now()", as_role="sync_engine_api")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        site.fetch("update sync_engine.parked_item set reason = 'x'", as_role="sync_engine_api")


def test_sequences_are_for_those_who_write(site: Site) -> None:
    site.fetch("create sequence sync_engine.later")
    rows = site.fetch(
        "select r.rolname, n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " cross join pg_roles r where c.relkind = 'S' and n.nspname = any($1) and r.rolname = any($2)"
        " and has_schema_privilege(r.oid, n.oid, 'USAGE') and has_sequence_privilege(r.oid, c.oid, 'USAGE')",
        list(SCHEMAS),
        [site.role(name) for name in ROLES],
    )
    sequences = site.fetch(
        "select schemaname, sequencename from pg_sequences where schemaname = any($1)", list(SCHEMAS)
    )
    expected = {
        (site.role(name), row["schemaname"], row["sequencename"])
        for name in ROLES
        for row in sequences
        if "INSERT" in ALLOWED[name].get(row["schemaname"], set())
    }
    assert {tuple(row) for row in rows} == expected
    assert {"full_due_mark_number", "later"} <= {row["sequencename"] for row in sequences}
    site.fetch("drop sequence sync_engine.later")


def test_roles_are_ordinary_own_nothing_and_make_nothing(site: Site) -> None:
    mighty = site.fetch(
        "select rolname from pg_roles where rolname = any($1)"
        " and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)",
        [site.role(name) for name in ROLES],
    )
    owned = site.fetch(
        "select c.relname from pg_class c join pg_roles r on r.oid = c.relowner where r.rolname = any($1)",
        [site.role(name) for name in ROLES],
    )
    creating = site.fetch(
        "select 1 from pg_namespace n cross join pg_roles r where r.rolname = any($1)"
        " and n.nspname = any($2) and has_schema_privilege(r.oid, n.oid, 'CREATE')",
        [site.role(name) for name in ROLES],
        [*SCHEMAS, "public"],
    )
    assert (mighty, owned, creating) == ([], [], [])


def test_denied_is_denied_and_granted_is_granted_with_the_password_that_was_given(site: Site) -> None:
    assert site.fetch("select count(*) from ingestion.document", as_role="ingestion")
    for name, table in (
        ("ingestion", 'mailroom_tokens."grant"'),
        ("ingestion", "sync_engine.message"),
        ("sync_engine_api", 'mailroom_tokens."grant"'),
        ("sync_engine", "subscription_manager.doc_source"),
        ("subscription_manager", "ingestion.document"),
        ("outside_job", "sync_engine.message"),
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            site.fetch(f"select * from {table}", as_role=name)  # noqa: S608  # a table named above


def test_outside_job_claims_in_the_shared_table(site: Site) -> None:
    claimed = site.fetch(
        "insert into bo_airflow.email_ingestion_state (app_name, message_id, mailbox_email) values ('a', 'm', '')"
        " on conflict (app_name, message_id) do update set status = 'processing' returning id",
        as_role="outside_job",
    )
    assert len(claimed) == 1


def test_table_of_a_later_migration_is_covered(site: Site) -> None:
    site.fetch("create table sync_engine.later (id bigint generated always as identity, name text)")
    assert site.fetch("insert into sync_engine.later (name) values ('x') returning id", as_role="sync_engine")
    assert site.fetch("select * from sync_engine.later", as_role="sync_engine_api")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        site.fetch("select * from sync_engine.later", as_role="ingestion")
    site.fetch("drop table sync_engine.later")


def test_second_run_takes_what_was_granted_beside_and_changes_the_password(site: Site) -> None:
    site.fetch(f"grant usage on schema mailroom_tokens to {site.role('ingestion')}")
    site.fetch(f'grant select on mailroom_tokens."grant" to {site.role("ingestion")}')
    again = site.migrate("--create-roles", MAILROOM_ROLE_OUTSIDE_JOB_PASSWORD="another-one")
    assert again.exit_code == 0, again.output
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        site.fetch('select * from mailroom_tokens."grant"', as_role="ingestion")
    with pytest.raises(asyncpg.InvalidPasswordError):
        site.fetch("select 1", as_role="outside_job")
    assert site.migrate("--create-roles").exit_code == 0
    assert site.fetch("select 1", as_role="outside_job")


def test_roles_that_a_database_administrator_made_are_only_granted(postgres_url: str) -> None:
    own = _new_site(postgres_url, passwords=False)
    missing = own.migrate("--grant-roles")
    assert missing.exit_code != 0
    assert f"ingestion_{own.suffix} (MAILROOM_ROLE_INGESTION)" in str(missing.exception)
    try:
        for name in ("subscription_manager", "sync_engine", "ingestion"):
            own.fetch(f"create role {own.role(name)} login password 'pw-{name}'")
        granted = own.migrate("--grant-roles")
        assert granted.exit_code == 0, granted.output
        assert f"no role outside_job_{own.suffix}: it is optional" in granted.output
        assert own.fetch("select count(*) from ingestion.document", as_role="ingestion")
    finally:
        _drop_roles(own)


@pytest.mark.parametrize(
    ("change", "undo", "reason"),
    [
        ("grant {sync_engine} to {ingestion}", "revoke {sync_engine} from {ingestion}", "is a member of sync_engine_"),
        ("grant pg_read_all_data to {ingestion}", "revoke pg_read_all_data from {ingestion}", "of pg_read_all_data"),
        ("alter role {ingestion} replication", "alter role {ingestion} noreplication", "may replicate"),
        ("alter role {ingestion} bypassrls", "alter role {ingestion} nobypassrls", "bypasses row-level security"),
    ],
)
def test_a_role_with_another_way_to_rows_is_refused(site: Site, change: str, undo: str, reason: str) -> None:
    names = {name: site.role(name) for name in ROLES}
    site.fetch(change.format(**names))
    try:
        refused = site.migrate("--grant-roles")
        assert refused.exit_code != 0
        assert f"the role {site.role('ingestion')} " in str(refused.exception)
        assert reason in str(refused.exception)
    finally:
        site.fetch(undo.format(**names))
    assert site.migrate("--grant-roles").exit_code == 0


def test_missing_passwords_are_named(postgres_url: str) -> None:
    refused = _new_site(postgres_url, passwords=False).migrate("--create-roles")
    for name in ("SUBSCRIPTION_MANAGER", "SYNC_ENGINE", "INGESTION"):
        assert f"MAILROOM_ROLE_{name}_PASSWORD" in str(refused.exception)
    assert "OUTSIDE_JOB" not in str(refused.exception)


def test_the_owner_is_no_service_role(postgres_url: str) -> None:
    site = _new_site(postgres_url, passwords=True)
    owner = urlsplit(postgres_url).username
    refused = site.migrate("--grant-roles", **{f"MAILROOM_ROLE_{name.upper()}": str(owner) for name in ROLES})
    assert f"the role {owner} is a superuser" in str(refused.exception)
