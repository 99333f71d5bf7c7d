"""Blobs follow rows: what no page came to name is removed, a day later and not before."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fake_mailbox import File
from sync_harness import Engine

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import DocSourceState, SyncReason
from sync_engine.adapters.uploads import Housekeeping
from sync_engine.domain.run_outcomes import NotSyncable


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    await engine.pool.execute("delete from sync_engine.blob_upload")
    return engine


async def _upload(engine: Engine, attachment_id: str) -> str:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"%PDF-1.4"

    key = f"documents/{attachment_id}.pdf"
    await engine.repositories.uploads.record_upload_start(engine.source.doc_source_id, attachment_id, key)
    await engine.blobs.write_blob(key, chunks(), content_type="application/pdf")
    return key


def _sweeper(engine: Engine, later: timedelta) -> Housekeeping:
    return Housekeeping(engine.pool, engine.blobs, lambda: datetime.now(UTC) + later)


async def test_an_upload_that_no_page_named_is_removed_after_a_day(engine: Engine) -> None:
    key = await _upload(engine, "orphan")
    assert await _sweeper(engine, timedelta(hours=23)).sweep_once() == 0
    assert engine.stored_blobs() == {key}
    assert await _sweeper(engine, timedelta(hours=25)).sweep_once() == 1
    assert engine.stored_blobs() == set()
    assert await engine.read_rows("blob_upload") == []


async def test_a_blob_that_a_part_names_stays_whoever_announces_it_again(engine: Engine) -> None:
    engine.mailbox.deliver("m1", File())  # type: ignore[attr-defined]
    await engine.complete_run()
    (event,) = await engine.read_attachments()
    await engine.repositories.uploads.record_upload_start(
        engine.source.doc_source_id, event.attachment_id, event.blob_key
    )
    assert await engine.read_rows("blob_upload") == [], "what is taken needs no announcement"
    await engine.pool.execute(
        "insert into sync_engine.blob_upload (attachment_id, doc_source_id, blob_key) values ($1, $2, $3)",
        event.attachment_id,
        engine.source.doc_source_id,
        event.blob_key,
    )
    assert await _sweeper(engine, timedelta(days=2)).sweep_once() == 0
    assert engine.stored_blobs() == {event.blob_key}
    assert await engine.read_rows("blob_upload") == []


async def test_no_upload_begins_for_a_source_that_is_forgotten(engine: Engine) -> None:
    """A run under way misses the rows that named what was filed: the sweeper would take that for nobody's."""
    engine.mailbox.deliver("m1", File())  # type: ignore[attr-defined]

    async def forget(_: str) -> None:
        await engine.change_behind_its_back(state=DocSourceState.DELETING)
        await engine.repositories.deletions.forget_source(replace(engine.source, state=DocSourceState.DELETING))

    engine.mailbox.meanwhile["open_part"] = forget
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert await engine.read_rows("blob_upload") == []
    assert engine.stored_blobs() == set()


async def test_an_upload_begun_again_is_young_again(engine: Engine) -> None:
    await _upload(engine, "again")
    await engine.pool.execute("update sync_engine.blob_upload set upload_started_at = now() - interval '2 days'")
    await _upload(engine, "again")
    assert await _sweeper(engine, timedelta(0)).sweep_once() == 0


async def test_two_sweepers_at_once_do_not_wait_for_each_other(engine: Engine) -> None:
    for number in range(6):
        await _upload(engine, f"orphan-{number}")
    later = timedelta(days=2)
    removed = await asyncio.gather(_sweeper(engine, later).sweep_once(), _sweeper(engine, later).sweep_once())
    assert sum(removed) == 6
    assert engine.stored_blobs() == set()


async def test_old_runs_are_forgotten_and_idle_ones_sooner(engine: Engine) -> None:
    engine.mailbox.deliver("m1", File())  # type: ignore[attr-defined]
    await engine.complete_run()
    await engine.complete_run(SyncReason.MANUAL)
    began_at = engine.clock.now
    left = []
    for days in (0.9, 2, 29, 31):
        now = began_at + timedelta(days=days)
        await Housekeeping(engine.pool, engine.blobs, lambda now=now: now).sweep_once()  # type: ignore[misc]
        left.append(sorted(row["new_messages"] for row in await engine.read_rows("sync_run")))
    assert left == [[0, 1], [1], [1], []]


async def test_mail_events_are_forgotten_when_they_are_older_than_the_setting_says(engine: Engine) -> None:
    await engine.pool.execute(
        "insert into sync_engine.mail_event "
        "(event_id, doc_source_id, tenant_id, kind, message_id, event, recorded_at) "
        "select concat($1::text, '-', n), $1, 'acme', 'changed', 'm', '{}', $2::timestamptz - n * interval '1 day' "
        "from generate_series(0, 30) n",
        engine.source.doc_source_id,
        engine.clock.now,
    )
    retention = timedelta(days=7, hours=1)
    sweeper = Housekeeping(engine.pool, engine.blobs, engine.clock, mail_event_retention=retention, batch_size=5)
    await sweeper.sweep_once()
    assert len(await engine.read_rows("mail_event")) == 8


async def test_old_runs_go_in_batches_between_which_a_stop_is_seen(engine: Engine) -> None:
    await engine.pool.execute(
        "insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at, outcome) "
        "select $1 || n, $1, 'acme', 'recent_changes', '{}', now() - n * interval '1 day', 'done' "
        "from generate_series(2, 61) n",
        engine.source.doc_source_id,
    )
    stopping, batches = asyncio.Event(), 0

    def clock() -> datetime:
        return datetime.now(UTC)

    class StoppedHousekeeping(Housekeeping):
        async def sweep_once(self) -> int:
            nonlocal batches
            batches += 1
            stopping.set()
            return await super().sweep_once()

    await StoppedHousekeeping(engine.pool, engine.blobs, clock, batch_size=7).sweep_repeatedly(stopping, interval_s=1)
    assert batches == 1
    assert len(await engine.read_rows("sync_run")) == 60, "a process that stops begins no batch"
    await Housekeeping(engine.pool, engine.blobs, clock, batch_size=7).sweep_once()
    assert await engine.read_rows("sync_run") == []


async def test_it_goes_on_until_it_is_stopped(engine: Engine) -> None:
    stopping = asyncio.Event()
    looks = 0

    def clock() -> datetime:
        nonlocal looks
        looks += 1
        if looks == 10:  # some sweeps, each of which looks at the clock a few times
            stopping.set()
        return datetime.now(UTC) + timedelta(days=2)

    await _upload(engine, "orphan")
    async with asyncio.timeout(10):
        await Housekeeping(engine.pool, engine.blobs, clock).sweep_repeatedly(stopping, interval_s=0.01)
    assert engine.stored_blobs() == set()


@pytest.mark.parametrize("error", [Unavailable("S3 answered AccessDenied"), Rejected("S3 answered InvalidArgument")])
async def test_a_blob_that_cannot_be_deleted_holds_up_no_other_and_is_tried_again_a_day_later(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    stuck, other = await _upload(engine, "1-stuck"), await _upload(engine, "2-other")
    delete = engine.blobs.delete_blob

    async def refuse(key: str) -> None:
        if key == stuck:
            raise error
        await delete(key)

    monkeypatch.setattr(engine.blobs, "delete_blob", refuse)
    assert await _sweeper(engine, timedelta(hours=25)).sweep_once() == 1
    assert other not in engine.stored_blobs()
    monkeypatch.setattr(engine.blobs, "delete_blob", delete)
    assert await _sweeper(engine, timedelta(hours=48)).sweep_once() == 0
    assert await _sweeper(engine, timedelta(hours=50)).sweep_once() == 1
    assert engine.stored_blobs() == set()


async def test_a_store_that_deletes_nothing_is_not_asked_for_each_blob(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def refuse(_key: str) -> None:
        nonlocal asked
        asked += 1
        raise Unavailable("S3 answered AccessDenied")

    monkeypatch.setattr(engine.blobs, "delete_blob", refuse)
    await engine.pool.execute(
        "insert into sync_engine.blob_upload (attachment_id, doc_source_id, blob_key) "
        "select n::text, $1, n::text from generate_series(1, 30) n",
        engine.source.doc_source_id,
    )
    for _ in range(2):
        await _sweeper(engine, timedelta(hours=25)).sweep_once()
    assert asked == 20


async def test_old_rows_are_deleted_also_while_the_store_deletes_no_blob(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _upload(engine, "stuck")
    await engine.complete_run(SyncReason.MANUAL)

    async def refuse(_key: str) -> None:
        raise Unavailable("S3 answered AccessDenied")

    monkeypatch.setattr(engine.blobs, "delete_blob", refuse)
    await _sweeper(engine, timedelta(days=3650)).sweep_once()
    assert await engine.read_rows("sync_run") == []
