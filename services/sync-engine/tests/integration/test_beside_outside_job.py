"""Mailroom beside an outside job that reads the same mailbox: each message has one owner, and its row says the rest."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_mailbox import PDF, FakeOutlook, File
from outside_job import APP_NAME, STUCK_TIMEOUT, OutsideJob, age_claim, read_state
from sync_harness import Engine, doc_source, open_engine
from table_reads import OneSession, count_reads

from mailroom_common.errors import ItemGone, PermissionMissing
from mailroom_common.events import DocSource, DocSourceState, Profile, ResultStatus, SyncReason
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.domain.ingestion_state import StateIdForm
from sync_engine.domain.parts import MAX_PART_BYTES
from sync_engine.domain.run_outcomes import NotSyncable

pytestmark = pytest.mark.stack
NOTE = File(filename="note.pdf")


@pytest.fixture
def connected_source() -> DocSource:
    return doc_source(profile=Profile.CONTRACT_NOTE)


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    # Its rows are by message, whatever test delivered that.
    await engine.pool.execute("delete from bo_airflow.email_ingestion_state")
    return engine


@pytest.fixture
def job(engine: Engine) -> OutsideJob:
    return OutsideJob(engine.pool)


async def give_results(
    engine: Engine, status: ResultStatus = ResultStatus.COMPLETED, reason: str | None = None, *, trades: int = 2
) -> None:
    """To every attachment."""
    for event in await engine.read_attachments():
        archive_path = f"archive/{event.filename}" if status is ResultStatus.COMPLETED else None
        await engine.record_result(
            event, status=status, reason=reason, trades=["{}"] * trades, archive_path=archive_path
        )


async def parked_reason(engine: Engine) -> str | None:
    rows = await engine.read_rows("parked_item")
    return rows[0]["reason"] if rows else None


async def test_what_mailroom_has_claimed_is_not_the_outside_jobs_and_is_marked_when_its_results_are_in(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver(
        "m1", NOTE, File(PDF + b"2", "second.pdf"), subject="Note\0", sender_address="b" * 300 + "@bank.example"
    )
    await engine.complete_run()
    row = await read_state(engine.pool, "m1")
    assert (row["app_name"], row["status"], row["worker_id"]) == (
        "pad_contract_notes",
        "processing",
        f"mailroom:{engine.source.doc_source_id}",
    )
    assert (row["mailbox_email"], row["subject"], row["received_at"]) == (
        "ap@acme.example",
        "Note\ufffd",
        engine.clock(),
    )
    assert row["sender_email"] == "b" * 255
    assert not await job.claim("m1")
    await give_results(engine)
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"]) == ("success", None)
    assert (row["attachments_processed"], row["trades_extracted"]) == (2, 4)
    assert row["archive_gcs_paths"] == ["archive/note.pdf", "archive/second.pdf"]
    assert await job.is_done("m1")
    assert not await job.claim("m1")


async def test_what_the_outside_job_works_on_is_not_opened_and_is_done_when_that_job_has_done_it(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    assert await job.claim("m1")
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    assert await parked_reason(engine) == "claimed_by_other_job"
    assert outlook.calls["open_part"] == 0
    assert await job.mark_success("m1")
    engine.clock.pass_by(minutes=1)
    await engine.complete_run()
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("closed", "done_by_other_job")
    assert await parked_reason(engine) is None
    assert await engine.collected_mails() == []
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["worker_id"]) == ("success", "outside-1")


@pytest.mark.parametrize("end", ["failed", "stuck"])
async def test_what_the_outside_job_leaves_is_ours(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob, end: str
) -> None:
    assert await job.claim("m1")
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    if end == "failed":
        assert await job.mark_failure("m1")
    else:
        await age_claim(engine.pool, "m1", STUCK_TIMEOUT * 2)
    engine.clock.pass_by(minutes=1)
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]
    assert not await job.mark_success("m1")
    await give_results(engine)
    assert await job.is_done("m1")


async def test_of_fifty_messages_that_both_claim_at_once_each_has_one_owner(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.page_size = 50
    names = [f"m{number}" for number in range(50)]
    for name in names:
        outlook.deliver(name, NOTE)

    has_claimed = asyncio.Event()

    async def see_claim(_: str) -> None:
        has_claimed.set()

    outlook.meanwhile["open_part"] = see_claim

    async def claim_all() -> list[str]:
        # From the end, and most of them not before the engine has its first: so that both have some, whoever is faster.
        first = [name for name in names[40:] if await job.claim(name)]
        await has_claimed.wait()
        return [*first, *[name for name in reversed(names[:40]) if await job.claim(name)]]

    _, theirs = await asyncio.gather(engine.complete_run(), claim_all())
    ours = await engine.collected_mails()
    assert sorted([*ours, *theirs]) == sorted(names)
    assert ours, "both have some"
    assert theirs
    assert {row["message_id"] for row in await engine.read_rows("parked_item")} == set(theirs)


async def test_what_is_taken_over_while_its_parts_are_fetched_is_not_stored_as_well(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", NOTE)

    async def take_over(_: str) -> None:
        await age_claim(engine.pool, "m1", STUCK_TIMEOUT * 2)
        assert await job.claim("m1")

    outlook.meanwhile["open_part"] = take_over
    await engine.complete_run()
    assert await engine.collected_mails() == []
    assert await parked_reason(engine) == "claimed_by_other_job"
    assert await job.mark_success("m1")


async def test_a_run_that_died_claims_its_messages_again(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", NOTE)
    await engine.ingestion_states.claim_message(engine.source, outlook.mails["m1"].summary, "m1")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


@pytest.mark.parametrize(
    ("result", "reason", "trades", "status", "error"),
    [
        (ResultStatus.NEEDS_REVIEW, "fields_missing", 1, "success", None),
        (ResultStatus.NEEDS_REVIEW, "no_reader_yet", 0, "failed", "note.pdf: no_reader_yet"),
        (ResultStatus.NEEDS_REVIEW, "archive_refused", 1, "success", None),
        (ResultStatus.FAILED, None, 0, "failed", "note.pdf: failed"),
        (ResultStatus.SKIPPED, "not_a_document", 0, "skipped", None),
    ],
)
async def test_a_row_says_what_became_of_the_document(
    engine: Engine,
    outlook: FakeOutlook,
    job: OutsideJob,
    result: ResultStatus,
    reason: str | None,
    trades: int,
    status: str,
    error: str | None,
) -> None:
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    await give_results(engine, result, reason, trades=trades)
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"], row["archive_gcs_paths"]) == (status, error, None)
    assert await job.claim("m1") == (status != "success")


async def test_a_failed_document_that_a_person_confirms_is_a_success_unless_the_outside_job_has_taken_it(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", NOTE)
    outlook.deliver("m2", NOTE)
    await engine.complete_run()
    await give_results(engine, ResultStatus.NEEDS_REVIEW, "unreadable", trades=0)
    assert await job.claim("m2")
    engine.clock.pass_by(seconds=1)
    await give_results(engine)
    assert (await read_state(engine.pool, "m1"))["status"] == "success"
    row = await read_state(engine.pool, "m2")
    assert (row["status"], row["worker_id"]) == ("processing", "outside-1")


async def test_a_mail_of_which_nothing_is_stored_is_skipped(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", File(b"hello", "notes.txt", "text/plain"))
    outlook.deliver("m2", subject="Lunch?")
    assert await job.claim("m2")
    await engine.complete_run()
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["worker_id"]) == ("skipped", f"mailroom:{engine.source.doc_source_id}")
    assert (await read_state(engine.pool, "m2"))["status"] == "processing", "theirs stays as it is"


async def test_a_mail_whose_only_file_was_not_taken_is_the_outside_jobs(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", File(b"%PDF-1.4", "4711.pdf", size_bytes=2 * MAX_PART_BYTES), subject="Hello")
    await engine.complete_run()
    assert (await engine.read_row("message"))["skip_reason"] is None, "no judgement of the mail hides its part"
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"]) == ("failed", "4711.pdf: too_large")
    assert await job.claim("m1")


async def test_a_parked_part_alone_does_not_hold_the_row_open(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", NOTE, File(PDF + b"2", "bad.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404")
    await engine.complete_run()
    await give_results(engine)
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"]) == ("success", "bad.pdf: gone, is tried again")
    del outlook.part_errors["bad.pdf"]
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    await give_results(engine)
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"], row["attachments_processed"]) == ("success", None, 2)


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_parked_part_of_a_mail_that_the_outside_job_took_is_not_stored(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob, is_done: bool
) -> None:
    outlook.deliver("m1", NOTE, File(PDF + b"2", "bad.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404")
    await engine.complete_run()
    await give_results(engine, ResultStatus.NEEDS_REVIEW, "no_reader_yet", trades=0)
    assert await job.claim("m1")
    if is_done:
        assert await job.mark_success("m1")
    del outlook.part_errors["bad.pdf"]
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    part = next(row for row in await engine.read_rows("message_part") if row["filename"] == "bad.pdf")
    expected = (None, "done_by_other_job") if is_done else ("claimed_by_other_job", None)
    assert (part["parked_reason"], part["skip_reason"]) == expected


async def test_claims_are_renewed_while_a_result_is_awaited(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    await age_claim(engine.pool, "m1", STUCK_TIMEOUT * 2)
    assert await engine.ingestion_states.renew_claims() == 1
    assert not await job.claim("m1")
    await give_results(engine)
    assert await engine.ingestion_states.renew_claims() == 0


async def test_what_a_deleted_source_had_claimed_is_the_outside_jobs_at_once(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    for name in ("m1", "m2", "m3"):
        outlook.deliver(name, NOTE)
    await engine.complete_run()
    await engine.pool.execute("update sync_engine.message set state = 'closed' where message_id = 'm3'")
    await engine.change_source(state=DocSourceState.DELETING)
    await engine.repositories.deletions.forget_source(engine.source)
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["error_message"]) == ("failed", "its doc source was deleted")
    assert [await job.claim(name) for name in ("m1", "m2", "m3")] == [True, True, False]


async def test_renewal_goes_over_the_open_messages_once_however_many_batches_that_takes(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    async with engine.pool.acquire() as conn, conn.transaction():
        await conn.execute(
            "insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, state_id) "
            "select 'waiting-' || n % 10, n::text, 'acme', 'open', 'id-' || n / 2 from generate_series(1, 2000) as n"
        )
        await conn.execute(
            "insert into sync_engine.message_part (doc_source_id, message_id, part_path, position, stored, "
            "attachment_id) select doc_source_id, message_id, '1', 0, true, 'renewal-' || message_id "
            "from sync_engine.message where doc_source_id like 'waiting-%'"
        )
        # Of each pair of sources that hold one mail the row is one's.
        await conn.execute(
            "insert into bo_airflow.email_ingestion_state (app_name, message_id, mailbox_email, worker_id, updated_at) "
            "select 'pad_contract_notes', state_id, '', 'mailroom:' || min(doc_source_id), now() - interval '2 hours' "
            "from sync_engine.message where doc_source_id like 'waiting-%' group by state_id"
        )
        await conn.execute("analyze sync_engine.message, sync_engine.message_part, bo_airflow.email_ingestion_state")
        pool: Any = OneSession(conn)
        states = PgIngestionStates(pool, app_name=APP_NAME, stuck_timeout=STUCK_TIMEOUT, renewal_batch_size=100)
        before = await count_reads(conn, "sync_engine.message")
        assert await states.renew_claims() == 1001, "and not what was claimed just now"
        assert await count_reads(conn, "sync_engine.message") - before < 2 * 2000
        assert await states.renew_claims() == 0, "another worker has just renewed them"
        await conn.execute("delete from sync_engine.message where doc_source_id like 'waiting-%'")


@pytest.fixture
async def other(engine: Engine, postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    """Another tenant's source of the same mailbox, with one clock."""
    source = replace(doc_source(profile=Profile.CONTRACT_NOTE), tenant_id="globex")
    async with open_engine(postgres_url, tmp_path / "blobs", source, engine.mailbox) as other:
        yield other


async def test_of_two_tenants_with_one_mailbox_one_owns_a_message_and_the_other_leaves_its_row_alone(
    engine: Engine, other: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    await other.complete_run()
    assert (await engine.collected_mails(), await other.collected_mails()) == (["m1"], [])
    assert await parked_reason(other) == "claimed_by_other_job"
    await give_results(engine)
    owned = await read_state(engine.pool, "m1")
    assert (owned["status"], owned["worker_id"]) == ("success", f"mailroom:{engine.source.doc_source_id}")
    engine.clock.pass_by(minutes=1)
    await other.complete_run()
    message = await other.read_row("message")
    assert (message["state"], message["skip_reason"]) == ("closed", "done_by_other_job")
    assert await read_state(engine.pool, "m1") == owned


async def test_what_one_tenant_could_not_do_is_the_others_and_no_mark_of_the_first_touches_it(
    engine: Engine, other: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", NOTE, File(PDF + b"2", "bad.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404")
    await engine.complete_run()
    await give_results(engine, ResultStatus.NEEDS_REVIEW, "no_reader_yet", trades=0)
    assert (await read_state(engine.pool, "m1"))["status"] == "failed"
    del outlook.part_errors["bad.pdf"]
    await other.complete_run()
    assert await other.collected_mails() == ["m1", "m1"]
    held = await read_state(engine.pool, "m1")
    assert (held["status"], held["worker_id"]) == ("processing", f"mailroom:{other.source.doc_source_id}")
    # A person confirms what the first tenant has, and its source is deleted while a part of the mail is parked.
    engine.clock.pass_by(seconds=1)
    await give_results(engine)
    await engine.change_source(state=DocSourceState.DELETING)
    await engine.repositories.deletions.forget_source(engine.source)
    assert await read_state(engine.pool, "m1") == held
    await give_results(other)
    assert (await read_state(engine.pool, "m1"))["status"] == "success"


async def test_what_a_deleted_source_has_done_is_read_by_the_next_one_of_its_mailbox_and_stays_done_for_the_outside_job(
    engine: Engine, other: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.deliver("m1", NOTE)
    await engine.complete_run()
    await give_results(engine)
    await engine.change_source(state=DocSourceState.DELETING)
    await engine.repositories.deletions.forget_source(engine.source)
    await other.complete_run()
    assert await other.collected_mails() == ["m1"]
    row = await read_state(engine.pool, "m1")
    assert (row["status"], row["worker_id"]) == ("success", f"mailroom:{other.source.doc_source_id}")
    assert not await job.claim("m1")


async def test_rows_have_the_ids_that_other_programs_know_and_the_first_one_stays(
    engine: Engine, outlook: FakeOutlook, job: OutsideJob
) -> None:
    outlook.foreign_id_prefix = "inbox-"
    for name in ("m1", "m2"):
        outlook.deliver(name, File(filename="bad.pdf"))
    outlook.part_errors["bad.pdf"] = ItemGone("404")
    await engine.complete_run()
    assert outlook.calls["translate"] == 1
    assert not await job.claim("inbox-m1")
    outlook.foreign_id_prefix = "other-"
    del outlook.part_errors["bad.pdf"]
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    await give_results(engine)
    assert await job.is_done("inbox-m1")
    assert await job.claim("other-m1"), "there is no such row"


async def test_the_immutable_form_needs_no_translation(engine: Engine, outlook: FakeOutlook, job: OutsideJob) -> None:
    outlook.foreign_id_prefix = "inbox-"
    outlook.deliver("m1", NOTE)
    await engine.sync_engine(state_id_form=StateIdForm.IMMUTABLE).sync_mailbox(
        engine.source, reasons=frozenset({SyncReason.NOTIFICATION})
    )
    assert outlook.calls["translate"] == 0
    assert not await job.claim("m1")


async def test_a_missing_permission_to_translate_stops_the_mailbox_and_nothing_is_collected_unclaimed(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", NOTE)
    outlook.errors["translate"] = [PermissionMissing("403: … MAILROOM_STATE_ID_FORM")]
    outcome = await engine.run_sync()
    assert isinstance(outcome, NotSyncable)
    assert await engine.collected_mails() == []
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_mails_of_other_profiles_are_not_shared(postgres_url: str, tmp_path: Path) -> None:
    async with open_engine(postgres_url, tmp_path, doc_source(profile=Profile.INVOICE)) as engine:
        assert isinstance(engine.mailbox, FakeOutlook)
        engine.mailbox.deliver("m-invoice", NOTE)
        await engine.complete_run()
        assert engine.mailbox.calls["translate"] == 0
        assert await OutsideJob(engine.pool).claim("m-invoice")
