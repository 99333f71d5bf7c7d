"""A claim is a lease: one holder at a time, taken over when it dies, and only the holder completes."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from ingestion_fakes import stored
from ingestion_site import DONE, Ingestion

pytestmark = pytest.mark.stack


async def test_a_document_is_claimed_by_one_of_many(site: Ingestion) -> None:
    for number in range(3):
        await site.intakes.take_in(stored(f"%PDF- {number}".encode(), message=f"m{number}"))
    claims = await asyncio.gather(*(site.leases.claim() for _ in range(10)))
    leases = [claim for claim in claims if claim is not None]
    assert len({lease.document_id for lease in leases}) == len(leases) == 3
    assert {lease.attempt for lease in leases} == {1}


async def test_a_dead_workers_document_is_taken_over_and_its_late_hand_moves_nothing(site: Ingestion) -> None:
    await site.intakes.take_in(stored())
    dead = await site.other_worker(timedelta(seconds=0)).claim()
    assert dead is not None
    holder = await site.claimed()
    assert (holder.document_id, holder.attempt) == (dead.document_id, 2)
    assert holder.token != dead.token

    assert not await site.leases.renew(dead)
    assert not await site.leases.finish(dead, DONE)
    assert not await site.leases.put_back(dead, not_before=datetime.now(UTC), error="late", counts=True)
    assert await site.leases.reserve_archive_path(dead, ["archive/a/b/c/d.pdf"]) is None
    assert await site.results() == []
    assert await site.leases.finish(holder, DONE)
    assert len(await site.results()) == 1
    assert not await site.leases.finish(holder, DONE)
    assert len(await site.results()) == 1


async def test_a_renewed_lease_is_not_taken_over(site: Ingestion) -> None:
    await site.intakes.take_in(stored())
    short = site.other_worker(timedelta(seconds=0.3))
    lease = await short.claim()
    assert lease is not None
    assert await site.leases.renew(lease)  # for 30 s, as this one does
    await asyncio.sleep(0.4)  # past the end of the first lease
    assert await site.leases.claim() is None


async def test_a_document_that_was_put_back_rests_and_keeps_its_count(site: Ingestion) -> None:
    await site.intakes.take_in(stored())
    lease = await site.claimed()
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    assert await site.leases.put_back(lease, not_before=soon, error="the store is away", counts=True)
    assert await site.leases.claim() is None
    due_in_s = await site.leases.due_in_s()
    assert due_in_s is not None
    assert 0 < due_in_s <= 0.3
    await asyncio.sleep(0.4)  # past the pause
    assert (await site.claimed()).attempt == 2


async def test_an_attempt_that_was_not_the_documents_fault_does_not_count(site: Ingestion) -> None:
    await site.intakes.take_in(stored())
    for _ in range(3):
        lease = await site.claimed()
        assert lease.attempt == 1
        await site.leases.put_back(lease, not_before=datetime.now(UTC), error="stopped", counts=False)


async def test_two_documents_never_share_a_copy_in_the_archive(site: Ingestion) -> None:
    for number in range(2):
        await site.intakes.take_in(stored(f"%PDF- {number}".encode(), part=str(number)))
    first, second = await site.claimed(), await site.claimed()
    assert await site.leases.reserve_archive_path(first, ["a", "a-1"]) == "a"
    assert await site.leases.reserve_archive_path(second, ["a", "a-2"]) == "a-2"
    # An attempt that comes after one that died writes to the same place.
    assert await site.leases.reserve_archive_path(first, ["a", "a-1"]) == "a"


async def test_nothing_that_is_final_is_ever_claimed(site: Ingestion) -> None:
    await site.intakes.take_in(stored())
    await site.leases.finish(await site.claimed(), DONE)
    assert await site.leases.claim() is None
    assert await site.leases.due_in_s() is None
