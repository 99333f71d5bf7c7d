"""Cursors change by compare-and-swap: a page that was read with an older version writes nothing."""

import asyncio

import pytest
from sync_harness import Engine

from mailroom_common.events import DocSourceState
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import MessageState, PageUpdate, ProcessedMessage
from sync_engine.domain.run_outcomes import CursorConflict, SourceNotActive


def _page(read: Cursor, message_id: str, position: str) -> PageUpdate:
    message = ProcessedMessage(summary=MessageSummary(message_id=message_id), state=MessageState.CLOSED)
    return PageUpdate(read_cursor=read, next_cursor=read.finish_round(position), messages=(message,))


async def test_a_former_owners_page_finds_the_cursor_moved_and_writes_nothing(engine: Engine) -> None:
    await engine.complete_run()
    stale = await engine.repositories.cursors.read_cursor(engine.source.doc_source_id, "f-inbox")
    first, second = (_page(stale, message_id, "9") for message_id in ("by-owner", "by-zombie"))
    await engine.repositories.pages.commit_page(engine.source, first, engine.clock.now)
    with pytest.raises(CursorConflict):
        await engine.repositories.pages.commit_page(engine.source, second, engine.clock.now)
    assert [row["message_id"] for row in await engine.read_rows("message")] == ["by-owner"]


async def test_two_first_pages_at_once_are_one(engine: Engine) -> None:
    await engine.states.raise_version_and_read_state(engine.source)
    nothing = Cursor(scope="f-inbox")
    pages = [_page(nothing, message_id, "9") for message_id in ("a", "b")]
    results = await asyncio.gather(
        *(engine.repositories.pages.commit_page(engine.source, page, engine.clock.now) for page in pages),
        return_exceptions=True,
    )
    assert sorted(type(result).__name__ for result in results) == ["CommittedPage", "CursorConflict"]
    assert len(await engine.read_rows("message")) == 1


async def test_a_page_of_an_unknown_or_forgotten_source_is_refused(engine: Engine) -> None:
    page = _page(Cursor(scope="f-inbox"), "m1", "1")
    with pytest.raises(SourceNotActive):
        await engine.repositories.pages.commit_page(engine.source, page, engine.clock.now)
    await engine.change_source(state=DocSourceState.DELETING)
    await engine.repositories.deletions.forget_source(engine.source)
    with pytest.raises(SourceNotActive):
        await engine.repositories.pages.commit_page(engine.source, page, engine.clock.now)
