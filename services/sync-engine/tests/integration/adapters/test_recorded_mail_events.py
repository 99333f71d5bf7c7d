"""What is recorded of observed mailboxes: each event once, in order, and sent on with its first record only."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest
from migrated_databases import migrate_once

from mailroom_common.events import MailEvent, MailKind
from mailroom_common.postgres import open_pool, open_transaction
from sync_engine.adapters.recorded_mail_events import PgMailEventQueries, record_mail_events
from sync_engine.domain.mail_events import MailEventSelection

EVENT = MailEvent(
    event_id="e",
    occurred_at=datetime(2026, 3, 2, 12, 0, tzinfo=UTC),
    tenant_id="acme",
    doc_source_id="s",
    kind=MailKind.CHANGED,
    message_id="m",
)


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await migrate_once(postgres_url, "sync_engine")
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        yield pool


def mail_events(count: int) -> list[MailEvent]:
    doc_source_id = str(uuid4())
    return [replace(EVENT, event_id=str(uuid4()), doc_source_id=doc_source_id) for _ in range(count)]


async def record(pool: asyncpg.Pool, events: Sequence[MailEvent]) -> list[MailEvent]:
    async with open_transaction(pool) as conn:
        return await record_mail_events(conn, events)


async def list_ids(pool: asyncpg.Pool, doc_source_id: str, *, oldest_first: bool = True) -> list[object]:
    selection = MailEventSelection(doc_source_id=doc_source_id)
    queries = PgMailEventQueries(pool)
    rows = await queries.list_mail_events("acme", selection, oldest_first=oldest_first, beyond=None, limit=100)
    return [row["event_id"] for row in rows]


async def test_an_event_is_recorded_and_returned_once(pool: asyncpg.Pool) -> None:
    first, second, third = mail_events(3)
    assert await record(pool, [first, second, first]) == [first, second]
    assert await record(pool, [second, third]) == [third]
    assert await record(pool, [second, third]) == []


async def test_events_are_listed_in_the_order_in_which_they_were_recorded(pool: asyncpg.Pool) -> None:
    events = mail_events(20)
    await record(pool, events[:10])
    await record(pool, events[10:])
    ids = [event.event_id for event in events]
    assert await list_ids(pool, events[0].doc_source_id) == ids
    assert await list_ids(pool, events[0].doc_source_id, oldest_first=False) == ids[::-1]


async def test_what_a_transaction_does_not_commit_is_not_recorded(pool: asyncpg.Pool) -> None:
    (event,) = mail_events(1)
    async with pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.start()
        assert await record_mail_events(conn, [event]) == [event]
        await transaction.rollback()
    assert await record(pool, [event]) == [event]
