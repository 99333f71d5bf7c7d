"""`mailroom migrate` on real Postgres."""

import asyncio
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from typer.testing import CliRunner

from mailroom_cli.__main__ import app
from mailroom_common.tokens.store import SCHEMA as TOKENS_SCHEMA

pytestmark = pytest.mark.stack


async def _create_database(server_url: str, name: str) -> str:
    conn = await asyncpg.connect(server_url)
    await conn.execute(f"drop database if exists {name}")
    await conn.execute(f"create database {name}")
    await conn.close()
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


async def _list_schemas(url: str) -> set[str]:
    conn = await asyncpg.connect(url)
    rows = await conn.fetch("select nspname from pg_namespace")
    await conn.close()
    return {row["nspname"] for row in rows}


def test_tokens_are_migrated_in_a_database_of_their_own_and_a_second_run_changes_nothing(
    postgres_server_url: str,
) -> None:
    services = asyncio.run(_create_database(postgres_server_url, "cli_services"))
    tokens = asyncio.run(_create_database(postgres_server_url, "cli_tokens"))
    environment = {"MAILROOM_DATABASE_URL": services, "MAILROOM_TOKEN_DATABASE_URL": tokens}

    first = CliRunner().invoke(app, ["migrate"], env=environment)
    second = CliRunner().invoke(app, ["migrate"], env=environment)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "applied sync_engine/" in first.stdout
    assert second.stdout.startswith("0 applied; ")
    assert {"sync_engine", "ingestion", "subscription_manager"} <= asyncio.run(_list_schemas(services))
    assert TOKENS_SCHEMA not in asyncio.run(_list_schemas(services))
    assert TOKENS_SCHEMA in asyncio.run(_list_schemas(tokens))
