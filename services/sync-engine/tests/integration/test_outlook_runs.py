"""Runs of an Outlook mailbox on real tables: what is taken, when a run is full, and what it costs."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import START, Engine, doc_source, open_engine

from mailroom_common.events import SyncReason


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source()) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


async def test_first_run_takes_what_came_since_the_start(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("between-consent-and-sync", File(), received_at=START + timedelta(minutes=1))
    outlook.deliver("before-the-start", File(), received_at=START - timedelta(seconds=1))
    outcome = await engine.done(SyncReason.CONNECT)
    assert outcome.full
    assert await engine.taken_mails() == ["between-consent-and-sync"]
    assert [row["message_id"] for row in await engine.rows("message")] == ["between-consent-and-sync"]


async def test_a_stored_attachment_is_announced_as_it_lies_in_the_blob_store(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File(filename="../../etc/Rechnung.pdf"))
    await engine.done()
    (event,) = await engine.attachments()
    assert event.filename == "Rechnung.pdf"
    assert event.folder == "Posteingang"
    assert event.content_type == "application/pdf"
    assert (engine.blob_folder / event.blob_key).read_bytes() == File().content
    assert (await engine.row("message"))["state"] == "open"
    assert await engine.rows("blob_upload") == []
