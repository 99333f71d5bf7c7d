"""The documents API on a real database, over real HTTP."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from generated_invoices import text_page
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, Ingestion

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.reasons import ReviewReason
from mailroom_common.events import ResultStatus

pytestmark = pytest.mark.stack

FIELDS = {
    "id",
    "doc_source_id",
    "tenant_id",
    "status",
    "skip_reason",
    "review_reason",
    "content_sha256",
    "content_type",
    "size_bytes",
    "source_metadata",
    "document_type",
    "extraction",
    "confidence",
    "reader",
    "version",
    "review",
    "profile",
    "possible_duplicates",
    "trades",
    "created_at",
    "updated_at",
}
NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=as_tenant("acme"), timeout=10) as client,
    ):
        yield client


async def record_documents(site: Ingestion, *numbers: int, **changed: Any) -> list[str]:
    found = []
    for number in numbers:
        record = build_record(f"%PDF- {number}".encode(), message=f"m{number}", **changed)
        await site.intakes.record_attachment(record)
        found.append(record.attachment_id)
    return found


async def test_a_document_has_exactly_the_fields_of_the_design(site: Ingestion, api: httpx.AsyncClient) -> None:
    (document,) = await record_documents(site, 1)
    await site.leases.finish_document(await site.claim_document(), DONE)

    (item,) = (await api.get("/documents")).json()["items"]
    one = (await api.get(f"/documents/{document}")).json()

    assert item.keys() == FIELDS
    assert one.keys() == FIELDS | {"attachments", "evidence"}
    assert (item["id"], item["status"], item["extraction"]) == (document, "completed", {"invoice_number": "1"})
    assert item["created_at"].endswith("Z")
    assert item["source_metadata"].keys() == {
        "provider",
        "message_id",
        "internet_message_id",
        "from",
        "subject",
        "received_at",
        "attachment_filename",
    }


async def test_a_document_says_where_its_values_stand(site: Ingestion, api: httpx.AsyncClient) -> None:
    (document,) = await record_documents(site, 1)
    assert (await api.get(f"/documents/{document}")).json()["evidence"] is None
    box = EvidenceBox("invoice_number", 0, 40.04, 100, 20, 10)
    await site.leases.finish_document(await site.claim_document(), replace(DONE, boxes=(box,)))
    evidence = (await api.get(f"/documents/{document}")).json()["evidence"]
    shown = {"field": "invoice_number", "page": 1, "x": 40.0, "y": 100, "width": 20, "height": 10}
    assert evidence == {"unit": "pt", "origin": "top_left", "boxes": [shown], "pages_not_read": []}

    # A reading that says the same keeps them, one that says something else has its own.
    for outcome, expected in ((DONE, evidence), (replace(DONE, extraction={"invoice_number": "2"}), None)):
        await site.rereads.request_document("acme", document, str(uuid4()))
        await site.leases.finish_document(await site.claim_document(), outcome)
        assert (await api.get(f"/documents/{document}")).json()["evidence"] == expected


async def test_a_document_of_which_pages_were_left_says_which(site: Ingestion, api: httpx.AsyncClient) -> None:
    (document,) = await record_documents(site, 1)
    left = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.PAGES_NOT_READ, pages_not_read=(1, 2))
    await site.leases.finish_document(await site.claim_document(), left)
    assert (await api.get(f"/documents/{document}")).json()["evidence"]["pages_not_read"] == [2, 3]


async def test_a_page_is_drawn_by_a_confined_process_of_the_api(site: Ingestion, api: httpx.AsyncClient) -> None:
    record = build_record(page := text_page("Invoice 7"))
    await site.put_blob(record.blob_key, page)
    await site.intakes.record_attachment(record)
    answer = await api.get(f"/documents/{record.attachment_id}/pages/1", timeout=60)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png"), answer.text
    assert answer.content.startswith(b"\x89PNG")
    theirs = await api.get(f"/documents/{record.attachment_id}/pages/1", headers=as_tenant("other"))
    assert theirs.status_code == 404


async def test_one_document_lists_all_its_attachments(site: Ingestion, api: httpx.AsyncClient) -> None:
    first, second = build_record(message="m1"), build_record(message="m2", filename="again.pdf")
    await site.intakes.record_attachment(first)
    await site.intakes.record_attachment(second)
    attachments = (await api.get(f"/documents/{first.attachment_id}")).json()["attachments"]
    assert [(one["attachment_id"], one["duplicate_of"], one["attachment_filename"]) for one in attachments] == [
        (first.attachment_id, None, "invoice.pdf"),
        (second.attachment_id, first.attachment_id, "again.pdf"),
    ]


async def test_of_an_attachment_that_was_sent_again_and_again_the_first_thousand_are_shown(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    (document,) = await record_documents(site, 1)
    await site.pool.execute(
        "insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id, "
        "part_path, detected_content_type, size_bytes, uploaded_blob_key) "
        "select n::text, document_id, tenant_id, doc_source_id, provider, message_id, part_path, "
        "detected_content_type, size_bytes, uploaded_blob_key from ingestion.intake, generate_series(1, 1500) as n"
    )
    attachments = (await api.get(f"/documents/{document}")).json()["attachments"]
    assert [one["attachment_id"] for one in attachments] == [document, *map(str, range(1, 1000))]


async def test_pages_go_from_the_newest_to_the_oldest_and_repeat_nothing(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    documents = await record_documents(site, *range(5))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await api.get("/documents", params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [item["id"] for item in page["items"]]
        await record_documents(site, 100 + len(seen))  # what comes meanwhile shifts nothing
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == documents[::-1]


async def test_a_page_ends_early_where_its_documents_are_long(site: Ingestion, api: httpx.AsyncClient) -> None:
    recorded = await record_documents(site, 1, 2, 3)
    long = replace(DONE, extraction={"lines": ["x" * 1000] * 3000})
    for _ in recorded:
        await site.leases.finish_document(await site.claim_document(), long)
    found: list[str] = []
    cursor: str | None = None
    while cursor is not None or not found:
        page = (await api.get("/documents", params={"cursor": cursor} if cursor else {})).json()
        assert len(page["items"]) == 1
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert found == recorded[::-1]


async def test_a_cursor_that_is_none_of_ours_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.get("/documents", params={"cursor": "LTE"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


async def test_filters_narrow_the_list(site: Ingestion, api: httpx.AsyncClient) -> None:
    second = str(uuid4())
    await record_documents(site, 1, source=str(uuid4()))
    (other,) = await record_documents(site, 2, source=second)
    await site.leases.finish_document(await site.claim_document(), DONE)

    async def ids(**filters: str) -> list[str]:
        return [item["id"] for item in (await api.get("/documents", params=filters)).json()["items"]]

    sha256 = build_record(b"%PDF- 2").content_sha256
    assert await ids(doc_source_id=second) == [other]
    assert await ids(content_sha256=sha256) == [other]
    assert len(await ids(status="completed")) == 1
    assert await ids(status="failed") == []
    assert (await api.get("/documents", params={"status": "lost"})).status_code == 422
    assert (await api.get("/documents", params={"limit": 0})).status_code == 422


async def test_content_is_a_download_that_no_browser_looks_into(site: Ingestion, api: httpx.AsyncClient) -> None:
    content = b"%PDF-1.7 <script>alert(1)</script>"
    record = build_record(content, filename="Rechnung \u201cMärz\u201d\r\nX: y.html")
    await site.put_blob(record.blob_key, content)
    await site.intakes.record_attachment(record)
    answer = await api.get(f"/documents/{record.attachment_id}/content")
    assert answer.content == content
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["cache-control"] == "private, no-store"
    assert answer.headers["content-disposition"].startswith("attachment; filename=\"document.pdf\"; filename*=UTF-8''")
    assert answer.headers["content-disposition"].endswith(".pdf")
    assert answer.headers["content-length"] == str(len(content))


async def test_a_type_that_is_not_on_the_list_is_plain_bytes(site: Ingestion, api: httpx.AsyncClient) -> None:
    record = build_record(b"<html>", content_type="text/html")
    await site.put_blob(record.blob_key, b"<html>")
    await site.intakes.record_attachment(record)
    answer = await api.get(f"/documents/{record.attachment_id}/content")
    assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("left", [None, b"%PDF-1.7 of one size."], ids=["gone", "damaged"])
async def test_content_is_that_of_any_copy_that_is_left(
    site: Ingestion, api: httpx.AsyncClient, left: bytes | None
) -> None:
    content = b"%PDF-1.7 in two mails"
    first, second = (build_record(content, message=message) for message in ("first", "second"))
    for record in (first, second):
        await site.intakes.record_attachment(record)
    if left is not None:
        await site.put_blob(first.blob_key, left)
    await site.put_blob(second.blob_key, content)
    answer = await api.get(f"/documents/{first.attachment_id}/content")
    assert (answer.status_code, answer.content) == (200, content)
    lease = await site.claim_document()
    assert await site.leases.list_copies(lease) == [second.blob_key]


@pytest.mark.parametrize("left", [None, b"damaged"])
async def test_content_that_is_gone_is_not_found(site: Ingestion, api: httpx.AsyncClient, left: bytes | None) -> None:
    (document,) = await record_documents(site, 1)
    if left is not None:
        await site.put_blob((await site.document(document))["blob_key"], left)
    assert (await api.get(f"/documents/{document}/content")).status_code == 404


@pytest.mark.parametrize(
    "path", ["/documents", f"/documents/{NOWHERE}", f"/documents/{NOWHERE}/content", "/documents/events"]
)
async def test_without_a_key_nothing_is_shown(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.get(path, headers={"Authorization": "Bearer nobody"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert json.loads(answer.content)["status"] == 401


async def test_a_tenant_sees_nothing_of_another(site: Ingestion, api: httpx.AsyncClient) -> None:
    record = build_record(b"%PDF- secret", tenant="acme")
    await site.put_blob(record.blob_key, b"%PDF- secret")
    await site.intakes.record_attachment(record)
    for path in (f"/documents/{record.attachment_id}", f"/documents/{record.attachment_id}/content"):
        assert (await api.get(path)).status_code == 200
        assert (await api.get(path, headers=as_tenant("other"))).status_code == 404
    assert (await api.get("/documents", headers=as_tenant("other"))).json() == {"items": [], "next_cursor": None}
    by_hash = await api.get("/documents", params={"content_sha256": record.content_sha256}, headers=as_tenant("other"))
    assert by_hash.json()["items"] == []


async def test_what_is_not_there_is_a_problem_document(api: httpx.AsyncClient) -> None:
    answer = await api.get(f"/documents/{NOWHERE}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
