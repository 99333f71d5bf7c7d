"""What is left of a deleted source, and that its rows go in batches which may be cut off anywhere."""

import asyncio

from fake_mailbox import FakeOutlook, File
from sync_harness import Engine, doc_source

from mailroom_common.errors import Rejected
from mailroom_common.events import ConnectionKind, DocSourceState
from sync_engine.adapters.source_deletions import PgSourceDeletions
from sync_engine.domain.run_outcomes import NotSyncable

_KEPT_TABLES = {"sync_state", "blob_upload"}  # the soft-deleted row, and what the sweeper removes


async def _list_tables(engine: Engine) -> list[str]:
    """All tables with rows of a doc source."""
    rows = await engine.pool.fetch(
        "select table_name from information_schema.columns "
        "where table_schema = 'sync_engine' and column_name = 'doc_source_id'"
    )
    return sorted({row["table_name"] for row in rows} - _KEPT_TABLES)


async def _count_rows(engine: Engine) -> dict[str, int]:
    return {table: len(await engine.read_rows(table)) for table in await _list_tables(engine)}


async def _insert_messages(engine: Engine, count: int) -> None:
    """Each with two parts, of which one has an upload that was announced again."""
    await engine.states.raise_version_and_read_state(engine.source)
    source = engine.source.doc_source_id
    await engine.pool.execute(
        "insert into sync_engine.message (doc_source_id, message_id, tenant_id, state) "
        "select $1, 'm-' || n, 'acme', 'closed' from generate_series(1, $2) n",
        source,
        count,
    )
    await engine.pool.execute(
        "insert into sync_engine.message_part (doc_source_id, message_id, part_path, position, stored, attachment_id) "
        "select $1, 'm-' || n, part::text, part, true, concat($1::text, '-', n, '-', part) "
        "from generate_series(1, $2) n, generate_series(1, 2) part",
        source,
        count,
    )
    await engine.pool.execute(
        "insert into sync_engine.blob_upload (attachment_id, doc_source_id, blob_key) "
        "select attachment_id, doc_source_id, 'documents/x' from sync_engine.message_part "
        "where doc_source_id = $1 and position = 1",
        source,
    )


async def _insert_mail_events(engine: Engine, count: int) -> None:
    await engine.pool.execute(
        "insert into sync_engine.mail_event (event_id, doc_source_id, tenant_id, kind, message_id, event) "
        "select concat($1::text, '-', n), $1, 'acme', 'changed', 'm-1', '{}' from generate_series(1, $2) n",
        engine.source.doc_source_id,
        count,
    )


def _deletions(engine: Engine, batch_size: int = 100) -> PgSourceDeletions:
    return PgSourceDeletions(engine.pool, engine.outbox, engine.clock, engine.ingestion_states, batch_size=batch_size)


async def test_forgetting_leaves_a_soft_deleted_row_and_says_so_once(engine: Engine) -> None:
    outlook, deletions = engine.mailbox, engine.repositories.deletions
    assert isinstance(outlook, FakeOutlook)
    outlook.deliver("m1", File())
    outlook.deliver("m2", File())
    outlook.item_errors["m2"] = Rejected("400")
    await engine.complete_run()
    await _insert_mail_events(engine, 1)
    await engine.pool.execute(
        "insert into sync_engine.passed_over_message (doc_source_id, message_id, received_at) "
        "values ($1, 'old', now())",
        engine.source.doc_source_id,
    )
    await engine.change_source(state=DocSourceState.DELETING)
    assert [table for table, count in (await _count_rows(engine)).items() if not count] == [], (
        "there is something to forget in each"
    )
    await deletions.forget_source(engine.source)
    await deletions.forget_source(engine.source)
    assert not any((await _count_rows(engine)).values())
    assert (await engine.read_row("sync_state"))["forgotten_at"] is not None
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]
    assert len(engine.stored_blobs()) == 1, "blobs are ingestion's"
    await engine.change_source()
    await deletions.forget_source(engine.source)
    versions = [event.source_version for event in await engine.read_connection_events()]
    assert versions == [2, 3], "a deletion that is asked for anew has its own answer"
    assert isinstance(await engine.run_sync(), NotSyncable)


async def test_rows_go_in_batches_and_a_deletion_that_was_cut_off_is_begun_again(engine: Engine) -> None:
    await _insert_messages(engine, 1_000)
    await _insert_mail_events(engine, 1_000)
    cut_off = asyncio.create_task(_deletions(engine).forget_source(engine.source))
    async with asyncio.timeout(20):
        while len(await engine.read_rows("message_part")) > 1_500:  # noqa: ASYNC110  # batches have no event
            await asyncio.sleep(0)
    cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    left = await _count_rows(engine)
    assert 0 < left["message_part"] <= 1_500, "what was committed stays deleted"
    assert left["message"] == 1_000, "a message never goes before its parts"
    assert await engine.read_connection_events() == [], "there are rows yet"
    assert isinstance(await engine.run_sync(), NotSyncable), "no page is taken from the first batch on"

    await _deletions(engine).forget_source(engine.source)
    assert not any((await _count_rows(engine)).values())
    assert not await engine.read_rows("blob_upload")
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]


async def test_two_workers_share_a_deletion_and_one_of_them_reports_it(engine: Engine) -> None:
    await _insert_messages(engine, 600)
    await asyncio.gather(*(_deletions(engine).forget_source(engine.source) for _ in range(2)))
    assert not any((await _count_rows(engine)).values())
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]


async def test_a_deletion_is_not_finished_while_another_worker_holds_rows_of_it(engine: Engine) -> None:
    await _insert_messages(engine, 2)
    async with engine.pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute(
            "select from sync_engine.message where doc_source_id = $1 and message_id = 'm-1' for update",
            engine.source.doc_source_id,
        )
        forgetting = asyncio.create_task(_deletions(engine).forget_source(engine.source))
        async with asyncio.timeout(20):
            while len(await engine.read_rows("message")) > 1:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert await engine.read_connection_events() == []
        await transaction.rollback()
    await forgetting
    assert not any((await _count_rows(engine)).values())
    assert [event.kind for event in await engine.read_connection_events()] == [ConnectionKind.FORGOTTEN]


async def test_a_small_source_takes_its_turn_beside_a_big_one(engine: Engine) -> None:
    await _insert_messages(engine, 1_000)
    deletions = _deletions(engine, batch_size=10)
    big = asyncio.create_task(deletions.forget_source(engine.source))
    small = [doc_source() for _ in range(5)]
    await asyncio.gather(*(deletions.forget_source(source) for source in small))
    assert not big.done()
    reported = await engine.pool.fetchval(
        "select count(*) from sync_engine.sync_state where doc_source_id = any($1) and forgotten_version is not null",
        [source.doc_source_id for source in small],
    )
    assert reported == len(small)
    big.cancel()
    await asyncio.gather(big, return_exceptions=True)
