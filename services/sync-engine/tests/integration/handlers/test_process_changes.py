"""Which changes of a page are collected, and which are known already."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.events import SyncReason


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source()) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


async def test_a_mail_that_shows_in_list_delta_and_again_is_one_mail(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=10)
    outlook.deliver("m1", File(), File(filename="second.pdf"))
    for reason in (SyncReason.NOTIFICATION, SyncReason.MANUAL, SyncReason.NOTIFICATION):
        await engine.states.mark_full_due([engine.source.doc_source_id] if reason is SyncReason.MANUAL else [])
        engine.clock.pass_by(seconds=10)
        outlook.touch("m1", is_read=True)
        await engine.complete_run(reason)
    assert await engine.collected_mails() == ["m1", "m1"]
    assert len({event.attachment_id for event in await engine.read_attachments()}) == 2


async def test_a_mail_that_is_moved_out_of_junk_is_collected(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), folder_id="f-junk")
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.move("m1", "f-inbox")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_removed_id_that_was_never_collected_is_fetched_by_its_id(engine: Engine, outlook: FakeOutlook) -> None:
    """Deltas lose messages that move about: removed here, and shown nowhere else."""
    await engine.complete_run()
    engine.clock.pass_by(minutes=11)
    outlook.deliver("wanderer", File(), folder_id="f-inbox")
    outlook.move("wanderer", "f-invoices")
    outlook.hidden_from_list.add("wanderer")
    outlook.lose_additions.add("wanderer")
    outlook.deliver("gone", File())
    outlook.delete("gone")
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["wanderer"]
    assert await engine.read_rows("parked_item") == [], "what was removed and cannot be fetched is no failure"
