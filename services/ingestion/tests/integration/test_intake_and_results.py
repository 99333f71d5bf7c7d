"""No attachment without a result, none with two: whatever comes when, and twice."""

import asyncio
from collections import Counter

import pytest
from ingestion_fakes import stored
from ingestion_site import DONE, Ingestion

from ingestion.domain.document import Lease, Outcome
from mailroom_common.events import ResultStatus

pytestmark = pytest.mark.stack


async def test_the_first_attachment_gives_the_document_its_id(site: Ingestion) -> None:
    first, second = stored(message="m1"), stored(message="m2")
    assert await site.intakes.take_in(first) is None
    assert await site.intakes.take_in(second) == second.blob_key

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
    attachments = [stored(message="m1"), stored(message="m2"), stored(message="m2", part="2")]
    for attachment in attachments:
        await site.intakes.take_in(attachment)

    assert await site.leases.finish(await site.claimed(), DONE)

    results = await site.results()
    assert [result.attachment_id for result in results] == [attachment.attachment_id for attachment in attachments]
    assert {result.document_id for result in results} == {attachments[0].attachment_id}
    assert [result.duplicate_of for result in results] == [None, *[attachments[0].attachment_id] * 2]
    assert [result.message_id for result in results] == ["m1", "m2", "m2"]
    assert {result.status for result in results} == {ResultStatus.COMPLETED}
    assert results[0].extraction == '{"invoice_number":"1"}'


async def test_a_duplicate_of_a_finished_document_has_its_result_at_once(site: Ingestion) -> None:
    first, late = stored(message="m1"), stored(message="m2")
    await site.intakes.take_in(first)
    review = Outcome(status=ResultStatus.NEEDS_REVIEW, reason="no_text_layer")
    await site.leases.finish(await site.claimed(), review)

    assert await site.intakes.take_in(late) == late.blob_key

    result = (await site.results())[1]
    assert (result.attachment_id, result.duplicate_of) == (late.attachment_id, first.attachment_id)
    assert (result.status, result.reason) == (ResultStatus.NEEDS_REVIEW, "no_text_layer")


async def test_a_record_that_comes_again_changes_nothing(site: Ingestion) -> None:
    first, duplicate = stored(message="m1"), stored(message="m2")
    for _ in range(2):
        assert await site.intakes.take_in(first) is None
        # The blob that nobody needs is named again: the worker may have died before it removed it.
        assert await site.intakes.take_in(duplicate) == duplicate.blob_key
    await site.leases.finish(await site.claimed(), DONE)
    before = await site.results()
    for again in (first, duplicate):
        await site.intakes.take_in(again)
    assert await site.results() == before
    assert await site.leases.claim() is None
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 2


async def test_the_same_content_in_another_source_is_another_document(site: Ingestion) -> None:
    await site.intakes.take_in(stored(source="s1"))
    assert await site.intakes.take_in(stored(source="s2")) is None
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 2


async def test_an_attachment_whose_content_changed_stays_what_it_was(site: Ingestion) -> None:
    await site.intakes.take_in(stored(b"%PDF- one"))
    await site.intakes.take_in(stored(b"%PDF- two"))
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 1


async def test_what_postgres_cannot_store_is_taken_in_without_it(site: Ingestion) -> None:
    odd = stored(subject="a\x00b", filename="\x00.pdf", from_="x\x00@y.example")
    await site.intakes.take_in(odd)
    row = await site.document(odd.attachment_id)
    assert row["source_metadata"]["subject"] == "a\ufffdb"


async def test_one_content_in_many_mails_at_once_is_one_document(site: Ingestion) -> None:
    attachments = [stored(message=f"m{number}") for number in range(12)]
    await asyncio.gather(*(site.intakes.take_in(attachment) for attachment in attachments))
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 1
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == 12


@pytest.mark.parametrize("pause_ms", [0, 1, 2, 4, 8])
async def test_intake_and_finish_at_once_leave_no_attachment_without_a_result(site: Ingestion, pause_ms: int) -> None:
    for round_ in range(10):
        content = f"%PDF- {pause_ms} {round_}".encode()
        first = stored(content, message=f"{round_}-first")
        others = [stored(content, message=f"{round_}-{number}") for number in range(4)]
        await site.intakes.take_in(first)
        lease = await site.claimed()

        async def finish(lease: Lease) -> None:
            await asyncio.sleep(pause_ms / 1000)
            await site.leases.finish(lease, DONE)

        await asyncio.gather(finish(lease), *(site.intakes.take_in(other) for other in others))

        results = [result for result in await site.results() if result.document_id == first.attachment_id]
        assert Counter(result.attachment_id for result in results) == Counter(
            attachment.attachment_id for attachment in (first, *others)
        )
        assert len({result.event_id for result in results}) == 5
