"""`GET /documents/{id}/pages/{n}` without a database or a parser process."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from ingestion_fakes import PDF, FakeBlobs

from ingestion.api.page_images import build_page_images_router
from ingestion.domain.evidence import PageImage
from ingestion.ports.documents import StoredContent
from mailroom_common.auth import APIKeys
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserUnconfined, UnreadableFile
from mailroom_common.process import Process
from mailroom_common.web import build_service_app

ID = "6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10"
KEYS = APIKeys.parse_keys(f"acme:viewer:{sha256(b'k').hexdigest()},other:viewer:{sha256(b'o').hexdigest()}")


class FakeCatalog:
    def __init__(self, **changed: Any) -> None:
        usual: dict[str, Any] = {
            "content_type": "application/pdf",
            "content_sha256": sha256(PDF).hexdigest(),
            "size_bytes": len(PDF),
            "blob_key": "documents/1.pdf",
            "copy_keys": ["documents/2.pdf"],
            "filename": None,
        }
        self._content = StoredContent(**{**usual, **changed})

    async def find_content(self, tenant_id: str, document_id: str) -> StoredContent | None:
        return self._content if (tenant_id, document_id) == ("acme", ID) else None


class FakePages:
    """Draws one page; an exception in its place is raised."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self._trouble = trouble
        self.asked: list[tuple[str, bytes, int]] = []

    async def draw_page(self, tenant_id: str, file: Path, page: int) -> PageImage | None:
        self.asked.append((tenant_id, await asyncio.to_thread(file.read_bytes), page))
        if self._trouble is not None:
            raise self._trouble
        return PageImage(b"\x89PNG", 1.5) if page == 0 else None


Client = Callable[..., httpx.AsyncClient]


@pytest.fixture
def blobs(tmp_path: Path) -> FakeBlobs:
    return FakeBlobs(tmp_path, {"documents/1.pdf": PDF})


@pytest.fixture
def client(blobs: FakeBlobs) -> Client:
    def make(pages: FakePages, **content: Any) -> httpx.AsyncClient:
        catalog: Any = FakeCatalog(**content)
        app: FastAPI = build_service_app(Process("test"), title="test")
        app.include_router(build_page_images_router(catalog, blobs, pages, KEYS))
        transport = httpx.ASGITransport(app)
        return httpx.AsyncClient(transport=transport, base_url="http://api", headers={"Authorization": "Bearer k"})

    return make


async def test_a_page_is_a_png_that_boxes_fit_on(client: Client) -> None:
    pages = FakePages()
    answer = await client(pages).get(f"/documents/{ID}/pages/1")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"\x89PNG", "image/png")
    assert answer.headers["mailroom-pixels-per-point"] == "1.5"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert pages.asked == [("acme", PDF, 0)]


async def test_whoever_has_the_page_already_has_it_drawn_no_second_time(client: Client) -> None:
    pages = FakePages()
    api = client(pages)
    tag = (await api.get(f"/documents/{ID}/pages/1")).headers["etag"]
    again = await api.get(f"/documents/{ID}/pages/1", headers={"If-None-Match": tag})
    other = await api.get(f"/documents/{ID}/pages/2", headers={"If-None-Match": tag})
    assert (again.status_code, other.status_code, len(pages.asked)) == (304, 404, 2)


async def test_another_tenant_finds_no_page_also_with_its_tag(client: Client) -> None:
    pages = FakePages()
    api = client(pages)
    headers = {
        "Authorization": "Bearer o",
        "If-None-Match": (await api.get(f"/documents/{ID}/pages/1")).headers["etag"],
    }
    assert (await api.get(f"/documents/{ID}/pages/1", headers=headers)).status_code == 404
    assert (await api.get(f"/documents/{ID}/pages/1", headers={"Authorization": ""})).status_code == 401
    assert len(pages.asked) == 1


async def test_of_a_damaged_blob_no_page_is_shown_and_a_copy_is_drawn_instead(client: Client, blobs: FakeBlobs) -> None:
    pages = FakePages()
    blobs.blobs["documents/1.pdf"] = b"%PDF damaged"
    assert (await client(pages).get(f"/documents/{ID}/pages/1")).status_code == 404
    blobs.blobs["documents/2.pdf"] = PDF
    assert (await client(pages).get(f"/documents/{ID}/pages/1")).status_code == 200
    assert pages.asked == [("acme", PDF, 0)]


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (UnreadableFile("password_required"), 409),
        (ParserLimitReached("memory"), 409),
        (ParserCrashed("died"), 409),
        (ParserUnconfined([]), 501),
    ],
)
async def test_a_page_that_cannot_be_drawn_says_why(client: Client, trouble: Exception, status: int) -> None:
    answer = await client(FakePages(trouble)).get(f"/documents/{ID}/pages/1")
    assert (answer.status_code, answer.json()["status"]) == (status, status)


async def test_a_container_has_no_pages_and_neither_has_page_nought(client: Client) -> None:
    pages = FakePages()
    assert (await client(pages, content_type="message/rfc822").get(f"/documents/{ID}/pages/1")).status_code == 409
    assert (await client(pages).get(f"/documents/{ID}/pages/0")).status_code == 422
    assert pages.asked == []
