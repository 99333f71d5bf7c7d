"""Ingestion's tables in a database of the module's own, empty before each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from ingestion_site import SCHEMA, Ingestion, open_ingestion
from migrated_databases import migrate_once

from mailroom_common.postgres import open_pool


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await migrate_once(postgres_url, SCHEMA)
    async with open_pool(postgres_url, application_name="test", max_size=20) as pool:
        await pool.execute(
            "truncate ingestion.document, ingestion.intake, ingestion.document_event, ingestion.event_ticket, "
            "ingestion.outbox, ingestion.trade, ingestion.shared_key, ingestion.shared_document cascade; "
            "update ingestion.document_event_head set last_seq = 0, deleted_seq = 0; "
            "update ingestion.document_check set checked_seq = 0"
        )
        yield pool


@pytest.fixture
async def site(pool: asyncpg.Pool, tmp_path: Path) -> AsyncIterator[Ingestion]:
    async with open_ingestion(pool, tmp_path / "blobs") as opened:
        yield opened
