"""When a source may run again, and what is left of one that is forgotten."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.errors import (
    ProviderUnavailable,
    Rejected,
    Throttled,
)
from mailroom_common.events import ConnectionKind, DocSourceState
from sync_engine.domain.run_outcomes import NotSyncable, RunDeferred


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source()) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


@pytest.mark.parametrize("retry_after_s", [None, 0.0, 0.01])
async def test_failures_in_a_row_are_deferred_longer_and_longer_however_little_the_provider_asks(
    engine: Engine, outlook: FakeOutlook, retry_after_s: float | None
) -> None:
    pauses = []
    for _ in range(6):
        outlook.errors["folders"] = [ProviderUnavailable("503", retry_after_s=retry_after_s)]
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.is_failure
        pauses.append(outcome.not_before - engine.clock.now)
        engine.clock.now = outcome.not_before
    assert all(pause >= timedelta(seconds=1) for pause in pauses), pauses
    assert all(later > earlier for earlier, later in zip(pauses, pauses[2:], strict=False)), pauses
    await engine.complete_run()
    assert (await engine.read_row("sync_state"))["failed_attempts"] == 0


async def test_a_newer_grant_clears_what_the_older_one_failed_at(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["folders"] = [Throttled("patience", retry_after_s=900)]
    await engine.run_sync()
    await engine.change_source(grant_generation=2)
    assert (await engine.states.raise_version_and_read_state(engine.source)).not_before is None
    await engine.complete_run()


async def test_forgetting_leaves_a_soft_deleted_row_and_says_so_once(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File())
    outlook.deliver("m2", File())
    outlook.item_errors["m2"] = Rejected("400")
    await engine.complete_run()
    await engine.change_source(state=DocSourceState.DELETING)
    tables = ("message", "message_part", "cursor", "folder", "parked_item", "sync_run")
    assert [table for table in tables if not await engine.read_rows(table)] == [], (
        "there is something to forget in each"
    )
    await engine.states.forget_source(engine.source)
    await engine.states.forget_source(engine.source)
    assert [table for table in tables if await engine.read_rows(table)] == []
    assert (await engine.read_row("sync_state"))["forgotten_at"] is not None
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]
    assert len(engine.stored_blobs()) == 1, "blobs are ingestion's"
    await engine.change_source()
    await engine.states.forget_source(engine.source)
    versions = [event.source_version for event in await engine.read_connection_events()]
    assert versions == [2, 3], "a deletion that is asked for anew has its own answer"
    assert isinstance(await engine.run_sync(), NotSyncable)
