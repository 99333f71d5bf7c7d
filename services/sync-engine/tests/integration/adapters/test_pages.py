"""A page, a pause and a deletion at the same time: whoever locks the row of the source first is through first."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.events import DocSourceState, Event, Profile, SyncReason
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import Topic
from sync_engine.adapters.pages import PgPages
from sync_engine.domain.message_records import PageUpdate
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, SourceNotActive


class HeldOutbox(Outbox):
    """Stops a page in the middle of its transaction, once it has written its messages, until it is let go."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("sync_engine", engine.codec)
        self.reached, self.let_go = asyncio.Event(), asyncio.Event()

    async def append_record(
        self,
        conn: DatabaseSession,
        topic: Topic,
        key: str,
        event: Event | None,
        *,
        aggregate: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        await super().append_record(conn, topic, key, event, aggregate=aggregate, headers=headers)
        self.reached.set()
        await self.let_go.wait()


@pytest.fixture
def engine(engine: Engine) -> Engine:
    assert isinstance(engine.mailbox, FakeOutlook)
    engine.mailbox.deliver("m1", File())
    return engine


@pytest.fixture
def held(engine: Engine) -> HeldOutbox:
    outbox = HeldOutbox(engine)
    engine.repositories = replace(engine.repositories, pages=PgPages(engine.pool, outbox, engine.ingestion_states))
    return outbox


async def _waits_for_a_lock(engine: Engine, task: asyncio.Task[Any]) -> bool:
    """Whether `task` has come to a row that somebody else holds; False when it has come to its end instead."""
    async with asyncio.timeout(20):
        while not task.done():
            if await engine.pool.fetchval("select exists (select from pg_locks where not granted)"):
                return True
            await asyncio.sleep(0.01)
    return False


async def test_a_pause_waits_for_the_page_that_is_being_written(engine: Engine, held: HeldOutbox) -> None:
    run = asyncio.create_task(engine.run_sync(SyncReason.CONNECT))
    await held.reached.wait()
    pausing = asyncio.create_task(engine.change_behind_its_back(state=DocSourceState.PAUSED))
    assert await _waits_for_a_lock(engine, pausing), "paused while a page of it was still to be committed"
    held.let_go.set()
    await pausing
    outcome = await run
    assert isinstance(outcome, NotSyncable | RunCompleted)
    assert await engine.collected_mails() == ["m1"]


async def test_a_deletion_waits_for_the_page_that_is_being_written_and_forgets_it_too(
    engine: Engine, held: HeldOutbox
) -> None:
    run = asyncio.create_task(engine.run_sync(SyncReason.CONNECT))
    await held.reached.wait()

    async def forget() -> None:
        await engine.change_source(state=DocSourceState.DELETING)
        await engine.repositories.deletions.forget_source(engine.source)

    forgetting = asyncio.create_task(forget())
    assert await _waits_for_a_lock(engine, forgetting), "forgotten while a page of it was still to be committed"
    held.let_go.set()
    await asyncio.gather(run, forgetting)
    tables = ("message", "message_part", "cursor", "folder", "parked_item")
    assert [table for table in tables if await engine.read_rows(table)] == []


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_page_waits_for_the_pause_that_is_being_written_and_is_refused(
    engine: Engine, state: DocSourceState
) -> None:
    fetched, go_on = asyncio.Event(), asyncio.Event()

    async def pause(_: str) -> None:
        fetched.set()
        await go_on.wait()

    engine.mailbox.meanwhile["open_part"] = pause
    run = asyncio.create_task(engine.run_sync(SyncReason.CONNECT))
    await fetched.wait()
    async with open_transaction(engine.pool) as conn:
        await conn.execute(
            "update sync_engine.sync_state set source_state = $2 where doc_source_id = $1",
            engine.source.doc_source_id,
            str(state),
        )
        go_on.set()
        assert await _waits_for_a_lock(engine, run), "the page did not look at what is being written"
    assert isinstance(await run, NotSyncable)
    assert await engine.read_rows("message") == []
    assert await engine.read_attachments() == []


@pytest.mark.parametrize(
    ("profile", "resets_back_off", "has_to_wait"),
    [(Profile.INVOICE, False, False), (Profile.INVOICE, True, True), (Profile.OBSERVATION, False, True)],
)
async def test_a_page_waits_for_another_one_only_where_both_write_the_source_or_have_one_order(
    engine: Engine, profile: Profile, resets_back_off: bool, has_to_wait: bool
) -> None:
    await engine.states.raise_version_and_read_state(engine.source)
    source, update = replace(engine.source, profile=profile), PageUpdate(resets_back_off=resets_back_off)
    async with open_transaction(engine.pool) as conn:
        # As another page that is being written holds it.
        await conn.execute(
            "select from sync_engine.sync_state where doc_source_id = $1 for share", source.doc_source_id
        )
        writing = asyncio.create_task(engine.repositories.pages.commit_page(source, update, engine.clock.now))
        assert await _waits_for_a_lock(engine, writing) is has_to_wait
    await writing


@pytest.mark.parametrize("leaves_page", [True, False])
async def test_leaving_a_page_makes_earlier_failures_good_though_no_message_of_it_is_new(
    engine: Engine, leaves_page: bool
) -> None:
    await engine.states.raise_version_and_read_state(engine.source)
    await engine.states.back_off(engine.source)
    update = PageUpdate(resets_back_off=True, leaves_page=leaves_page)
    await engine.repositories.pages.commit_page(engine.source, update, engine.clock.now)
    assert (await engine.read_row("sync_state"))["failed_attempts"] == (0 if leaves_page else 1)


@pytest.mark.parametrize(("refused_generation", "is_refused"), [(None, False), (1, False), (2, True), (3, True)])
async def test_a_page_that_was_read_with_a_refused_grant_is_refused(
    engine: Engine, refused_generation: int | None, is_refused: bool
) -> None:
    await engine.states.raise_version_and_read_state(engine.source)
    await engine.pool.execute("update sync_engine.sync_state set refused_generation = $1", refused_generation)
    source = replace(engine.source, grant_generation=2)
    if is_refused:
        with pytest.raises(SourceNotActive, match="without a grant"):
            await engine.repositories.pages.commit_page(source, PageUpdate(), engine.clock.now)
    else:
        await engine.repositories.pages.commit_page(source, PageUpdate(), engine.clock.now)
