"""`POST /documents/reprocess` on a real database, over real HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, Ingestion

pytestmark = pytest.mark.stack


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, timeout=10) as client,
    ):
        yield client


async def finish_documents(site: Ingestion, count: int) -> list[str]:
    found = []
    for number in range(count):
        record = build_record(f"%PDF- {number}".encode(), message=f"m{number}")
        await site.intakes.record_attachment(record)
        await site.leases.finish_document(await site.claim_document(), DONE)
        found.append(record.attachment_id)
    return found


async def test_pages_of_documents_are_counted_and_then_read_again(site: Ingestion, api: httpx.AsyncClient) -> None:
    documents = await finish_documents(site, 3)
    operator = as_tenant("acme", "operator")
    body = {"replay_id": "r1", "status": "completed", "limit": 2}
    counted = await api.post("/documents/reprocess", json={**body, "dry_run": True}, headers=operator)
    assert (counted.status_code, counted.json()["matching"], counted.json()["requested"]) == (202, 3, 0)
    assert await site.leases.claim_document() is None

    first = (await api.post("/documents/reprocess", json=body, headers=operator)).json()
    rest = (
        await api.post("/documents/reprocess", json={**body, "cursor": first["next_cursor"]}, headers=operator)
    ).json()
    assert (first["requested"], rest["requested"], rest["next_cursor"]) == (2, 1, None)
    assert sorted([(await site.claim_document()).document_id for _ in documents]) == sorted(documents)


async def test_one_document_is_read_again(site: Ingestion, api: httpx.AsyncClient) -> None:
    (document,) = await finish_documents(site, 1)
    answer = await api.post(f"/documents/{document}/reprocess", headers=as_tenant("acme", "operator"))
    assert (answer.status_code, answer.json()["status"]) == (202, "completed")
    assert (await site.claim_document()).document_id == document


@pytest.mark.parametrize("path", ["/documents/reprocess", "/documents/{id}/reprocess"])
async def test_a_viewer_and_another_tenant_read_nothing_again(
    site: Ingestion, api: httpx.AsyncClient, path: str
) -> None:
    (document,) = await finish_documents(site, 1)
    body = {"replay_id": "r1"}
    viewer = await api.post(path.format(id=document), json=body, headers=as_tenant("acme", "viewer"))
    other = await api.post(path.format(id=document), json=body, headers=as_tenant("other", "operator"))
    nobody = await api.post(path.format(id=document), json=body)
    assert (viewer.status_code, other.status_code in (202, 404), nobody.status_code) == (403, True, 401)
    assert await site.leases.claim_document() is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"replay_id": "two words"},
        {"replay_id": "r1", "reason": "because"},
        {"replay_id": "r1", "surprise": 1},
        {"replay_id": "r1", "limit": 501},
        {"replay_id": "r1", "cursor": "none of ours"},
        {"replay_id": "r1", "reader": "\x00"},
    ],
)
async def test_what_is_wrong_is_refused(api: httpx.AsyncClient, wrong: dict[str, object]) -> None:
    answer = await api.post("/documents/reprocess", json=wrong, headers=as_tenant("acme", "operator"))
    assert answer.status_code in (400, 422)
