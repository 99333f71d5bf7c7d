"""Each run is stored with its kind, its reasons, and how it ended."""

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


async def test_a_run_is_written_down_with_what_it_found(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), File(filename="b.pdf"))
    await engine.complete_run(SyncReason.CONNECT, SyncReason.NOTIFICATION)
    run = await engine.read_row("sync_run")
    assert (run["kind"], run["outcome"], run["new_messages"], run["stored_parts"]) == ("all_cursors", "done", 1, 2)
    assert run["reasons"] == ["connect", "notification"]


async def test_a_run_that_crashes_is_written_down_as_failed(engine: Engine, outlook: FakeOutlook) -> None:
    async def crash(_: str) -> None:
        raise KeyError("nobody foresaw this")

    outlook.meanwhile["folders"] = crash
    with pytest.raises(KeyError):
        await engine.run_sync()
    run = await engine.read_row("sync_run")
    assert (run["outcome"], run["detail"]) == ("failed", "KeyError")
