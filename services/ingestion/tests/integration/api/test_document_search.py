"""Filters, export and possible duplicates on a real database, over real HTTP."""

import csv
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import orjson
import pytest
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import SCHEMA, Ingestion
from migrated_databases import migrate_once

from ingestion.adapters.document_search import NEWEST, build_conditions, build_search
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.word_search import build_step
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.ports.documents import DocumentFilter
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import open_pool

pytestmark = pytest.mark.stack

FIELDS: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Müller & Söhne GmbH",
    "invoice_number": "RE-2026-7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "119.00",
}
READ = DocumentOutcome(
    status=ResultStatus.COMPLETED, document_type="invoice", extraction=FIELDS, confidence=0.9, reader="layout-rules/2"
)
DOUBTFUL = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW,
    reason=ReviewReason.FIELDS_MISSING,
    document_type="credit_note",
    extraction={
        **FIELDS,
        "supplier_name": "Other Ltd",
        "invoice_number": "8",
        "issue_date": "2026-05-02",
        "total_gross": "-7.50",
    },
)
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.9)


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=as_tenant("acme"), timeout=10) as client,
    ):
        yield client


async def finish_document(site: Ingestion, name: str, outcome: DocumentOutcome, **changed: Any) -> str:
    record = build_record(f"%PDF- {name}".encode(), message=name, **changed)
    await site.intakes.record_attachment(record)
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def search(api: httpx.AsyncClient, **filters: Any) -> list[str]:
    answer = await api.get("/documents", params=filters)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


@pytest.fixture
async def documents(site: Ingestion) -> dict[str, str]:
    found = {
        "read": await finish_document(site, "read", READ, subject="April's steel"),
        "doubtful": await finish_document(site, "doubtful", DOUBTFUL, filename="gutschrift.pdf"),
        "note": await finish_document(
            site, "note", replace(SKIPPED, reason=DocumentSkipReason.NOT_A_DOCUMENT), profile=Profile.CONTRACT_NOTE
        ),
    }
    await finish_document(site, "other", READ, tenant="other", source="source-2")
    waiting = build_record(b"%PDF- waiting", message="waiting")
    await site.intakes.record_attachment(waiting)
    return {**found, "waiting": waiting.attachment_id}


async def test_each_filter_finds_what_it_names_and_nothing_of_another_tenant(
    api: httpx.AsyncClient, documents: dict[str, str]
) -> None:
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"supplier": "sohne Muller"}, {"read"}),
        ({"supplier": "steel"}, set()),
        ({"text": "steel"}, {"read"}),
        ({"text": "GUTSCHRIFT"}, {"doubtful"}),
        ({"text": "müller", "supplier": "other"}, set()),
        ({"number": "re-2026-7"}, {"read"}),
        ({"number": "2026"}, set()),
        ({"amount_from": "119", "amount_to": "119.00"}, {"read"}),
        ({"amount_to": "0"}, {"doubtful"}),
        ({"amount_from": "100", "currency": "USD"}, set()),
        ({"issued_from": "2026-05-02"}, {"doubtful"}),
        ({"issued_from": "2026-04-01", "issued_to": "2026-04-30"}, {"read"}),
        ({"status": "pending"}, {"waiting"}),
        ({"status": "needs_review"}, {"doubtful"}),
        ({"reason": "fields_missing"}, {"doubtful"}),
        ({"reason": "not_a_document"}, {"note"}),
        ({"profile": "contract_note"}, {"note"}),
        ({"document_type": "credit_note"}, {"doubtful"}),
        ({"status": "completed", "text": "steel", "amount_from": "1"}, {"read"}),
        ({"possible_duplicate": "true"}, set()),
        ({"possible_duplicate": "false", "status": "completed"}, {"read"}),
    ]
    for filters, names in cases:
        assert set(await search(api, **filters)) == {documents[name] for name in names}, filters


async def test_a_filter_that_no_database_can_hold_is_refused(api: httpx.AsyncClient) -> None:
    assert (await api.get("/documents", params={"number": "\x00"})).status_code == 422


async def test_a_filter_whose_name_is_misspelt_is_refused(api: httpx.AsyncClient) -> None:
    for path in ("/documents", "/documents/export"):
        answer = await api.get(path, params={"suplier": "x"})
        assert (answer.status_code, "supplier" in answer.json()["detail"]) == (400, True)


async def test_a_corrected_document_is_found_by_what_it_says_now(
    api: httpx.AsyncClient, documents: dict[str, str]
) -> None:
    answer = await api.post(
        f"/documents/{documents['doubtful']}/review",
        json={"action": "correct", "fields": {"supplier_name": "Zürich Steel"}},
        headers={**as_tenant("acme", "operator"), "If-Match": "1"},
    )
    assert answer.status_code == 200
    assert await search(api, supplier="zurich") == [documents["doubtful"]]
    assert await search(api, supplier="other") == []


async def test_words_are_not_written_again_by_a_change_that_leaves_them_as_they_are(
    site: Ingestion, api: httpx.AsyncClient, documents: dict[str, str]
) -> None:
    place = "select ctid from ingestion.document_words where document_id = $1"  # of another version it is another
    before = await site.pool.fetchval(place, documents["doubtful"])
    headers = {**as_tenant("acme", "operator"), "If-Match": "1"}
    answer = await api.post(f"/documents/{documents['doubtful']}/review", json={"action": "confirm"}, headers=headers)
    assert answer.status_code == 200
    assert await site.pool.fetchval(place, documents["doubtful"]) == before


async def test_an_invoice_in_other_bytes_is_marked_on_both_and_dropped_nowhere(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    # Both are read at the same moment: neither sees the other before it is finished.
    records = [build_record(f"%PDF- {number}".encode(), message=f"m{number}") for number in range(2)]
    for record in records:
        await site.intakes.record_attachment(record)
    leases = [await site.claim_document() for _ in records]
    for lease in leases:
        await site.leases.finish_document(lease, READ)
    await finish_document(site, "another", replace(READ, extraction={**FIELDS, "invoice_number": "8"}))
    await finish_document(site, "theirs", READ, tenant="other", source="source-2")
    first, second = (record.attachment_id for record in records)

    assert set(await search(api, possible_duplicate=True)) == {first, second}
    assert len(await search(api, possible_duplicate=False)) == 1
    for one, other in ((first, second), (second, first)):
        shown = (await api.get(f"/documents/{one}")).json()
        assert (shown["status"], shown["possible_duplicates"]) == ("completed", [other])
    events = await site.pool.fetch("select document from ingestion.document_event order by id")
    assert [event["document"]["possible_duplicates"] for event in events][2:4] == [[], [leases[0].document_id]]


async def test_a_rejected_document_is_nobodys_duplicate(site: Ingestion, api: httpx.AsyncClient) -> None:
    first = await finish_document(site, "first", READ)
    second = await finish_document(site, "second", READ)
    headers = {**as_tenant("acme", "operator"), "If-Match": "1"}
    await api.post(f"/documents/{second}/review", json={"action": "reject"}, headers=headers)
    assert (await api.get(f"/documents/{first}")).json()["possible_duplicates"] == []
    assert await search(api, possible_duplicate=True) == []


async def test_of_three_alike_the_two_that_are_not_rejected_stay_possible_duplicates(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    documents = [await finish_document(site, f"m{number}", READ) for number in range(3)]
    assert await search(api, possible_duplicate=True) == documents[::-1]
    for rejected, left in ((documents[0], documents[:0:-1]), (documents[2], [])):
        headers = {**as_tenant("acme", "operator"), "If-Match": "1"}
        await api.post(f"/documents/{rejected}/review", json={"action": "reject"}, headers=headers)
        assert await search(api, possible_duplicate=True) == left
        assert set(await search(api, possible_duplicate=False)) == set(documents) - set(left)


async def test_an_export_has_all_that_match_page_by_page(
    site: Ingestion, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.api.export._PAGE", 2)
    documents = [
        await finish_document(site, f"m{number}", replace(READ, confidence=number / 10), subject=f"=cmd{number}")
        for number in range(5)
    ]
    await finish_document(site, "skipped", SKIPPED)
    await finish_document(site, "theirs", READ, tenant="other", source="source-2")

    answer = await api.get("/documents/export", params={"status": "completed"})
    rows = list(csv.DictReader(StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    assert [row["id"] for row in rows] == documents[::-1]
    assert {row["subject"] for row in rows} == {f"'=cmd{number}" for number in range(5)}
    lines = (await api.get("/documents/export", params={"format": "jsonl", "status": "completed"})).content.splitlines()
    listed = (await api.get("/documents", params={"status": "completed"})).json()["items"]
    assert [orjson.loads(line) for line in lines] == listed
    nobody = await api.get("/documents/export", headers={"Authorization": "Bearer nobody"})
    assert nobody.status_code == 401


_INDEXES: list[tuple[DocumentFilter, str]] = [
    (DocumentFilter(), "document_by_tenant"),
    (DocumentFilter(number="10000"), "document_by_number"),
    (DocumentFilter(reason="fields_missing"), "document_by_reason"),
    (DocumentFilter(status="pending"), "document_unfinished"),
    (DocumentFilter(status="failed"), "document_by_status"),
    (DocumentFilter(profile="contract_note"), "document_by_profile"),
    (DocumentFilter(document_type="credit_note"), "document_by_type"),
    (DocumentFilter(content_sha256="10000"), "document_by_content"),
    (DocumentFilter(amount_from=Decimal(10000), amount_to=Decimal(10001)), "document_by_amount"),
    (DocumentFilter(issued_from=date(2020, 1, 1), issued_to=date(2020, 1, 9)), "document_by_issue_date"),
    (DocumentFilter(amount_from=Decimal(1), currency="USD"), "document_by_currency"),
    (DocumentFilter(possible_duplicate=True), "shared_document_pkey"),
]
# Of a tenant with many documents hardly any match: how they are spread has to be known, or a page goes through all.
_RARE: list[tuple[DocumentFilter, str]] = [
    (DocumentFilter(amount_from=Decimal(19990)), "document_by_amount"),
    (DocumentFilter(issued_from=date(2054, 9, 20)), "document_by_issue_date"),
]
_MANY = """
    insert into ingestion.document (document_id, tenant_id, doc_source_id, profile, content_sha256, content_type,
                                    size_bytes, blob_key, source_metadata, status, review_reason, document_type,
                                    extraction, duplicate_key, next_attempt_at)
    select n::text, case when n % 50 = 0 then 'acme' else 'other' end, 's' || n % 50, 'invoice', n::text,
           'application/pdf', 1, n::text, '{}', 'completed', case when n % 1000 = 0 then 'fields_missing' end,
           'invoice',
           jsonb_build_object('invoice_number', n::text, 'total_gross', n::text, 'currency', 'EUR',
                              'issue_date', (date '2000-01-01' + n)::text),
           n::text, null
    from generate_series(1, 20000) n
"""
_MANY_WORDS = """
    insert into ingestion.document_words (document_id, seq, words)
    select document_id, seq,
           array_to_tsvector(array['a:' || tenant_id || '/' || document_id, 'a:' || tenant_id || '/invoice'])
    from ingestion.document
"""


async def test_a_page_is_planned_with_its_own_values_however_often_its_like_was_read(postgres_url: str) -> None:
    """A plan for any values would take an amount that nothing reaches for one that a third of the documents reach."""
    await migrate_once(postgres_url, SCHEMA)
    async with open_pool(postgres_url, application_name="test", max_size=1) as pool:
        catalog = PgDocumentCatalog(pool)
        for wanted in (DocumentFilter(amount_from=Decimal(1)), DocumentFilter(text="steel")):
            for _ in range(7):
                await catalog.list_documents("acme", wanted, before=None, limit=10)
        rows = await pool.fetch("select statement, generic_plans from pg_prepared_statements")
        pages = {
            row["statement"]: row["generic_plans"] for row in rows if "from ingestion.document" in row["statement"]
        }
        assert set(pages.values()) == {0}, pages


async def test_each_filter_has_an_index_that_begins_with_the_tenant(pool: asyncpg.Pool) -> None:
    """However many documents there are: each plan reads a page of them, or those that match."""
    async with pool.acquire() as conn, conn.transaction():
        for statement in (
            _MANY,
            _MANY_WORDS,
            "insert into ingestion.shared_document select tenant_id, seq from ingestion.document where seq % 100 = 0",
            "analyze ingestion.document, ingestion.document_words, ingestion.shared_document",
        ):
            await conn.execute(statement)
        await conn.execute("set local enable_seqscan = off")  # so few words are read faster from the table itself
        conditions = build_conditions("acme", DocumentFilter(status="completed"), before=None)
        values = [*conditions.values, "'a:acme/10000'", [10 << 56], NEWEST, 100, 1 << 10]
        plan = "\n".join(row[0] for row in await conn.fetch(f"explain {build_step(conditions)}", *values))
        assert "document_words_by_place" in plan, plan
        assert "Seq Scan" not in plan, plan
        for tenant, wanted, index in [*(("acme", *each) for each in _INDEXES), *(("other", *each) for each in _RARE)]:
            statement, values = build_search(tenant, wanted, before=None, limit=100)
            plan = "\n".join(row[0] for row in await conn.fetch(f"explain {statement}", *values))
            assert index in plan, plan
            assert "Seq Scan" not in plan, plan
