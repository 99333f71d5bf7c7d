"""Postgres is set back to an earlier time while Kafka, blobs and mailboxes stay: docs/operations.md, "Restore".

A whole site is started twice, so this is `make restore-test` and no part of `make test`.
"""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from whole_site import Site, eventually, mail, pdf, whole_site

from mailroom_cli.rewind_groups import rewind_groups
from mailroom_common.settings import KafkaSettings
from mailroom_sandbox.site.stack.home import Home, read_json
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.postgres import DATABASE, Postgres, find_binaries

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


async def test_ledger_and_documents_agree_and_the_operators_last_word_holds(home: Home, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    async with whole_site(home.path) as site:
        kept, paused = await site.connect("outlook"), await site.connect("gmail")
        for address, source in (kept, paused):
            await site.control.deliver_mail(mail(pdf("before")), address)
            await site.settled(source, documents=1, messages=1, within_s=180)
        _run_tool("pg_dump", site.running.endpoints.database, "--format=custom", f"--file={backup}")
        backup_at = datetime.now(UTC)

        late = await site.connect("outlook")
        for address, source in (kept, paused, late):
            await site.control.deliver_mail(mail(pdf("after"), pdf("after, too")), address)
            await eventually(partial(_has_documents, site, source, 2), 180)
        await site.api.post_json(f"/doc-sources/{paused[1]}/pause")
        filed = await _list_document_ids(site, kept[1])

    async with _servers(home) as (kafka, postgres):
        await _recreate_database(postgres)
        _run_tool("pg_restore", postgres.url, "--exit-on-error", str(backup))
        # Well before the backup: what is read twice changes nothing.
        settings = KafkaSettings(kafka_bootstrap=kafka.bootstrap)
        await rewind_groups(settings, backup_at - timedelta(hours=1), is_dry_run=False)

    async with whole_site(home.path) as site:
        # The backstop would, within 15 minutes.
        await site.api.post_json(f"/doc-sources/{kept[1]}/sync")
        await site.settled(kept[1], documents=3, messages=2, within_s=180)
        assert await _list_document_ids(site, kept[1]) == filed

        assert (await _source(site, paused[1]))["state"] == "paused"
        await site.api.post_json(f"/doc-sources/{paused[1]}/resume")
        await site.settled(paused[1], documents=3, messages=2, within_s=180)

        lost = await _source(site, late[1])
        assert (lost["state"], lost["connection_reason"]) == ("pending", "consent_lost")
        assert await site.connect("outlook", late[0]) == late
        await site.settled(late[1], documents=2, messages=1, within_s=180)

        # A change of the restored table has its effect: its version is above the topic's.
        await site.api.post_json(f"/doc-sources/{kept[1]}/pause")
        await site.control.deliver_mail(mail(pdf("while it rests")), kept[0])
        await site.api.post_json(f"/doc-sources/{kept[1]}/resume")
        await site.settled(kept[1], documents=4, messages=3, within_s=180)


@asynccontextmanager
async def _servers(home: Home) -> AsyncIterator[tuple[Kafka, Postgres]]:
    """Kafka and Postgres of the site's own state, and none of its services."""
    ports: dict[str, int] = read_json(home.ports, {})
    kafka = Kafka(
        home.kafka,
        home.jars,
        port=ports["kafka"],
        controller_port=ports["kafka_controller"],
        log=home.logs / "kafka-alone.log",
    )
    password = home.read_or_create_secret("postgres_password")
    postgres = Postgres(home.postgres, port=ports["postgres"], password=password, log=home.logs / "postgres-alone.log")
    kafka.start()
    postgres.start()
    try:
        await kafka.wait_until_ready()
        await postgres.wait_until_ready()
        yield kafka, postgres
    finally:
        await kafka.stop()
        await postgres.stop()


async def _recreate_database(postgres: Postgres) -> None:
    connection = await asyncpg.connect(postgres.server_url)
    await connection.execute(f"drop database {DATABASE} with (force)")
    await connection.execute(f"create database {DATABASE}")
    await connection.close()


def _run_tool(name: str, url: str, *arguments: str) -> None:
    plain = urlsplit(url)._replace(query="").geturl()
    subprocess.run([find_binaries() / name, f"--dbname={plain}", *arguments], check=True, timeout=120)


async def _has_documents(site: Site, source: str, count: int) -> bool:
    return len(await site.documents(source)) >= count


async def _list_document_ids(site: Site, source: str) -> dict[str, str]:
    return {document["content_sha256"]: document["id"] for document in await site.documents(source)}


async def _source(site: Site, doc_source_id: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    async def is_there() -> bool:
        answer = await site.http.get(f"/doc-sources/{doc_source_id}")
        found.update(answer.json())
        return answer.status_code == 200

    await eventually(is_there, 60)
    return found
