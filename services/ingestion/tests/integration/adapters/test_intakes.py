"""No attachment without a result, none with two different ones: whatever comes when, and twice."""

import asyncio
from collections import Counter

import pytest
from ingestion_fakes import build_record
from ingestion_site import DONE, Ingestion, wait_for_blocked_statement

from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.lanes import Lane
from ingestion.domain.reasons import ReviewReason
from ingestion.ports.events import Channel
from ingestion.ports.intake import DuplicateBlob
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import AttachmentStored, ResultStatus
from mailroom_common.outbox import Outbox

pytestmark = pytest.mark.stack


def duplicate_of(first: AttachmentStored, duplicate: AttachmentStored) -> DuplicateBlob:
    return DuplicateBlob(
        attachment_id=duplicate.attachment_id,
        tenant_id=first.tenant_id,
        doc_source_id=first.doc_source_id,
        content_sha256=first.content_sha256,
        key=duplicate.blob_key,
        kept_key=first.blob_key,
    )


async def test_the_blob_of_a_duplicate_is_remembered_until_it_is_deleted_and_tried_once_a_day(site: Ingestion) -> None:
    """Also where nobody sends the record again: the process that took an upload died behind the commit."""
    first, second = build_record(message="m1"), build_record(message="m2")
    await site.intakes.record_attachment(first)
    for _ in range(2):
        await site.intakes.record_attachment(second)
    assert await site.intakes.claim_duplicate() is None, "whoever recorded it deletes it"
    await site.pool.execute("update ingestion.undeleted_duplicate set next_attempt_at = now()")
    claimed = [await site.intakes.claim_duplicate() for _ in range(2)]
    assert claimed == [duplicate_of(first, second), None]
    assert [await site.intakes.count_duplicates(up_to=most) for most in (5, 0)] == [1, 0]
    await site.intakes.forget_duplicate(second.attachment_id)
    assert await site.pool.fetchval("select count(*) from ingestion.undeleted_duplicate") == 0


async def test_an_attachment_is_added_to_a_document_while_it_is_finished_and_gets_a_path_in_the_archive(
    site: Ingestion,
) -> None:
    """Or whoever holds the ledger, and refers to that document, would wait for it while it waits for the ledger."""
    first = build_record(message="m1")
    await site.intakes.record_attachment(first)
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("update ingestion.document set archive_path = 'archive/1' where true")
        async with site.pool.acquire() as other, other.transaction():
            await other.execute("set local lock_timeout = '2s'")
            await other.execute(
                "insert into ingestion.trade_announcement (document_id, tenant_id) values ($1, 'acme')",
                first.attachment_id,
            )


async def test_the_first_attachment_gives_the_document_its_id(site: Ingestion) -> None:
    first, second = build_record(message="m1"), build_record(message="m2")
    assert await site.intakes.record_attachment(first) is None
    assert await site.intakes.record_attachment(second) == duplicate_of(first, second)

    row = await site.document(first.attachment_id)
    assert (row["status"], row["attempts"], row["blob_key"]) == ("pending", 0, first.blob_key)
    assert row["source_metadata"] == {
        "provider": "outlook",
        "message_id": "m1",
        "internet_message_id": "<m1@x.example>",
        "from": "billing@shop.example",
        "subject": "Your invoice",
        "received_at": "2026-04-02T08:00:00.000Z",
        "attachment_filename": "invoice.pdf",
    }
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 1


async def test_who_finishes_a_document_emits_the_result_of_every_attachment(site: Ingestion) -> None:
    attachments = [build_record(message="m1"), build_record(message="m2"), build_record(message="m2", part="2")]
    for attachment in attachments:
        await site.intakes.record_attachment(attachment)

    assert await site.leases.finish_document(await site.claim_document(), DONE)

    results = await site.results()
    assert [result.attachment_id for result in results] == [attachment.attachment_id for attachment in attachments]
    assert {result.document_id for result in results} == {attachments[0].attachment_id}
    assert [result.duplicate_of for result in results] == [None, *[attachments[0].attachment_id] * 2]
    assert [result.message_id for result in results] == ["m1", "m2", "m2"]
    assert {result.status for result in results} == {ResultStatus.COMPLETED}
    assert results[0].extraction == '{"invoice_number":"1"}'


async def test_a_duplicate_of_a_finished_document_has_its_result_at_once(site: Ingestion) -> None:
    first, late = build_record(message="m1"), build_record(message="m2")
    await site.intakes.record_attachment(first)
    review = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
    await site.leases.finish_document(await site.claim_document(), review)

    assert await site.intakes.record_attachment(late) == duplicate_of(first, late)

    result = (await site.results())[1]
    assert (result.attachment_id, result.duplicate_of) == (late.attachment_id, first.attachment_id)
    assert (result.status, result.reason) == (ResultStatus.NEEDS_REVIEW, "no_text_layer")


async def test_a_record_that_comes_again_changes_nothing(site: Ingestion) -> None:
    first, duplicate = build_record(message="m1"), build_record(message="m2")
    for _ in range(2):
        assert await site.intakes.record_attachment(first) is None
        # The blob that nobody needs is named again: the worker may have died before it removed it.
        assert await site.intakes.record_attachment(duplicate) == duplicate_of(first, duplicate)
    await site.leases.finish_document(await site.claim_document(), DONE)
    before = await site.results()
    for again in (first, duplicate):
        await site.intakes.record_attachment(again)
    # Told again, as the same event: whoever missed the first has it now, and the others know it.
    repeated = (await site.results())[len(before) :]
    assert [result.event_id for result in repeated] == [result.event_id for result in before]
    assert await site.leases.claim_document() is None
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 2


async def test_the_same_content_in_another_source_is_another_document(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record(source="s1"))
    assert await site.intakes.record_attachment(build_record(source="s2")) is None
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 2


async def test_a_record_of_another_tenant_than_its_doc_source_is_refused(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record(message="m1", tenant="acme"))
    for forged in (build_record(message="m1", tenant="globex"), build_record(message="m2", tenant="globex")):
        with pytest.raises(Rejected, match="another tenant"):
            await site.intakes.record_attachment(forged)
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 1


async def test_an_attachment_whose_content_changed_stays_what_it_was(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record(b"%PDF- one"))
    await site.intakes.record_attachment(build_record(b"%PDF- two"))
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 1


async def test_a_character_that_postgres_cannot_store_is_replaced(site: Ingestion) -> None:
    odd = build_record(
        subject="a\x00b",
        filename="\x00.pdf",
        from_="x\x00@y.example",
        internet_message_id="<\x00@y.example>",
        folder="In\x00box",
    )
    await site.intakes.record_attachment(odd)
    row = await site.document(odd.attachment_id)
    assert row["source_metadata"]["subject"] == "a\ufffdb"
    (intake,) = await site.pool.fetch("select * from ingestion.intake")
    assert (intake["internet_message_id"], intake["folder"]) == ("<\ufffd@y.example>", "In\ufffdbox")


@pytest.mark.parametrize(("lane", "is_backfill"), [(Lane.LIVE, False), (Lane.BACKFILL, True)])
async def test_new_mail_does_not_wait_behind_the_backfill_that_its_content_is_queued_in(
    site: Ingestion, lane: Lane, is_backfill: bool
) -> None:
    first, late = build_record(message="m1"), build_record(message="m2")
    await site.intakes.record_attachment(first, Lane.BACKFILL)
    await site.intakes.record_attachment(late, lane)
    assert (await site.document(first.attachment_id))["is_backfill"] is is_backfill


async def test_a_duplicate_that_meets_a_finish_under_way_waits_for_it_and_emits_its_own_result(site: Ingestion) -> None:
    first, late = build_record(message="m1"), build_record(message="m2")
    await site.intakes.record_attachment(first)
    await site.claim_document()
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute(
            "update ingestion.document set status = 'needs_review', review_reason = 'password_required', "
            "lease_token = null, next_attempt_at = null"
        )
        taking_in = asyncio.create_task(site.intakes.record_attachment(late))
        await wait_for_blocked_statement(site.pool, "ingestion.document")
    assert await taking_in == duplicate_of(first, late)
    (result,) = await site.results()
    assert (result.attachment_id, result.reason) == (late.attachment_id, "password_required")


async def test_a_duplicate_and_its_result_are_committed_together_or_not_at_all(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.intakes.record_attachment(build_record(message="m1"))
    await site.leases.finish_document(await site.claim_document(), DONE)

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("Postgres")

    with monkeypatch.context() as failing:
        failing.setattr(Outbox, "append_record", fail)
        with pytest.raises(Unavailable):
            await site.intakes.record_attachment(build_record(message="m2"))
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 1
    await site.intakes.record_attachment(build_record(message="m2"))
    assert len(await site.results()) == 2


async def test_a_new_document_wakes_the_workers_and_is_an_event(site: Ingestion) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    def on_notify(_conn: object, _pid: int, channel: str, _payload: object) -> None:
        heard.put_nowait(channel)

    async with site.pool.acquire() as conn:
        for channel in (Channel.DOCUMENT_DUE, Channel.EVENT_UNNUMBERED):
            await conn.add_listener(channel, on_notify)
        await site.intakes.record_attachment(build_record())
        channels = {await asyncio.wait_for(heard.get(), 5) for _ in range(2)}
        for channel in (Channel.DOCUMENT_DUE, Channel.EVENT_UNNUMBERED):
            await conn.remove_listener(channel, on_notify)
    assert channels == {Channel.DOCUMENT_DUE, Channel.EVENT_UNNUMBERED}
    (event,) = await site.pool.fetch("select * from ingestion.document_event")
    assert (event["tenant_id"], event["document"]["status"]) == ("acme", "pending")


async def test_one_content_in_many_mails_at_once_is_one_document(site: Ingestion) -> None:
    attachments = [build_record(message=f"m{number}") for number in range(12)]
    await asyncio.gather(*(site.intakes.record_attachment(attachment) for attachment in attachments))
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 1
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 12


@pytest.mark.parametrize("pause_ms", [0, 1, 2, 4, 8])
async def test_intake_and_finish_at_once_leave_no_attachment_without_a_result(site: Ingestion, pause_ms: int) -> None:
    for round_ in range(10):
        content = f"%PDF- {pause_ms} {round_}".encode()
        first = build_record(content, message=f"{round_}-first")
        others = [build_record(content, message=f"{round_}-{number}") for number in range(4)]
        await site.intakes.record_attachment(first)
        lease = await site.claim_document()

        async def finish(lease: DocumentLease) -> None:
            await asyncio.sleep(pause_ms / 1000)
            await site.leases.finish_document(lease, DONE)

        await asyncio.gather(finish(lease), *(site.intakes.record_attachment(other) for other in others))

        results = [result for result in await site.results() if result.document_id == first.attachment_id]
        assert Counter(result.attachment_id for result in results) == Counter(
            attachment.attachment_id for attachment in (first, *others)
        )
        assert len({result.event_id for result in results}) == 5
