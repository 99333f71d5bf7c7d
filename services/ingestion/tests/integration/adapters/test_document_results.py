"""Results of a document whose content came with very many attachments, on a real database."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from ingestion_fakes import build_record
from ingestion_site import DONE, SCHEMA, Ingestion, utc_now

from ingestion.adapters import document_results
from ingestion.adapters.document_results import MAX_RESULTS, PgResultBacklog
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.reviews import PgReviews
from ingestion.domain.review import Review, ReviewAction
from ingestion.ports.housekeeping import BacklogStep
from mailroom_common.outbox import Outbox

pytestmark = pytest.mark.stack

WRITTEN, NOTHING, OUTBOX_FULL = BacklogStep.WRITTEN, BacklogStep.NOTHING, BacklogStep.OUTBOX_FULL

_SEND_AGAIN = """
    insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id, part_path,
                                  detected_content_type, size_bytes, uploaded_blob_key)
    select attachment_id || '-' || number, document_id, tenant_id, doc_source_id, provider, message_id, part_path,
           detected_content_type, size_bytes, uploaded_blob_key || number
    from ingestion.intake cross join generate_series(2, $2) as number where attachment_id = $1
"""


@dataclass
class FakeRelay:
    """Knows which documents' results Kafka refuses; None: another instance's relay leads."""

    blocked: list[str] | None = field(default_factory=list)

    def list_blocked_aggregates(self) -> list[str] | None:
        return self.blocked


async def send_often(site: Ingestion, count: int, *, name: str = "often", tenant: str = "acme") -> str:
    record = build_record(f"%PDF- {name}".encode(), message=name, tenant=tenant, source=f"source of {tenant}")
    await site.intakes.record_attachment(record)
    await site.pool.execute(_SEND_AGAIN, record.attachment_id, count)
    return record.attachment_id


def open_backlog(site: Ingestion, relay: FakeRelay | None = None) -> PgResultBacklog:
    return PgResultBacklog(site.pool, Outbox(SCHEMA, site.codec), relay or FakeRelay(), utc_now)


async def list_waiting(site: Ingestion) -> list[str]:
    """The documents whose results are in the outbox, each once, in the order of their newest one."""
    rows = await site.pool.fetch("select aggregate from ingestion.outbox group by aggregate order by max(id)")
    return [row["aggregate"] for row in rows]


async def test_content_that_came_very_often_has_a_result_for_each_attachment_some_at_a_time(site: Ingestion) -> None:
    count = 2 * MAX_RESULTS + 1
    document_id = await send_often(site, count)
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    assert len(await site.results()) == MAX_RESULTS
    backlog = open_backlog(site)
    assert [await backlog.write_some() for _ in range(3)] == [WRITTEN, WRITTEN, NOTHING]
    results = await site.results()
    assert len({result.attachment_id for result in results}) == len(results) == count
    assert {result.document_id for result in results} == {document_id}


async def test_a_decision_in_between_is_told_for_each_attachment(site: Ingestion) -> None:
    """Whatever was not written yet of the version before is not written any more."""
    count = 2 * MAX_RESULTS + 1
    document_id = await send_often(site, count)
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    backlog = open_backlog(site)
    assert await backlog.write_some() is WRITTEN
    reviews = PgReviews(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    rejected = Review(action=ReviewAction.REJECT, version=1, fields={}, api_key_id="00")
    assert await reviews.decide_document("acme", document_id, rejected)
    while await backlog.write_some() is WRITTEN:
        pass
    newest = {result.attachment_id: result.status for result in await site.results()}
    assert Counter(newest.values()) == {"skipped": count}


async def test_no_backlog_is_written_while_many_results_wait_for_kafka(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send_often(site, MAX_RESULTS + 1)
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    monkeypatch.setattr(document_results, "MAX_OUTBOX_ROWS", MAX_RESULTS)
    assert await open_backlog(site).write_some() is OUTBOX_FULL
    await site.pool.execute("delete from ingestion.outbox")
    assert await open_backlog(site).write_some() is WRITTEN
    assert len(await site.results()) == 1


async def test_documents_whose_results_kafka_refuses_hold_up_no_other_backlog(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = await send_often(site, MAX_RESULTS + 1, name="refused")
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    taken = await send_often(site, MAX_RESULTS + 1, name="taken")
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    await site.pool.execute("delete from ingestion.outbox where aggregate = $1", taken)
    monkeypatch.setattr(document_results, "MAX_OUTBOX_ROWS", MAX_RESULTS)
    backlog = open_backlog(site, relay := FakeRelay([refused]))
    assert [await backlog.write_some() for _ in range(2)] == [WRITTEN, NOTHING]
    assert await list_waiting(site) == [refused, taken]
    relay.blocked = []
    await site.pool.execute("delete from ingestion.outbox")
    assert await backlog.write_some() is WRITTEN
    assert await list_waiting(site) == [refused], "an operator has acted"


async def test_a_backlog_is_written_where_it_is_known_what_waits_for_kafka(site: Ingestion) -> None:
    await send_often(site, MAX_RESULTS + 1)
    assert await site.leases.finish_document(await site.claim_document(), DONE)
    assert await open_backlog(site, FakeRelay(None)).write_some() is NOTHING
    assert await open_backlog(site).write_some() is WRITTEN


async def test_tenants_take_turns_in_their_backlogs(site: Ingestion) -> None:
    names = [("first", "acme"), ("second", "acme"), ("third", "globex")]
    documents = [await send_often(site, 2 * MAX_RESULTS + 1, name=name, tenant=tenant) for name, tenant in names]
    for _ in documents:
        assert await site.leases.finish_document(await site.claim_document(), DONE)
    await site.pool.execute("delete from ingestion.outbox")
    backlog = open_backlog(site)
    assert [await backlog.write_some() for _ in range(2)] == [WRITTEN, WRITTEN]
    assert await list_waiting(site) == [documents[0], documents[2]]


async def test_a_backlog_that_cannot_be_written_waits_and_holds_up_no_other(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send_often(site, MAX_RESULTS + 1)
    assert await site.leases.finish_document(await site.claim_document(), DONE)

    async def fail(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(document_results, "_append_each", fail)
    backlog = open_backlog(site)
    assert [await backlog.write_some() for _ in range(2)] == [WRITTEN, NOTHING]
    assert await site.pool.fetchval("select count(*) from ingestion.result_backlog where next_turn_at > now()") == 1


async def test_of_very_many_copies_the_newest_hundred_are_looked_at(site: Ingestion) -> None:
    """Each is a call of the blob store, for a document whose own blob is gone."""
    document_id = await send_often(site, 130)
    newest = [
        f"{row['uploaded_blob_key']}"
        for row in await site.pool.fetch(
            "select uploaded_blob_key from ingestion.intake where document_id = $1 order by seq desc limit 100",
            document_id,
        )
    ]
    assert await site.leases.list_copies(await site.claim_document()) == newest
    content = await PgDocumentCatalog(site.pool).find_content("acme", document_id)
    assert content is not None
    assert content.copy_keys == newest
