"""The Postgres role of each service: what it may reach, and the statements that give it that and no more.

The role that migrates owns everything; a service's role owns nothing. A service has its own schema, those that call
providers have the tokens and the budgets of calls too, and the outside job has the one table that it shares with us.
The gateway has no role: it needs no database.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import asyncpg
from pydantic import SecretStr

from mailroom_cli.settings import MigrateSettings
from mailroom_common.budgets.store import SCHEMA as QUOTA
from mailroom_common.errors import Fatal
from mailroom_common.locks import advisory_lock_key
from mailroom_common.migrations import list_schemas
from mailroom_common.postgres import reveal_url, transient_errors
from mailroom_common.settings import PREFIX
from mailroom_common.tokens.store import SCHEMA as TOKENS

READ = "select"
WRITE = "select, insert, update, delete"
CLAIM = "select, insert, update"  # what the contract with the outside job needs
# `POST /parked-items/retry` says when parked rows are tried again.
RETRY_COLUMNS = {
    "sync_engine.parked_item": "update (next_attempt_at)",
    "sync_engine.message_part": "update (next_attempt_at)",
}
SHARED_SCHEMA = "bo_airflow"
SHARED_TABLE = "email_ingestion_state"
_SCRAM_ITERATIONS = 4096
# Managed Postgres lets members of these sign in by the cloud's own identities; they give nothing else.
_SIGN_IN_ROLES = ["rds_iam"]
_NOT_ORDINARY = {
    "rolsuper": "is a superuser",
    "rolcreaterole": "may create roles",
    "rolbypassrls": "bypasses row-level security",
    "rolreplication": "may replicate the whole server",
    "is_owner": "can act as the owner of the tables",
}


@dataclass(frozen=True, slots=True)
class RoleRights:
    """`schemas` and `shared_table` are privileges on tables, `columns` those on single columns of a table; an optional
    role may be missing."""

    setting: str
    schemas: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    shared_table: str | None = None
    is_optional: bool = False


ROLES = (
    RoleRights("role_subscription_manager", {"subscription_manager": WRITE, TOKENS: WRITE, QUOTA: WRITE}),
    RoleRights("role_sync_engine", {"sync_engine": WRITE, TOKENS: WRITE, QUOTA: WRITE}, shared_table=CLAIM),
    RoleRights("role_sync_engine_api", {"sync_engine": READ}, columns=RETRY_COLUMNS, is_optional=True),
    RoleRights("role_ingestion", {"ingestion": WRITE}),
    RoleRights("role_outside_job", shared_table=CLAIM, is_optional=True),
)


@dataclass(frozen=True, slots=True)
class AppliedRoles:
    """Names of roles, by what was done; `missing` are optional ones that are not there."""

    created: list[str]
    granted: list[str]
    missing: list[str]


async def apply_roles(url: SecretStr, settings: MigrateSettings, *, create: bool) -> AppliedRoles:
    """Give every service role its rights in this database and take all others of our schemas from it. Idempotent.

    `create` makes the roles that are missing and sets the passwords that the settings bring.

    Raises:
        Fatal: a role is missing, could do anything whatever it is granted, or may not be changed by the owner.
        Unavailable: Postgres does not answer.
    """
    with transient_errors():
        conn = await asyncpg.connect(
            reveal_url(url), timeout=10, server_settings={"application_name": "mailroom-migrate"}
        )
        try:
            async with conn.transaction():
                # Two runs at once would change the same rows of the catalogue.
                await conn.execute("select pg_advisory_xact_lock($1)", advisory_lock_key("roles"))
                return await _apply_roles(conn, settings, create)
        except asyncpg.InsufficientPrivilegeError as error:
            raise Fatal(
                f"Postgres does not let the role of MAILROOM_DATABASE_URL do this: {error}. It needs CREATEROLE for "
                "--create-roles (else have the roles created and use --grant-roles), and has to own the tables"
            ) from error
        finally:
            await conn.close(timeout=5)


async def _apply_roles(conn: asyncpg.Connection, settings: MigrateSettings, create: bool) -> AppliedRoles:
    schemas = await _existing_schemas(conn)
    concerned = [role for role in ROLES if schemas & {*role.schemas, *([SHARED_SCHEMA] if role.shared_table else [])}]
    created = await _create_roles(conn, concerned, settings) if create else []
    existing = await _existing_roles(conn, [_name_of(role, settings) for role in concerned])
    absent = [role for role in concerned if _name_of(role, settings) not in existing]
    _require_roles([role for role in absent if not role.is_optional], settings, create)
    granted = [role for role in concerned if role not in absent]
    for role in granted:
        await _require_ordinary(conn, _name_of(role, settings))
        for statement in _build_statements(role, _name_of(role, settings), schemas):
            await conn.execute(statement)
        if SHARED_SCHEMA in schemas:
            await _grant_sequence(conn, role, _name_of(role, settings))
    return AppliedRoles(
        created, [_name_of(role, settings) for role in granted], [_name_of(role, settings) for role in absent]
    )


async def _create_roles(conn: asyncpg.Connection, roles: list[RoleRights], settings: MigrateSettings) -> list[str]:
    existing = await _existing_roles(conn, [_name_of(role, settings) for role in roles])
    created = []
    for role in roles:
        name, password = _name_of(role, settings), _password_of(role, settings)
        if password is None:
            continue
        verb = "alter" if name in existing else "create"
        await conn.execute(f"{verb} role {_quote(name)} login password '{_build_scram_verifier(password)}'")
        if verb == "create":
            created.append(name)
    return created


def _require_roles(missing: list[RoleRights], settings: MigrateSettings, create: bool) -> None:
    if not missing:
        return
    if create:
        variables = ", ".join(f"{PREFIX}{role.setting.upper()}_PASSWORD" for role in missing)
        raise Fatal(f"--create-roles needs {variables} (each may be a file: …_PASSWORD_FILE)")
    names = ", ".join(f"{_name_of(role, settings)} ({PREFIX}{role.setting.upper()})" for role in missing)
    raise Fatal(f"these roles do not exist in Postgres: {names}. Have them created, or use --create-roles")


async def _require_ordinary(conn: asyncpg.Connection, name: str) -> None:
    """What we grant says all that a role reaches only where it has no other way to anything."""
    row = await conn.fetchrow(
        "select rolsuper, rolcreaterole, rolbypassrls, rolreplication,"
        " pg_has_role(oid, current_user, 'member') as is_owner,"
        " array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid"
        "   where m.member = r.oid and g.rolname <> all($2) order by 1) as memberships"
        " from pg_roles r where rolname = $1",
        name,
        _SIGN_IN_ROLES,
    )
    if row is None:
        return
    found = [sentence for column, sentence in _NOT_ORDINARY.items() if row[column]]
    found += [f"is a member of {parent}" for parent in row["memberships"] if not row["is_owner"]]
    if found:
        raise Fatal(
            f"the role {name} {', '.join(found)}: a service's role has to be an ordinary one that is a member of no "
            "other, so that it reaches what is granted to it here and no more (`revoke … from`, `alter role …`)"
        )


def _build_statements(role: RoleRights, name: str, schemas: frozenset[str]) -> Iterator[str]:
    """Takes everything in our schemas and gives what is due, so that a right of an older version goes."""
    to = _quote(name)
    for schema in sorted(schemas - {SHARED_SCHEMA}):
        rights = role.schemas.get(schema)
        yield f"revoke all on schema {schema} from {to}"
        yield f"revoke all on all tables in schema {schema} from {to}"
        yield f"revoke all on all sequences in schema {schema} from {to}"
        yield f"alter default privileges in schema {schema} revoke all on tables from {to}"
        yield f"alter default privileges in schema {schema} revoke all on sequences from {to}"
        if rights is not None:
            yield f"grant usage on schema {schema} to {to}"
            yield f"grant {rights} on all tables in schema {schema} to {to}"
            # Tables of later migrations.
            yield f"alter default privileges in schema {schema} grant {rights} on tables to {to}"
            yield f"revoke insert, update, delete on {schema}.schema_migrations from {to}"
        for table, privilege in role.columns.items():
            if table.startswith(f"{schema}."):
                yield f"grant {privilege} on {table} to {to}"
        if rights == WRITE:
            yield f"grant usage on all sequences in schema {schema} to {to}"
            yield f"alter default privileges in schema {schema} grant usage on sequences to {to}"
    if SHARED_SCHEMA in schemas:
        # The rest of this schema is the outside job's, and none of our business.
        yield f"revoke all on {SHARED_SCHEMA}.{SHARED_TABLE} from {to}"
        if role.shared_table is not None:
            yield f"grant usage on schema {SHARED_SCHEMA} to {to}"
            yield f"grant {role.shared_table} on {SHARED_SCHEMA}.{SHARED_TABLE} to {to}"


async def _grant_sequence(conn: asyncpg.Connection, role: RoleRights, name: str) -> None:
    """An insert into the shared table takes the next number of its `bigserial`, whoever made the table and its name."""
    sequence = await conn.fetchval("select pg_get_serial_sequence($1, 'id')", f"{SHARED_SCHEMA}.{SHARED_TABLE}")
    if sequence is None:
        return
    await conn.execute(f"revoke all on sequence {sequence} from {_quote(name)}")
    if role.shared_table is not None:
        await conn.execute(f"grant usage on sequence {sequence} to {_quote(name)}")


async def _existing_schemas(conn: asyncpg.Connection) -> frozenset[str]:
    ours = [*list_schemas(), SHARED_SCHEMA]
    rows = await conn.fetch("select nspname from pg_namespace where nspname = any($1::text[])", ours)
    return frozenset(row["nspname"] for row in rows)


async def _existing_roles(conn: asyncpg.Connection, names: list[str]) -> set[str]:
    rows = await conn.fetch("select rolname from pg_roles where rolname = any($1::text[])", names)
    return {row["rolname"] for row in rows}


def _name_of(role: RoleRights, settings: MigrateSettings) -> str:
    name = getattr(settings, role.setting)
    assert isinstance(name, str)  # noqa: S101  # a field of that class
    return name


def _password_of(role: RoleRights, settings: MigrateSettings) -> str | None:
    password = getattr(settings, f"{role.setting}_password")
    return password.get_secret_value() if isinstance(password, SecretStr) else None


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _build_scram_verifier(password: str) -> str:
    """What Postgres stores of a password (RFC 5803): the password itself is in no statement and no server log."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _SCRAM_ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    in_base64 = [base64.b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"SCRAM-SHA-256${_SCRAM_ITERATIONS}:{in_base64[0]}${in_base64[1]}:{in_base64[2]}"
