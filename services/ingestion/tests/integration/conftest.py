"""Ingestion's tables in a database of the module's own, empty before each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from ingestion_site import SCHEMA, Ingestion, open_ingestion
from migrated_databases import migrate_once

from mailroom_common.postgres import open_pool

# What belongs to a document goes with it. Rows are deleted: to truncate these tables, which makes a file anew for each
# of them and of their indexes, takes a hundred times as long.
_EMPTY = """
delete from ingestion.document;
delete from ingestion.intake;
delete from ingestion.document_event;
delete from ingestion.event_ticket;
delete from ingestion.outbox;
delete from ingestion.shared_key;
delete from ingestion.shared_document;
update ingestion.document_event_head set last_seq = 0, deleted_seq = 0;
update ingestion.document_check set checked_seq = 0, round_ended_at = null;
"""


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await migrate_once(postgres_url, SCHEMA)
    async with open_pool(postgres_url, application_name="test", max_size=20) as pool:
        await pool.execute(_EMPTY)
        yield pool


@pytest.fixture
async def site(pool: asyncpg.Pool, tmp_path: Path) -> AsyncIterator[Ingestion]:
    async with open_ingestion(pool, tmp_path / "blobs") as opened:
        yield opened
