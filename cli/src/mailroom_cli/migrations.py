"""`mailroom migrate`: bring every schema up to date, and give each service's role its rights."""

import asyncio
from typing import Annotated

import typer

from mailroom_cli.database_roles import AppliedRoles, apply_roles
from mailroom_cli.settings import MigrateSettings
from mailroom_cli.terminal import print_line
from mailroom_common.budgets.store import SCHEMA as QUOTA
from mailroom_common.errors import Unavailable
from mailroom_common.migrations import apply_migrations, list_schemas
from mailroom_common.settings import load_settings
from mailroom_common.tokens.store import SCHEMA as TOKENS

EXAMPLES = """Examples:

  MAILROOM_DATABASE_URL=postgresql://owner:…@127.0.0.1/mailroom mailroom migrate

  MAILROOM_DATABASE_URL_FILE=/run/secrets/owner-url mailroom migrate --grant-roles

  MAILROOM_ROLE_INGESTION_PASSWORD_FILE=/run/secrets/ingestion … mailroom migrate --create-roles
"""


# Of several services, whose own schemas may be in databases of their own.
_SHARED_SCHEMAS = frozenset({TOKENS, QUOTA})


def migrate_schemas(
    grant_roles: Annotated[
        bool, typer.Option("--grant-roles", help="Give each service's role its rights; the roles have to exist.")
    ] = False,
    create_roles: Annotated[
        bool,
        typer.Option(
            "--create-roles", help="Create the services' roles too, with the passwords of MAILROOM_ROLE_…_PASSWORD."
        ),
    ] = False,
) -> None:
    """Apply the migrations that are missing, each in a transaction of its own. Two runs at once do no harm.

    The role of MAILROOM_DATABASE_URL owns the tables. With --grant-roles or --create-roles each service has a role of
    its own that reaches its own schema, the tokens and budgets of calls where it calls providers, and no more. Safe to
    repeat: rights that a role should not have are taken from it, and a new password replaces the old one. Names:
    MAILROOM_ROLE_….
    """
    settings = load_settings(MigrateSettings)
    try:
        applied = asyncio.run(_apply_all_migrations(settings))
    except Unavailable as error:
        if isinstance(error.__cause__, OSError):  # TimeoutError is one
            raise Unavailable(
                f"{error}: is Postgres running, and is MAILROOM_DATABASE_URL its address (MAILROOM_TOKEN_DATABASE_URL, "
                "where tokens have a database of their own)?"
            ) from error
        raise
    for name in applied:
        print_line(f"applied {name}")
    print_line(f"{len(applied)} applied; {', '.join(sorted(list_schemas()))} are up to date")
    if grant_roles or create_roles:
        for roles in asyncio.run(_apply_all_roles(settings, create_roles)):
            _report_roles(roles)


async def _apply_all_migrations(settings: MigrateSettings) -> list[str]:
    applied = await apply_migrations(settings.token_database_url or settings.database_url, _SHARED_SCHEMAS)
    return applied + await apply_migrations(settings.database_url, list_schemas() - _SHARED_SCHEMAS)


async def _apply_all_roles(settings: MigrateSettings, create: bool) -> list[AppliedRoles]:
    urls = dict.fromkeys([settings.database_url, settings.token_database_url or settings.database_url])
    return [await apply_roles(url, settings, create=create) for url in urls]


def _report_roles(applied: AppliedRoles) -> None:
    for name in applied.created:
        print_line(f"created role {name}")
    for name in applied.missing:
        print_line(f"no role {name}: it is optional, and nothing is granted")
    print_line(f"rights are up to date for {', '.join(applied.granted)}")
