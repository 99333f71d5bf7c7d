import asyncio
import socket
import time
from collections.abc import AsyncIterator

import asyncpg
import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from structlog.testing import capture_logs

from mailroom_common.errors import Fatal, Throttled
from mailroom_common.process import Process
from mailroom_common.web import Page, Problem, serve, service_app


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _app(process: Process) -> FastAPI:
    app = service_app(process, title="test")

    @app.get("/problem")
    async def problem() -> None:
        raise Problem(409, "Already there", "Say it once.", doc_source_id="d")

    @app.get("/throttled")
    async def throttled() -> None:
        raise Throttled("provider", retry_after_s=7)

    @app.get("/broken")
    async def broken() -> None:
        raise ValueError("canary-secret")

    @app.get("/impossible")
    async def impossible(kind: str) -> None:
        raise asyncpg.CharacterNotInRepertoireError("canary-secret") if kind == "text" else OverflowError("date")

    @app.get("/number")
    async def number(n: int) -> Page[int]:
        return Page(items=[n])

    @app.post("/body")
    async def body(sent: dict[str, str]) -> Page[str]:
        return Page(items=list(sent))

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield b"."
                await asyncio.sleep(0.05)

        return StreamingResponse(endless())

    return app


@pytest.fixture
def process() -> Process:
    return Process("test")


@pytest.fixture
async def client(process: Process) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(_app(process), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        yield client


async def test_problem_has_its_members(client: httpx.AsyncClient) -> None:
    answer = await client.get("/problem")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Already there",
        "status": 409,
        "detail": "Say it once.",
        "doc_source_id": "d",
    }


async def test_every_error_is_a_problem_document(client: httpx.AsyncClient) -> None:
    for path, status in (("/nowhere", 404), ("/number?n=x", 422), ("/broken", 500), ("/throttled", 503)):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await client.post("/problem")).json()["status"] == 405


async def test_validation_names_the_place_and_never_the_input(client: httpx.AsyncClient) -> None:
    answer = await client.get("/number?n=canary-secret")
    assert answer.json()["errors"][0]["loc"] == ["query", "n"]
    assert "canary-secret" not in answer.text


async def test_failure_says_nothing_of_its_cause(client: httpx.AsyncClient) -> None:
    assert "canary-secret" not in (await client.get("/broken")).text


@pytest.mark.parametrize("kind", ["text", "date"])
async def test_value_that_no_database_can_hold_is_the_callers_mistake(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.get("/impossible", params={"kind": kind})
    assert answer.status_code == 422
    assert "canary" not in answer.text


async def test_retryable_names_when_to_come_again(client: httpx.AsyncClient) -> None:
    assert (await client.get("/throttled")).headers["retry-after"] == "7"


async def test_page_has_items_and_next_cursor(client: httpx.AsyncClient) -> None:
    assert (await client.get("/number?n=3")).json() == {"items": [3], "next_cursor": None}


async def test_readiness_follows_its_checks_and_liveness_its_own(client: httpx.AsyncClient, process: Process) -> None:
    waiting: list[str] = ["still reading"]
    process.health.add("directory", lambda: waiting[0] if waiting else None)
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["reasons"]) == (503, {"directory": "still reading"})
    assert (await client.get("/livez")).status_code == 200
    waiting.clear()
    assert (await client.get("/readyz")).status_code == 200
    process.health.add_liveness("loop", lambda: "stuck")
    assert (await client.get("/livez")).status_code == 503
    process.stopping.set()
    assert (await client.get("/readyz")).json()["reasons"] == {"process": "stopping"}


async def test_metrics_are_served_and_api_descriptions_are_not(client: httpx.AsyncClient) -> None:
    assert "python_info" in (await client.get("/metrics")).text
    for path in ("/openapi.json", "/docs", "/redoc"):
        assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize("is_announced", [True, False])
async def test_body_larger_than_any_use_is_refused(client: httpx.AsyncClient, is_announced: bool) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"a": "'
        for _ in range(10):
            yield b"x" * 100_000
        yield b'"}'

    large = b'{"a": "' + b"x" * 1_000_000 + b'"}'
    headers = {"content-type": "application/json"}
    answer = await client.post("/body", content=large if is_announced else chunks(), headers=headers)
    assert (answer.status_code, answer.json()["title"]) == (413, "The body is too large")
    assert (await client.post("/body", json={"a": "x" * 1000})).json()["items"] == ["a"]


async def test_failed_request_does_not_cost_its_client_the_connection(process: Process) -> None:
    port = _free_port()
    with capture_logs() as told:
        serving = asyncio.create_task(serve(_app(process), host="127.0.0.1", port=port, stopping=process.stopping))
        # One connection and no second try: what comes after the failure has to come over the same one.
        once = httpx.AsyncHTTPTransport(retries=5, limits=httpx.Limits(max_connections=1))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", transport=once) as client:
            broken = await client.get("/broken")
            again = await client.get("/number?n=1")
            process.stopping.set()
            await serving
    assert (broken.status_code, again.status_code) == (500, 200)
    assert broken.extensions["network_stream"] is again.extensions["network_stream"]
    assert [line["path"] for line in told if line["event"] == "request_failed"] == ["/broken"]


async def test_stop_cuts_open_streams_in_time(process: Process) -> None:
    port = _free_port()
    serving = asyncio.create_task(serve(_app(process), host="127.0.0.1", port=port, stopping=process.stopping))
    transport = httpx.AsyncHTTPTransport(retries=5)  # of connecting, until the server listens
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", transport=transport) as client,
        client.stream("GET", "/stream") as streamed,
    ):
        assert await anext(streamed.aiter_bytes())
        process.stopping.set()
        began = time.monotonic()
        await serving
        assert time.monotonic() - began < 6


async def test_address_in_use_is_fatal_and_names_the_setting(process: Process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Fatal, match=f"MAILROOM_HTTP_PORT: cannot listen on 127.0.0.1:{port}"):
            await serve(_app(process), host="127.0.0.1", port=port, stopping=process.stopping)
