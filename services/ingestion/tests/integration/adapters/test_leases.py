"""A claim is a lease: one holder at a time, taken over when it dies, and only the holder completes."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingestion_fakes import build_record
from ingestion_site import DONE, Ingestion, wait_for_blocked_statement
from table_reads import OneSession, count_reads

from ingestion.adapters.intakes import build_attachment
from ingestion.adapters.leases import PgDocumentLeases
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.lanes import Lane
from ingestion.domain.reasons import ReviewReason
from ingestion.ports.events import Channel
from mailroom_common.errors import Unavailable
from mailroom_common.events import ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession

pytestmark = pytest.mark.stack


async def test_a_document_is_claimed_by_one_of_many(site: Ingestion) -> None:
    for number in range(3):
        await site.intakes.record_attachment(build_record(f"%PDF- {number}".encode(), message=f"m{number}"))
    claims = await asyncio.gather(*(site.leases.claim_document() for _ in range(10)))
    leases = [claim for claim in claims if claim is not None]
    assert len({lease.document_id for lease in leases}) == len(leases) == 3
    assert {lease.attempt for lease in leases} == {1}


async def test_a_lease_has_what_the_first_attachment_was(site: Ingestion) -> None:
    record = build_record(subject="Your invoice")
    await site.intakes.record_attachment(record)
    assert (await site.claim_document()).first_attachment == build_attachment(record)


async def test_a_lease_of_another_reading_has_the_pages_that_the_former_one_left(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    lease = await site.claim_document()
    await site.leases.finish_document(lease, replace(DONE, pages_not_read=(3, 7)))
    await site.rereads.request_document("acme", lease.document_id, "r1")
    former = (await site.claim_document()).former
    assert former is not None
    assert former.pages_not_read == (3, 7)


async def test_what_was_read_of_a_document_is_stored_with_its_end(site: Ingestion) -> None:
    for number in range(2):
        await site.intakes.record_attachment(build_record(f"%PDF- {number}".encode(), message=f"m{number}"))
    read, unread = await site.claim_document(), await site.claim_document()
    await site.leases.finish_document(read, DONE)
    await site.leases.finish_document(
        unread, DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.UNREADABLE)
    )
    assert (await site.document(read.document_id))["extraction"] == DONE.extraction
    assert (await site.document(unread.document_id))["extraction"] is None


async def test_a_dead_workers_document_is_taken_over_and_its_old_lease_changes_nothing(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    dead = await site.other_worker(timedelta(seconds=0)).claim_document()
    assert dead is not None
    holder = await site.claim_document()
    assert (holder.document_id, holder.attempt) == (dead.document_id, 2)
    assert holder.token != dead.token

    assert not await site.leases.renew_lease(dead)
    assert not await site.leases.finish_document(dead, DONE)
    assert not await site.leases.release_document(dead, not_before=datetime.now(UTC), error="late", count_attempt=True)
    assert await site.leases.reserve_archive_path(dead, ["archive/a/b/c/d.pdf"]) is None
    assert await site.results() == []
    assert await site.leases.finish_document(holder, DONE)
    assert len(await site.results()) == 1
    assert not await site.leases.finish_document(holder, DONE)
    assert len(await site.results()) == 1


async def test_a_renewed_lease_is_not_taken_over(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    short = site.other_worker(timedelta(seconds=0.3))
    lease = await short.claim_document()
    assert lease is not None
    assert await site.leases.renew_lease(lease)  # for 30 s, as this one does
    await asyncio.sleep(0.4)  # past the end of the first lease
    assert await site.leases.claim_document() is None


async def test_a_released_document_waits_and_keeps_its_count(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    lease = await site.claim_document()
    later = datetime.now(UTC) + timedelta(hours=1)
    assert await site.leases.release_document(lease, not_before=later, error="x" * 600, count_attempt=True)
    assert (await site.document(lease.document_id))["retry_cause"] == "x" * 500
    assert await site.leases.claim_document() is None
    due_in_s = await site.leases.read_seconds_until_due()
    assert due_in_s is not None
    assert 3000 < due_in_s <= 3600
    await site.pool.execute("update ingestion.document set next_attempt_at = now()")  # the pause is over
    assert (await site.claim_document()).attempt == 2


async def test_an_attempt_that_was_not_the_documents_fault_does_not_count(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    for _ in range(3):
        lease = await site.claim_document()
        assert lease.attempt == 1
        await site.leases.release_document(lease, not_before=datetime.now(UTC), error="stopped", count_attempt=False)


async def test_two_documents_never_share_a_copy_in_the_archive(site: Ingestion) -> None:
    for number in range(2):
        await site.intakes.record_attachment(build_record(f"%PDF- {number}".encode(), part=str(number)))
    first, second = await site.claim_document(), await site.claim_document()
    assert await site.leases.reserve_archive_path(first, ["a", "a-1"]) == "a"
    assert await site.leases.reserve_archive_path(second, ["a", "a-2"]) == "a-2"
    # An attempt that comes after one that died writes to the same place, whatever it reads.
    assert await site.leases.reserve_archive_path(first, ["b", "b-1"]) == "a"


async def test_a_path_in_the_archive_that_is_taken_is_no_error_of_postgres_which_would_log_its_names(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        await site.intakes.record_attachment(build_record(f"%PDF- {number}".encode(), part=str(number)))
    first, second = await site.claim_document(), await site.claim_document()
    await site.leases.reserve_archive_path(first, ["a"])

    class NeverRaised(Exception):
        pass

    monkeypatch.setattr("ingestion.adapters.leases.asyncpg.UniqueViolationError", NeverRaised)
    assert await site.leases.reserve_archive_path(second, ["a", "b"]) == "b"


async def test_of_two_documents_that_are_given_a_path_at_the_same_moment_one_falls_back(site: Ingestion) -> None:
    for number in range(2):
        await site.intakes.record_attachment(build_record(f"%PDF- {number}".encode(), part=str(number)))
    first, second = await site.claim_document(), await site.claim_document()
    async with site.pool.acquire() as other, other.transaction():
        await other.execute(
            "update ingestion.document set archive_path = 'a', is_archive_path_reserved = true where document_id = $1",
            first.document_id,
        )
        reserving = asyncio.create_task(site.leases.reserve_archive_path(second, ["a", "b"]))
        await wait_for_blocked_statement(site.pool, "is_archive_path_reserved")
    assert await reserving == "b"


async def test_nothing_that_is_final_is_ever_claimed(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    await site.leases.finish_document(await site.claim_document(), DONE)
    assert await site.leases.claim_document() is None
    assert await site.leases.read_seconds_until_due() is None


async def test_a_claim_does_not_wait_for_a_document_that_another_session_holds(site: Ingestion) -> None:
    first, second = build_record(b"%PDF- 1", message="m1"), build_record(b"%PDF- 2", message="m2")
    for record in (first, second):
        await site.intakes.record_attachment(record)
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("select from ingestion.document where document_id = $1 for update", first.attachment_id)
        lease = await asyncio.wait_for(site.claim_document(), 5)
    assert lease.document_id == second.attachment_id


async def test_a_document_that_another_row_is_made_to_refer_to_is_claimed_and_woken_meanwhile(site: Ingestion) -> None:
    """Each reference holds the key of the document until its transaction ends, and a claim would pass over it."""
    await site.intakes.record_attachment(build_record())
    await site.pool.execute("update ingestion.document set is_resting = true")
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("select from ingestion.document for key share")
        assert await site.leases.claim_document() is not None


async def test_the_document_that_waits_longest_is_claimed_first(site: Ingestion) -> None:
    records = [build_record(f"%PDF- {number}".encode(), message=f"m{number}") for number in range(3)]
    for record in records:
        await site.intakes.record_attachment(record)
    for minutes, record in zip((1, 3, 2), records, strict=True):
        await site.pool.execute(
            "update ingestion.document set next_attempt_at = now() - $2::interval where document_id = $1",
            record.attachment_id,
            timedelta(minutes=minutes),
        )
    claimed = [(await site.claim_document()).document_id for _ in records]
    assert claimed == [records[index].attachment_id for index in (1, 2, 0)]


async def test_tenants_take_turns_and_so_do_the_sources_of_a_tenant(site: Ingestion) -> None:
    waiting = [("acme", "big", 6), ("acme", "small", 2), ("globex", "only", 3)]
    for tenant, source, count in waiting:
        for number in range(count):
            message = f"{source}-{number}"
            await site.intakes.record_attachment(
                build_record(message.encode(), message=message, source=source, tenant=tenant)
            )
    leases = [await site.claim_document() for _ in range(11)]
    assert [lease.doc_source_id for lease in leases] == (
        ["big", "only", "small", "only", "big", "only", "small", "big", "big", "big", "big"]
    )
    assert await site.leases.claim_document() is None


async def insert_resting_documents(conn: DatabaseSession, count: int) -> None:
    """Each of a doc source of its own, of a tenth as many tenants."""
    await conn.execute(
        "insert into ingestion.document (document_id, tenant_id, doc_source_id, profile, content_sha256, content_type, "
        "size_bytes, blob_key, source_metadata, next_attempt_at, is_resting) "
        "select n::text, 'tenant-' || n % ($1 / 10), 'resting-' || n, 'invoice', n::text, 'application/pdf', 1, "
        "n::text, '{}', now() + interval '1 minute', true from generate_series(1, $1) as n",
        count,
    )
    await conn.execute("analyze ingestion.document")


async def test_a_tenant_whose_ledger_is_busy_lets_others_go_first(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or all that a process reads at once would wait for that ledger, and no other tenant's documents be read."""
    monkeypatch.setattr("ingestion.adapters.leases._HELD_UP_AFTER_S", 0.0)
    for tenant in ("acme", "globex", "initech"):
        for number in range(2 if tenant == "globex" else 3):
            message = f"{tenant} {number}"
            await site.intakes.record_attachment(
                build_record(message.encode(), source=tenant, message=message, tenant=tenant)
            )
    waiting = [await site.claim_document() for _ in range(3)]
    assert [lease.tenant_id for lease in waiting] == ["acme", "globex", "initech"]
    async with site.pool.acquire() as conn, conn.transaction():
        # As long as the ledgers of two tenants are locked.
        held = [waiting[0].document_id, waiting[2].document_id]
        await conn.execute("select from ingestion.document where document_id = any($1) for update", held)
        finishing = [asyncio.create_task(site.leases.finish_document(waiting[place], DONE)) for place in (0, 2)]
        await wait_for_blocked_statement(site.pool, "from ingestion.document", sessions=2)
        claimed = [await site.claim_document() for _ in range(2)]
    assert None not in await asyncio.gather(*finishing)
    # While nobody else has one, theirs are read all the same; and in turn once nothing holds them up.
    claimed += [await site.claim_document() for _ in range(3)]
    assert [lease.tenant_id for lease in claimed] == ["globex", "initech", "acme", "initech", "acme"]


async def test_a_claim_passes_no_resting_document_however_many_doc_sources_have_one(site: Ingestion) -> None:
    for tenant in ("a", "zz"):  # before and behind the others in the order of turns
        await site.intakes.record_attachment(build_record(tenant.encode(), source=f"due-{tenant}", tenant=tenant))
    async with site.pool.acquire() as conn, conn.transaction():
        await insert_resting_documents(conn, 5000)
        pool: Any = OneSession(conn)
        leases = PgDocumentLeases(
            pool, Outbox("ingestion", site.codec), duration=timedelta(seconds=30), clock=lambda: datetime.now(UTC)
        )
        before = await count_reads(conn, "ingestion.document")
        claimed = [await leases.claim_document() for _ in range(3)]
        await leases.read_seconds_until_due()
        assert await count_reads(conn, "ingestion.document") - before < 100
    assert [lease and lease.doc_source_id for lease in claimed] == ["due-a", "due-zz", None]


async def test_resting_documents_whose_time_has_come_are_claimed_in_turn(site: Ingestion) -> None:
    async with site.pool.acquire() as conn:
        await insert_resting_documents(conn, 20)
        await conn.execute(
            "insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id, "
            "part_path, detected_content_type, size_bytes, uploaded_blob_key) select document_id, document_id, "
            "tenant_id, doc_source_id, 'outlook', 'm', '1', content_type, 1, blob_key from ingestion.document"
        )
        assert await site.leases.claim_document() is None
        await conn.execute("update ingestion.document set next_attempt_at = now()")
    leases = [await site.claim_document() for _ in range(20)]
    assert [lease.tenant_id for lease in leases] == ["tenant-0", "tenant-1"] * 10
    assert await site.leases.claim_document() is None


async def test_what_a_worker_of_the_version_before_has_leased_is_not_claimed(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    await site.pool.execute(
        "update ingestion.document set status = 'processing', lease_token = gen_random_uuid(), "
        "next_attempt_at = now() + interval '30 s'"
    )
    assert await site.leases.claim_document() is None


async def test_a_turn_of_which_nothing_is_left_passes_to_the_next(site: Ingestion) -> None:
    for source in ("first", "second"):
        await site.intakes.record_attachment(build_record(source.encode(), message=source, source=source))
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("select from ingestion.document where doc_source_id = 'first' for update")
        lease = await asyncio.wait_for(site.claim_document(), 5)
    assert lease.doc_source_id == "second"


async def test_a_lane_gives_out_its_own_documents_and_says_when_its_next_one_is_due(site: Ingestion) -> None:
    record = build_record()
    await site.intakes.record_attachment(record)
    for is_backfill, lane, other in ((True, Lane.BACKFILL, Lane.LIVE), (False, Lane.LIVE, Lane.BACKFILL)):
        await site.pool.execute(
            "update ingestion.document set is_backfill = $1, status = 'pending', lease_token = null, "
            "next_attempt_at = now()",
            is_backfill,
        )
        assert await site.leases.read_seconds_until_due([other]) is None
        assert await site.leases.read_seconds_until_due([lane]) is not None
        assert await site.leases.claim_document([other]) is None
        assert await site.leases.claim_document([lane]) is not None


async def test_a_finish_sees_the_attachment_whose_intake_is_under_way(site: Ingestion) -> None:
    first, other = build_record(message="m1"), build_record(message="m2")
    await site.intakes.record_attachment(first)
    lease = await site.claim_document()
    async with site.pool.acquire() as conn, conn.transaction():
        # As an intake of a duplicate does: the document's row first.
        await conn.execute("select from ingestion.document where document_id = $1 for update", first.attachment_id)
        finishing = asyncio.create_task(site.leases.finish_document(lease, DONE))
        await wait_for_blocked_statement(site.pool, "ingestion.document")
        await conn.execute(
            "insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id, "
            "part_path, detected_content_type, size_bytes, uploaded_blob_key) "
            "select $1, document_id, tenant_id, doc_source_id, 'outlook', 'm2', '1', content_type, size_bytes, $2 "
            "from ingestion.document",
            other.attachment_id,
            other.blob_key,
        )
    assert await finishing
    assert [result.attachment_id for result in await site.results()] == [first.attachment_id, other.attachment_id]


async def test_a_finish_that_meets_a_takeover_under_way_moves_nothing(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    lease = await site.claim_document()
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("update ingestion.document set lease_token = gen_random_uuid()")
        finishing = asyncio.create_task(site.leases.finish_document(lease, DONE))
        await wait_for_blocked_statement(site.pool, "ingestion.document")
    assert not await finishing
    assert await site.results() == []
    assert (await site.document(lease.document_id))["status"] == "processing"


async def test_state_result_and_event_are_committed_together_or_not_at_all(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.intakes.record_attachment(build_record())
    lease = await site.claim_document()
    before = await site.pool.fetchval("select count(*) from ingestion.document_event")

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("Postgres")

    with monkeypatch.context() as failing:
        failing.setattr(Outbox, "append_record", fail)
        with pytest.raises(Unavailable):
            await site.leases.finish_document(lease, DONE)
    assert (await site.document(lease.document_id))["status"] == "processing"
    with monkeypatch.context() as failing:
        failing.setattr("ingestion.adapters.leases.append_document_event", fail)
        with pytest.raises(Unavailable):
            await site.leases.finish_document(lease, DONE)
    assert (await site.document(lease.document_id))["status"] == "processing"
    assert await site.results() == []
    assert await site.pool.fetchval("select count(*) from ingestion.document_event") == before
    assert await site.leases.finish_document(lease, DONE)
    assert await site.pool.fetchval("select count(*) from ingestion.document_event") == before + 1


async def test_a_released_document_wakes_the_workers(site: Ingestion) -> None:
    await site.intakes.record_attachment(build_record())
    lease = await site.claim_document()
    heard = asyncio.Event()

    def on_notify(*_: object) -> None:
        heard.set()

    async with site.pool.acquire() as conn:
        await conn.add_listener(Channel.DOCUMENT_DUE, on_notify)
        await site.leases.release_document(lease, not_before=datetime.now(UTC), error="stopped", count_attempt=False)
        await asyncio.wait_for(heard.wait(), 5)
        await conn.remove_listener(Channel.DOCUMENT_DUE, on_notify)
