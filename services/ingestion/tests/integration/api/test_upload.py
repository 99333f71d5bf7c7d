"""Uploads on a real database and blob store, over real HTTP."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, Ingestion

from ingestion.adapters.uploads import PgManualUploads, UploadSweeper
from ingestion.domain.upload import MAX_UPLOAD_BYTES
from ingestion.ports.housekeeping import SweptBlob
from mailroom_common.errors import Unavailable

pytestmark = pytest.mark.stack

CONTENT = b"%PDF-1.7 " + b"x" * 300_000  # more than any other body may have


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    await site.pool.execute("delete from ingestion.upload")
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=as_tenant("acme", "operator"), timeout=10) as client,
    ):
        yield client


async def test_an_upload_goes_the_way_of_an_attachment(site: Ingestion, api: httpx.AsyncClient) -> None:
    answer = await api.post("/documents", params={"filename": "scan.pdf"}, content=CONTENT)
    assert answer.status_code == 201, answer.text
    document = answer.json()
    assert answer.headers["location"] == f"/documents/{document['id']}"
    assert (document["status"], document["profile"], document["size_bytes"]) == ("pending", "invoice", len(CONTENT))
    assert document["source_metadata"]["provider"] == "manual_upload"
    assert (await api.get(f"/documents/{document['id']}/content")).content == CONTENT

    lease = await site.claim_document()
    assert (lease.document_id, lease.first_attachment.provider) == (document["id"], "manual_upload")
    await site.leases.finish_document(lease, DONE)
    assert [result.document_id for result in await site.results()] == [document["id"]]
    assert await site.pool.fetchval("select count(*) from ingestion.upload") == 0


async def test_a_form_with_a_file_is_an_upload_too(api: httpx.AsyncClient) -> None:
    answer = await api.post("/documents", files={"file": ("scan.pdf", CONTENT, "application/pdf")})
    document = answer.json()
    assert answer.status_code == 201, answer.text
    assert document["source_metadata"]["attachment_filename"] == "scan.pdf"
    assert (await api.get(f"/documents/{document['id']}/content")).content == CONTENT
    assert (await api.post("/documents", data={"a": "b"}, files={"f": ("a.txt", b"text")})).status_code == 415
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    assert (await api.post("/documents", content=CONTENT, headers=broken)).status_code == 400


async def test_a_form_with_two_files_stores_neither(api: httpx.AsyncClient) -> None:
    files = [("file", (name, CONTENT + name.encode(), "application/pdf")) for name in ("a.pdf", "b.pdf")]
    answer = await api.post("/documents", files=files)
    assert (answer.status_code, "send each by a call of its own" in answer.json()["detail"]) == (400, True)
    assert (await api.get("/documents")).json()["items"] == []


async def test_the_same_file_is_one_document_and_its_second_blob_goes(
    site: Ingestion, api: httpx.AsyncClient, tmp_path: Path
) -> None:
    first, second = [(await api.post("/documents", content=CONTENT)).json() for _ in range(2)]
    assert second["id"] == first["id"]
    assert [one["duplicate_of"] for one in second["attachments"]] == [None, first["id"]]
    assert len([path for path in (tmp_path / "blobs" / "documents").iterdir() if path.is_file()]) == 1


async def test_another_tenant_or_profile_has_a_document_of_its_own(api: httpx.AsyncClient) -> None:
    mine = (await api.post("/documents", content=CONTENT)).json()
    theirs = (await api.post("/documents", content=CONTENT, headers=as_tenant("other", "operator"))).json()
    note = (await api.post("/documents", params={"profile": "contract_note"}, content=CONTENT)).json()
    assert len({mine["id"], theirs["id"], note["id"]}) == 3
    assert (await api.get(f"/documents/{mine['id']}", headers=as_tenant("other"))).status_code == 404


@pytest.mark.parametrize(
    ("query", "content", "status"),
    [
        ({}, b"<html>", 415),
        ({}, b"", 415),
        ({}, b"%PDF-" + bytes(MAX_UPLOAD_BYTES), 413),
        ({"profile": "observation"}, b"%PDF-", 422),
        ({"filename": ""}, b"%PDF-", 422),
        ({"name": "x"}, b"%PDF-", 400),
    ],
)
async def test_what_cannot_be_a_document_is_refused(
    site: Ingestion, api: httpx.AsyncClient, query: dict[str, str], content: bytes, status: int
) -> None:
    answer = await api.post("/documents", params=query, content=content)
    assert answer.status_code == status
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 0


async def test_a_body_of_unknown_length_is_limited_as_it_comes(
    site: Ingestion, api: httpx.AsyncClient, tmp_path: Path
) -> None:
    async def send() -> AsyncIterator[bytes]:
        yield b"%PDF-"
        for _ in range(26):
            yield bytes(1024 * 1024)

    answer = await api.post("/documents", content=send())
    assert answer.status_code == 413
    assert not [path for path in (tmp_path / "blobs").rglob("*.pdf") if path.is_file()]


async def test_a_viewer_uploads_nothing(site: Ingestion, api: httpx.AsyncClient) -> None:
    assert (await api.post("/documents", content=CONTENT, headers=as_tenant("acme"))).status_code == 403
    assert await site.pool.fetchval("select count(*) from ingestion.document") == 0


async def test_the_blob_of_an_upload_that_was_cut_off_is_swept_and_a_recorded_one_is_not(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    recorded = (await api.post("/documents", content=CONTENT)).json()["id"]
    kept = (await site.document(recorded))["blob_key"]
    uploads = PgManualUploads(site.pool)
    await site.put_blob("documents/lost.pdf", CONTENT)
    await uploads.record_upload_start("lost", "documents/lost.pdf")
    await uploads.record_upload_start(recorded, kept)  # as a crash after the record leaves it
    assert await UploadSweeper(site.pool, site.blobs).sweep_blob() is None

    sweeper = UploadSweeper(site.pool, site.blobs, max_duration=timedelta(0))
    swept = [await sweeper.sweep_blob() for _ in range(3)]
    assert swept == [SweptBlob.DELETED, SweptBlob.KEPT, None]
    assert (await site.blobs.has_blob("documents/lost.pdf"), await site.blobs.has_blob(kept)) == (False, True)


async def test_an_upload_whose_blob_cannot_be_deleted_holds_up_no_other_and_is_tried_again_a_day_later(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads, delete = PgManualUploads(site.pool), site.blobs.delete_blob
    for name in ("1-stuck", "2-other"):
        await site.put_blob(f"documents/{name}.pdf", CONTENT)
        await uploads.record_upload_start(name, f"documents/{name}.pdf")
    old = "update ingestion.upload set {} = now() - interval '25 hours' where blob_key like 'documents/_-%'"
    await site.pool.execute(old.format("started_at"))

    async def refuse(key: str) -> None:
        if "stuck" in key:
            raise Unavailable("S3 answered AccessDenied")
        await delete(key)

    monkeypatch.setattr(site.blobs, "delete_blob", refuse)
    sweeper = UploadSweeper(site.pool, site.blobs)
    assert await sweeper.count_undeleted() == 0, "the store was not asked yet"
    assert {await sweeper.sweep_blob() for _ in range(2)} == {SweptBlob.POSTPONED, SweptBlob.DELETED}
    assert await sweeper.count_undeleted() == 1
    monkeypatch.setattr(site.blobs, "delete_blob", delete)
    assert await sweeper.sweep_blob() is None
    await site.pool.execute(old.format("delete_failed_at"))
    assert (await sweeper.sweep_blob(), await sweeper.count_undeleted()) == (SweptBlob.DELETED, 0)
