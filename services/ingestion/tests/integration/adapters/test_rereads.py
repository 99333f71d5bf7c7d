"""A final document is read again while its result stands, once for each replay, and only what changed is told."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from ingestion_fakes import build_record
from ingestion_site import DONE, Ingestion, wait_for_blocked_statement

from ingestion.adapters import rereads
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.lanes import Lane
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.ports.intake import RereadFilter
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored, ResultStatus

pytestmark = pytest.mark.stack
READ_BY_1 = replace(DONE, reader="layout/1")
READ_BY_2 = replace(DONE, reader="layout/2", extraction={"invoice_number": "2"})
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE)


async def finish_document(
    site: Ingestion, outcome: DocumentOutcome = READ_BY_1, number: int = 1, **changed: str
) -> AttachmentStored:
    record = build_record(f"%PDF- {number}".encode(), message=f"m{number}", **changed)
    await site.intakes.record_attachment(record)
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record


async def read_again(site: Ingestion, outcome: DocumentOutcome) -> None:
    assert await site.leases.finish_document(await site.claim_document(), outcome)


async def test_the_former_result_stands_until_the_reading_ends(site: Ingestion) -> None:
    record = await finish_document(site)
    before = dict(await site.document(record.attachment_id))
    assert await site.rereads.request_by_attachment(record, "r1")
    lease = await site.claim_document()
    during = dict(await site.document(record.attachment_id))
    shown = ("status", "extraction", "reader", "updated_at", "result_number")
    assert lease.former == READ_BY_1
    assert [during[name] for name in shown] == [before[name] for name in shown]

    assert await site.leases.finish_document(lease, READ_BY_2)
    after = await site.document(record.attachment_id)
    assert (after["reader"], after["result_number"], after["lease_token"]) == ("layout/2", 2, None)
    first, second = await site.results()
    assert first.event_id != second.event_id
    assert second.reader == "layout/2"


async def test_a_reading_with_the_same_outcome_changes_nothing_and_repeats_the_result(site: Ingestion) -> None:
    record = await finish_document(site)
    before = dict(await site.document(record.attachment_id))
    for replay_id in ("r1", "r2"):
        await site.rereads.request_by_attachment(record, replay_id)
        await read_again(site, READ_BY_1)
    after = dict(await site.document(record.attachment_id))
    ignored = {"replay_id", "is_backfill", "attempts", "last_reread"}  # the last for the history
    assert {name: after[name] for name in after.keys() - ignored} == {
        name: before[name] for name in before.keys() - ignored
    }
    assert len({result.event_id for result in await site.results()}) == 1
    assert await site.pool.fetchval("select count(*) from ingestion.document_event") == 2


async def test_a_record_that_comes_again_asks_once_for_each_replay(site: Ingestion) -> None:
    record = await finish_document(site)
    await site.rereads.request_by_attachment(record, "r1")
    await read_again(site, READ_BY_1)
    await site.rereads.request_by_attachment(record, "r1")
    assert await site.leases.claim_document() is None


async def test_a_document_that_is_still_to_be_read_is_not_asked_for_again(site: Ingestion) -> None:
    record = build_record()
    await site.intakes.record_attachment(record)
    assert await site.rereads.request_by_attachment(record, "r1")
    lease = await site.claim_document()
    assert await site.rereads.request_by_attachment(record, "r1")
    assert await site.leases.finish_document(lease, READ_BY_1)
    assert len(await site.results()) == 1


async def test_a_reading_whose_worker_died_is_taken_over_and_its_old_lease_changes_nothing(site: Ingestion) -> None:
    record = await finish_document(site)
    await site.rereads.request_by_attachment(record, "r1")
    dead = await site.other_worker(timedelta(seconds=0)).claim_document()
    assert dead is not None
    holder = await site.claim_document()
    assert not await site.leases.finish_document(dead, SKIPPED)
    assert await site.leases.finish_document(holder, READ_BY_1)
    assert (await site.document(record.attachment_id))["status"] == "completed"


async def test_a_reading_that_is_released_leaves_the_document_final(site: Ingestion) -> None:
    record = await finish_document(site)
    await site.rereads.request_by_attachment(record, "r1")
    lease = await site.claim_document()
    await site.leases.release_document(lease, not_before=datetime.now(UTC), error="down", count_attempt=True)
    assert (await site.document(record.attachment_id))["status"] == "completed"
    assert (await site.claim_document()).former == READ_BY_1


async def test_a_duplicate_that_comes_during_the_reading_gets_the_former_result_and_then_the_new_one(
    site: Ingestion,
) -> None:
    record = await finish_document(site)
    await site.rereads.request_by_attachment(record, "r1")
    lease = await site.claim_document()
    duplicate = build_record(b"%PDF- 1", message="later")
    await site.intakes.record_attachment(duplicate)
    await site.leases.finish_document(lease, READ_BY_2)
    readers = [result.reader for result in await site.results() if result.attachment_id == duplicate.attachment_id]
    assert readers == ["layout/1", "layout/2"]


async def test_a_path_in_the_archive_that_is_only_reserved_is_part_of_no_outcome(site: Ingestion) -> None:
    record = await finish_document(site, SKIPPED)
    await site.rereads.request_by_attachment(record, "r1")
    crashed = await site.other_worker(timedelta(seconds=0)).claim_document()
    assert crashed is not None
    assert await site.leases.reserve_archive_path(crashed, ["archive/1"]) == "archive/1"
    lease = await site.claim_document()
    assert lease.former == SKIPPED
    assert await site.leases.finish_document(lease, SKIPPED)
    assert (await site.document(record.attachment_id))["archive_path"] is None


async def test_an_attachment_that_was_never_recorded_is_not_known(site: Ingestion) -> None:
    assert not await site.rereads.request_by_attachment(build_record(), "r1")


@pytest.mark.parametrize(("tenant_id", "doc_source_id"), [("other", "source-1"), ("acme", "source-9")])
async def test_a_record_that_names_another_owner_is_rejected(
    site: Ingestion, tenant_id: str, doc_source_id: str
) -> None:
    record = await finish_document(site)
    forged = replace(record, tenant_id=tenant_id, doc_source_id=doc_source_id)
    with pytest.raises(Rejected, match="another doc source"):
        await site.rereads.request_by_attachment(forged, "r1")
    assert await site.leases.claim_document() is None


async def test_live_documents_are_claimed_before_those_that_are_read_again(site: Ingestion) -> None:
    record = await finish_document(site)
    await site.rereads.request_by_attachment(record, "r1")
    await asyncio.sleep(0.01)  # the live one is due later
    live = build_record(b"%PDF- live", message="live")
    await site.intakes.record_attachment(live)
    assert (await site.claim_document()).document_id == live.attachment_id
    assert await site.leases.claim_document((Lane.LIVE,)) is None
    assert await site.leases.read_seconds_until_due((Lane.BACKFILL,)) is not None
    lease = await site.claim_document()
    assert (lease.document_id, lease.lane) == (record.attachment_id, Lane.BACKFILL)


async def test_pages_ask_for_each_matching_document_once_and_only_of_the_tenant(site: Ingestion) -> None:
    ours = [(await finish_document(site, number=number)).attachment_id for number in range(3)]
    await finish_document(site, SKIPPED, number=4)
    await finish_document(site, number=5, tenant="other", source="source-2")
    wanted = RereadFilter(status="completed")
    assert await site.rereads.count_documents("acme", wanted, "r1") == 3

    first = await site.rereads.request_page("acme", wanted, "r1", after=-1, limit=2)
    again = await site.rereads.request_page("acme", wanted, "r1", after=-1, limit=2)  # killed, and begun again
    assert (first.matching, first.requested, again.matching, again.requested) == (2, 2, 1, 1)
    assert again.next_after is None
    claimed = [(await site.claim_document()).document_id for _ in ours]
    assert sorted(claimed) == sorted(ours)
    assert await site.leases.claim_document() is None


async def test_what_few_documents_match_is_looked_for_some_documents_at_a_time(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rereads, "_WINDOW", 2)
    for number in range(4):
        await finish_document(site, number=number)
    await finish_document(site, SKIPPED, number=4)
    wanted = RereadFilter(reason="not_an_invoice")
    pages, after = [], -1
    while True:
        page = await site.rereads.request_page("acme", wanted, "r1", after=after, limit=2)
        pages.append((page.matching, page.requested))
        if page.next_after is None:
            break
        after = page.next_after
    assert pages == [(0, 0), (0, 0), (1, 1)]
    assert await site.rereads.count_documents("acme", RereadFilter(), None) == 5


async def test_those_of_a_doc_source_are_found_without_the_documents_of_all_others(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One mailbox of 100,000 has some documents of millions."""
    monkeypatch.setattr(rereads, "_WINDOW", 2)
    for number in range(4):
        await finish_document(site, number=number)
    await finish_document(site, number=4, source="source-2")
    page = await site.rereads.request_page("acme", RereadFilter(doc_source_id="source-2"), "r1", after=-1, limit=2)
    assert (page.matching, page.next_after) == (1, None)
    assert await site.rereads.count_documents("acme", RereadFilter(doc_source_id="source-1"), None) == 4
    assert await site.rereads.count_documents("other", RereadFilter(doc_source_id="source-1"), None) == 0


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (RereadFilter(reader="layout/1"), 1),
        (RereadFilter(reader="layout/2"), 0),
        (RereadFilter(except_reader="layout/1"), 1),  # the skipped one was read by none
        (RereadFilter(reason="not_an_invoice"), 1),
        (RereadFilter(doc_source_id="source-1"), 2),
        (RereadFilter(doc_source_id="source-2"), 0),
        (RereadFilter(created_since=datetime(2999, 1, 1, tzinfo=UTC)), 0),
        (RereadFilter(created_before=datetime(2999, 1, 1, tzinfo=UTC)), 2),
    ],
)
async def test_a_document_has_to_match_all_that_is_given(site: Ingestion, wanted: RereadFilter, matches: int) -> None:
    await finish_document(site, number=1)
    await finish_document(site, SKIPPED, number=2)
    assert await site.rereads.count_documents("acme", wanted, None) == matches


async def test_good_copy_that_comes_during_the_last_attempt_on_a_damaged_blob_is_read(site: Ingestion) -> None:
    damaged, copy = (build_record(message=message) for message in ("first", "second"))
    await site.intakes.record_attachment(damaged)
    last_attempt = await site.claim_document()
    assert await site.leases.list_copies(last_attempt) == []
    duplicate = await site.intakes.record_attachment(copy)
    assert duplicate is not None
    for _ in range(2):  # as a record that comes again does
        await site.rereads.request_from_copy(duplicate)
    failed = DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.BLOB_MISMATCH)
    assert not await site.leases.finish_document(last_attempt, failed)
    again = await site.claim_document()
    assert (again.attempt, await site.leases.list_copies(again)) == (1, [copy.blob_key])
    await site.rereads.request_from_copy(duplicate)
    assert await site.leases.finish_document(again, DONE), "the copy was known to this attempt"
    assert [result.status for result in await site.results()] == [ResultStatus.COMPLETED] * 2


@pytest.mark.parametrize(
    ("outcome", "is_read"),
    [(DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.BLOB_MISSING), True), (READ_BY_1, False)],
    ids=["failed", "read"],
)
async def test_good_copy_has_a_document_read_that_was_not_and_no_other(
    site: Ingestion, outcome: DocumentOutcome, is_read: bool
) -> None:
    await finish_document(site, outcome)
    duplicate = await site.intakes.record_attachment(build_record(b"%PDF- 1", message="copy"))
    assert duplicate is not None
    await site.rereads.request_from_copy(duplicate)
    assert (await site.leases.claim_document() is not None) is is_read


async def test_documents_are_locked_in_one_order_whoever_asks_for_them(site: Ingestion) -> None:
    """Of two that ask for the same ones at once, as a decision and a replay, each would wait for the other."""
    documents = [(await finish_document(site, number=number)).attachment_id for number in range(6)]
    # One that has a smaller id than one before it: as the table has them, that one would be locked first.
    later, first = next(pair for pair in pairwise(documents) if pair[1] < pair[0])
    async with site.pool.acquire() as holder, site.pool.acquire() as asking, site.pool.acquire() as other:
        holding, request = holder.transaction(), asking.transaction()
        await holding.start()
        await holder.execute("select from ingestion.document where document_id = $1 for no key update", later)
        await request.start()
        await asking.execute("set local enable_indexscan = off")  # as of several hundred
        requesting = asyncio.create_task(rereads.request_rereads(asking, [later, first], "replay-1"))
        await wait_for_blocked_statement(site.pool, "as idle")
        is_free = "select true from ingestion.document where document_id = $1 for no key update skip locked"
        assert await other.fetchval(is_free, first) is None
        await holding.rollback()
        assert await requesting == 2
        await request.commit()
