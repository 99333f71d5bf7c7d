"""`mailroom doctor` on real Kafka and Postgres: what is missing is named, and gone once its next step was taken."""

import asyncio
import json
import secrets
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import pytest
from typer.testing import CliRunner

from mailroom_cli import apply_topics
from mailroom_cli.__main__ import app
from mailroom_common.postgres import open_pool
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredTokens, TokenStore
from mailroom_common.topics import DeployedTopic

pytestmark = pytest.mark.stack


def run_doctor(check: str, environment: dict[str, str]) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["doctor", "--json", "--only", check], env=environment)
    results = json.loads(result.stdout)
    assert (result.exit_code == 0) == all(each["outcome"] != "failed" for each in results)
    return list(results)


@pytest.fixture
def database_url(postgres_server_url: str) -> str:
    async def create() -> str:
        name = f"doctor_{secrets.token_hex(4)}"
        conn = await asyncpg.connect(postgres_server_url)
        await conn.execute(f"create database {name}")
        await conn.close()
        return urlunsplit(urlsplit(postgres_server_url)._replace(path=f"/{name}"))

    return asyncio.run(create())


def test_missing_topics_are_found_and_right_once_they_are_applied(
    kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_one(prefix: str, replication: int) -> list[DeployedTopic]:
        return [DeployedTopic(f"{prefix}attachments", 1, replication, {"cleanup.policy": "delete"})]

    monkeypatch.setattr(apply_topics, "list_deployed_topics", list_one)
    environment = {
        "MAILROOM_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "MAILROOM_KAFKA_REPLICATION": "1",
        "MAILROOM_TOPIC_PREFIX": f"t{secrets.token_hex(4)}.",
    }
    [missing] = run_doctor("kafka", environment)
    assert (missing["outcome"], missing["next_step"]) == ("failed", "mailroom topics apply")

    assert CliRunner().invoke(app, ["topics", "apply"], env=environment).exit_code == 0
    [applied] = run_doctor("kafka", environment)
    assert applied["outcome"] == "ok"


def test_schemas_are_right_once_they_are_migrated_and_tokens_once_their_key_is_there(database_url: str) -> None:
    old, new = (f"{name}:{b64encode(secrets.token_bytes(32)).decode()}" for name in ("old", "new"))
    environment = {"MAILROOM_DATABASE_URL": database_url, "MAILROOM_TOKEN_KEYS": new}
    before = run_doctor("postgres", environment)
    assert {each["next_step"] for each in before if each["outcome"] == "failed"} == {"mailroom migrate"}

    assert CliRunner().invoke(app, ["migrate"], env=environment).exit_code == 0
    assert {each["outcome"] for each in run_doctor("postgres", environment)} == {"ok"}

    with_role = {**environment, "MAILROOM_DATABASE_URL": asyncio.run(create_role_without_a_table(database_url))}
    by_schema = {each["subject"]: each for each in run_doctor("postgres", with_role)}
    assert by_schema["ingestion"]["finding"] == "this role may use the schema, and may not read 1 of its tables"
    assert by_schema["sync_engine"]["outcome"] == "skipped"

    asyncio.run(store_grant(database_url, old))
    [lost] = run_doctor("tokens", environment)
    assert lost["outcome"] == "failed"
    assert lost["finding"].startswith("1 of the 1")
    [found] = run_doctor("tokens", {**environment, "MAILROOM_TOKEN_KEYS": f"{new},{old}"})
    assert found["outcome"] == "ok"


async def create_role_without_a_table(url: str) -> str:
    """The address for a role that may read the schema of ingestion, but for one table."""
    name = f"role_{secrets.token_hex(4)}"
    conn = await asyncpg.connect(url)
    await conn.execute(f"create role {name} login password 'secret'")
    await conn.execute(f"grant usage on schema ingestion to {name}")
    await conn.execute(f"grant select on all tables in schema ingestion to {name}")
    await conn.execute(f"revoke all on ingestion.document from {name}")
    await conn.close()
    server = urlsplit(url)
    return urlunsplit(server._replace(netloc=f"{name}:secret@{server.netloc.rpartition('@')[2]}"))


async def store_grant(url: str, key: str) -> None:
    tokens = StoredTokens("access", "refresh", datetime.now(UTC) + timedelta(hours=1))
    async with open_pool(url, application_name="test", max_size=1) as pool:
        store = TokenStore(pool, SealingKeys.parse_keys(key), url=url)
        await store.put_grant(str(uuid4()), "outlook", "user", tokens, frozenset())
