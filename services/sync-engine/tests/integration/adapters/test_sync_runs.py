"""Each run is stored with its kind, its reasons, and how it ended."""

import asyncio

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason
from sync_engine.handlers import record_runs


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


async def test_a_run_that_could_not_store_a_part_is_written_down_with_what_is_away(
    engine: Engine, outlook: FakeOutlook
) -> None:
    async def refuse(_: str) -> None:
        raise Unavailable("S3: NoCredentialsError")

    outlook.meanwhile["folders"] = refuse
    with pytest.raises(Unavailable):
        await engine.run_sync()
    assert (await engine.read_row("sync_run"))["detail"] == "S3: NoCredentialsError"


async def test_a_run_that_a_notification_asked_for_and_that_found_nothing_leaves_no_row(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    await engine.complete_run(SyncReason.NOTIFICATION)
    assert len(await engine.read_rows("sync_run")) == 1
    await engine.complete_run(SyncReason.MANUAL)
    outlook.deliver("m1", File())
    engine.clock.pass_by(minutes=1)
    await engine.complete_run(SyncReason.NOTIFICATION)
    runs = sorted(await engine.read_rows("sync_run"), key=lambda run: run["seq"])
    assert [run["reasons"] for run in runs] == [["connect"], ["manual"], ["notification"]]


async def test_a_routine_run_that_takes_long_is_shown_as_under_way(
    engine: Engine, outlook: FakeOutlook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_runs, "_ROUTINE_RUN_S", 0.0)
    await engine.complete_run(SyncReason.CONNECT)
    under_way: list[int] = []

    async def look(_: str) -> None:
        await asyncio.sleep(0.05)
        under_way.append(sum(run["finished_at"] is None for run in await engine.read_rows("sync_run")))

    outlook.meanwhile["list"] = look
    await engine.complete_run(SyncReason.NOTIFICATION)
    assert under_way == [1]
