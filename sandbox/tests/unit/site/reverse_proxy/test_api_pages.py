from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from mailroom_sandbox.site.reverse_proxy.api_pages import APIPages


async def forward(scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """Two services, of which one is away."""
    service = FastAPI(title="Mails")

    @service.get("/mails")
    def list_mails() -> list[str]:
        raise NotImplementedError

    real = httpx.AsyncClient

    def open_client(**_options: object) -> httpx.AsyncClient:
        def answer(request: httpx.Request) -> httpx.Response:
            if request.url.host != "here":
                raise httpx.ConnectError("away")
            return httpx.Response(200, json=service.openapi())

        return real(transport=httpx.MockTransport(answer))

    monkeypatch.setattr(httpx, "AsyncClient", open_client)
    pages = APIPages({"here": "http://here", "away": "http://away"}, forward)
    async with real(transport=httpx.ASGITransport(pages), base_url="http://site:8") as client:
        yield client


async def test_merged_description_leaves_out_a_service_that_is_away(site: httpx.AsyncClient) -> None:
    answer = await site.get("/openapi.json")
    assert list(answer.json()["paths"]) == ["/mails"]


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_page_names_the_address_that_was_typed(site: httpx.AsyncClient, path: str) -> None:
    answer = await site.get(path)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "http://site:8/mails" in answer.text


async def test_everything_else_goes_to_the_services(site: httpx.AsyncClient) -> None:
    assert (await site.get("/mails")).status_code == 418
    assert (await site.post("/docs")).status_code == 418
