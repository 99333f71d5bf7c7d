import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import asyncpg
import httpx
import pytest
from fastapi import FastAPI, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime
from structlog.testing import capture_logs

from mailroom_common import http_limits
from mailroom_common.errors import Fatal, Throttled
from mailroom_common.postgres import INVALID_VALUE_ERRORS
from mailroom_common.process import Process
from mailroom_common.settings import ProcessSettings
from mailroom_common.web import HTTPProblem, ListPage, build_service_app, serve_app, serve_service_app

FLOOD_ENDED = asyncio.Event()


class Lane(StrEnum):
    NEW = "new"
    REPLAY = "replay"


_SENDER = r"^([^@\s<>,]+@[^@\s<>,]+|@?[^@\s<>,.]+(\.[^@\s<>,.]+)+)$"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _app(process: Process) -> FastAPI:
    app = build_service_app(process, title="test", invalid_value_errors=INVALID_VALUE_ERRORS)

    @app.get("/problem")
    async def problem() -> None:
        raise HTTPProblem(409, "Already there", "Say it once.", doc_source_id="d")

    @app.get("/throttled")
    async def throttled() -> None:
        raise Throttled("provider", retry_after_s=7)

    @app.get("/broken")
    async def broken() -> None:
        raise ValueError("canary-secret")

    @app.get("/impossible")
    async def impossible(kind: str) -> None:
        raise asyncpg.CharacterNotInRepertoireError("canary-secret") if kind == "text" else OverflowError("date")

    @app.get("/things/{thing_id}")
    async def thing(thing_id: UUID) -> ListPage[UUID]:
        return ListPage(items=[thing_id])

    @app.get("/number")
    async def number(n: int) -> ListPage[int]:
        return ListPage(items=[n])

    @app.get("/kinds")
    async def kinds(
        day: date | None = None,
        at: datetime | None = None,
        zoned: AwareDatetime | None = None,
        amount: Decimal | None = None,
        currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
        code: Annotated[str | None, Query(pattern="^[a-z]$")] = None,
        lane: Literal[Lane.NEW, Lane.REPLAY] | None = None,
        sender: Annotated[str | None, Query(pattern=_SENDER)] = None,
    ) -> None: ...

    @app.post("/body")
    async def body(sent: dict[str, str]) -> ListPage[str]:
        return ListPage(items=list(sent))

    @app.get("/flood")
    async def flood() -> StreamingResponse:
        async def endless() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)  # what is sent to a lost connection does not wait
            finally:
                FLOOD_ENDED.set()

        return StreamingResponse(endless())

    @app.get("/slow")
    async def slow() -> ListPage[int]:
        await asyncio.sleep(0.3)
        return ListPage(items=[])

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


async def test_of_a_body_that_is_no_json_no_place_in_it_is_named_as_a_field(client: httpx.AsyncClient) -> None:
    answer = await client.post("/body", content=b"{bad", headers={"content-type": "application/json"})
    assert answer.json()["errors"][0]["loc"] == ["body"]


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
    process.health.add_readiness("directory", lambda: waiting[0] if waiting else None)
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["reasons"]) == (503, {"directory": "still reading"})
    assert (await client.get("/livez")).status_code == 200
    waiting.clear()
    assert (await client.get("/readyz")).status_code == 200
    process.health.add_liveness("loop", lambda: "stuck")
    assert (await client.get("/livez")).status_code == 503
    process.stopping.set()
    assert (await client.get("/readyz")).json()["reasons"] == {"process": "stopping"}


async def test_readiness_shows_details_whether_ready_or_not(client: httpx.AsyncClient, process: Process) -> None:
    assert (await client.get("/readyz")).json() == {"status": "ok"}
    process.health.set_detail("parser", {"seccomp_filter": True})
    assert (await client.get("/readyz")).json() == {"status": "ok", "details": {"parser": {"seccomp_filter": True}}}
    process.stopping.set()
    assert (await client.get("/readyz")).json()["details"] == {"parser": {"seccomp_filter": True}}


async def test_metrics_and_the_description_are_served_and_pages_of_others_are_not(client: httpx.AsyncClient) -> None:
    metrics = (await client.get("/metrics")).text
    assert "python_info" in metrics
    clock = re.search(r"^mailroom_process_clock_timestamp_seconds (\S+)$", metrics, re.MULTILINE)
    assert clock is not None
    assert float(clock[1]) == pytest.approx(time.time(), abs=60)
    for path in ("/docs", "/redoc"):
        assert (await client.get(path)).status_code == 404
    description = (await client.get("/openapi.json")).json()
    responses = description["paths"]["/number"]["get"]["responses"]
    assert responses["4XX"]["content"].keys() == {"application/problem+json"}
    assert "422" not in responses
    assert description["security"] == [{"key": []}]
    assert "HTTPValidationError" not in description["components"]["schemas"]


async def test_malformed_id_is_400_and_names_the_parameter(client: httpx.AsyncClient) -> None:
    answer = await client.get("/things/canary")
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.json()["detail"] == "thing_id: a UUID is needed."
    assert "canary" not in answer.text


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("day", "27.12.2026", "a date is needed, as 2026-12-27"),
        ("day", "2026-13-45", "a date is needed, as 2026-12-27"),
        ("day", "2026-12-27T09:30:00Z", "a date is needed, as 2026-12-27"),
        ("at", "27.12.2026", "a time is needed, as 2026-12-27T09:30:00Z"),
        ("zoned", "2026-12-27", "a time with its zone is needed, as 2026-12-27T09:30:00Z"),
        ("amount", "1.234,56", "a number is needed, as 1234.56"),
        ("currency", "eur", "a currency is needed, as EUR"),
        ("code", "1", "String should match pattern '^[a-z]$'"),
        ("lane", "old", "Input should be 'new' or 'replay'"),
        ("sender", "@@", "an address or a domain is needed, as billing@supplier.example or supplier.example"),
    ],
)
async def test_a_mistake_says_what_is_wanted(client: httpx.AsyncClient, name: str, value: str, wanted: str) -> None:
    answer = await client.get("/kinds", params={name: value})
    assert answer.json()["errors"] == [{"loc": ["query", name], "msg": wanted}]


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
    assert answer.json()["detail"] == "This call takes 262,144 bytes at most."
    assert (await client.post("/body", json={"a": "x" * 1000})).json()["items"] == ["a"]


@pytest.mark.parametrize(
    ("path", "status"), [("/things/7/body", 200), ("/things/7/8/body", 413), ("/things/body", 413), ("/body", 413)]
)
async def test_a_call_that_takes_more_is_named_by_its_path_with_any_id(
    process: Process, path: str, status: int
) -> None:
    app = build_service_app(process, title="test", body_limits={("POST", "/things/{}/body"): 1_000_000})

    @app.post("/{anything:path}")
    async def take_body(body: dict[str, str]) -> int:
        return len(body)

    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.post(path, json={"a": "x" * 500_000})).status_code == status
        assert (await client.post(path, json={"a": "x" * 1_000_000})).status_code == 413


async def test_failed_request_does_not_cost_its_client_the_connection(process: Process) -> None:
    port = _free_port()
    with capture_logs() as told:
        serving = asyncio.create_task(serve_app(_app(process), host="127.0.0.1", port=port, stopping=process.stopping))
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


@asynccontextmanager
async def connected(process: Process) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server of the test app, both gone afterwards."""
    port = _free_port()
    serving = asyncio.create_task(serve_app(_app(process), host="127.0.0.1", port=port, stopping=process.stopping))
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=5)) as client:
        await client.get(f"http://127.0.0.1:{port}/livez")  # it listens
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        process.stopping.set()
        await serving


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /livez HTTP/1.1\r\nHost:", id="half a head"),
        pytest.param(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", id="half a body"),
    ],
)
async def test_connection_whose_request_does_not_arrive_is_closed(
    process: Process, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(http_limits, "REQUEST_TIMEOUT_S", 0.2)
    async with connected(process) as (reader, writer):
        writer.write(sent)
        async with asyncio.timeout(30):
            await reader.read()


async def test_request_that_trickles_is_cut_off(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "REQUEST_TIMEOUT_S", 0.5)
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        writer.write(b"GET /livez HTTP/1.1\r\nX: ")
        answer = asyncio.ensure_future(reader.read())
        while not answer.done():
            writer.write(b"x")
            await asyncio.wait({answer}, timeout=0.05)


async def test_a_body_that_keeps_coming_has_the_time_that_it_takes(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "REQUEST_TIMEOUT_S", 0.2)
    monkeypatch.setattr(http_limits, "MIN_BODY_BYTES_PER_S", 0.1)  # each byte is worth ten seconds
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        writer.write(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{")
        answer = asyncio.ensure_future(reader.readuntil(b"}"))
        await asyncio.wait({answer}, timeout=0.5)  # longer than a request without it may take
        writer.write(b"}")
        assert (await answer).startswith(b"HTTP/1.1 200 ")


async def test_head_without_end_is_refused(process: Process) -> None:
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        # Little more than is taken: what is sent after the answer would meet a reset, and the answer be lost.
        writer.write(b"GET /livez HTTP/1.1\r\nX: " + b"x" * http_limits.MAX_OVERHEAD_BYTES)
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"The head of the request is too large." in answer


async def test_trailer_without_end_is_refused(process: Process) -> None:
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        writer.write(b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: ")
        writer.write(b"x" * http_limits.MAX_OVERHEAD_BYTES)
        assert b"HTTP/1.1 400 " in await reader.read()


async def test_requests_far_ahead_of_their_answers_end_the_connection(process: Process) -> None:
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n" * 10 * http_limits.MAX_PIPELINED)
        answers = await reader.read()
    assert answers.count(b"HTTP/1.1 200 ") == 0
    assert answers.startswith(b"HTTP/1.1 400 ")


async def test_client_that_does_not_read_is_cut_off(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "WRITE_TIMEOUT_S", 0.2)
    async with connected(process) as (_, writer), asyncio.timeout(60):
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of a socket has it
        writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        await FLOOD_ENDED.wait()


async def test_stray_line_end_does_not_cut_off_a_stream(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "REQUEST_TIMEOUT_S", 0.2)
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        writer.write(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b".")
        writer.write(b"\r\n")
        for _ in range(20):  # one comes each 50 ms
            await reader.readuntil(b".")


async def test_bodies_do_not_count_as_heads(process: Process) -> None:
    body = b'{"a": "' + b"x" * 3 * http_limits.MAX_OVERHEAD_BYTES + b'"}'
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        for _ in range(3):
            writer.write(head + body)
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")


async def test_slow_answer_and_a_rest_between_requests_are_nobodys_fault(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "REQUEST_TIMEOUT_S", 0.2)
    async with connected(process) as (reader, writer), asyncio.timeout(30):
        for _ in range(2):
            await asyncio.sleep(0.1)  # less than the limit, and both rests together with the answer are more
            writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")


async def test_stop_cuts_open_streams_in_time(process: Process) -> None:
    port = _free_port()
    serving = asyncio.create_task(serve_app(_app(process), host="127.0.0.1", port=port, stopping=process.stopping))
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


@asynccontextmanager
async def serving_with_health_port() -> AsyncIterator[tuple[Process, str, str]]:
    """A process with both listeners: itself, the API's address and the health port's."""
    process = Process("test", has_health_port=True)
    settings = ProcessSettings(http_port=_free_port(), health_port=_free_port())
    serving = asyncio.create_task(serve_service_app(_app(process), settings, process))
    api, health = (f"http://127.0.0.1:{port}" for port in (settings.http_port, settings.health_port))
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=5)) as client:
        await client.get(f"{api}/number?n=1")
        await client.get(f"{health}/livez")  # both listen
    try:
        yield process, api, health
    finally:
        process.stopping.set()
        await serving


async def test_health_is_on_its_own_port_alone_where_it_has_one() -> None:
    async with serving_with_health_port() as (_, api, health), httpx.AsyncClient() as client:
        for path in ("/livez", "/readyz", "/metrics"):
            assert (await client.get(api + path)).status_code == 404
            assert (await client.get(health + path)).status_code == 200
        assert (await client.get(f"{api}/number?n=1")).status_code == 200
        assert (await client.get(f"{health}/number?n=1")).status_code == 404


async def test_health_is_answered_until_the_last_request_has_its_response() -> None:
    async with serving_with_health_port() as (process, api, health), httpx.AsyncClient() as client:
        in_flight = asyncio.create_task(client.get(f"{api}/slow"))
        await asyncio.sleep(0.1)  # it is being answered, which takes 0.3 s
        process.stopping.set()
        probe = await client.get(f"{health}/readyz")
        assert (probe.status_code, probe.json()["reasons"]) == (503, {"process": "stopping"})
        assert (await in_flight).status_code == 200


async def test_health_is_answered_while_the_process_is_busy_with_something_else() -> None:
    async with serving_with_health_port() as (_, _api, health):

        def probe() -> int:
            return httpx.get(f"{health}/livez", timeout=20).status_code

        with ThreadPoolExecutor(1) as thread:
            asking = thread.submit(probe)
            began = time.monotonic()
            while not asking.done():  # a flood: the loop of the process does not come round
                assert time.monotonic() - began < 20
            assert asking.result() == 200


async def test_address_of_the_health_port_in_use_is_fatal_and_names_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = Process("test", has_health_port=True)
        settings = ProcessSettings(http_port=_free_port(), health_port=taken.getsockname()[1])
        with pytest.raises(Fatal, match="MAILROOM_HEALTH_PORT: cannot listen"):
            await serve_service_app(_app(process), settings, process)


async def test_address_in_use_is_fatal_and_names_the_setting(process: Process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Fatal, match=f"MAILROOM_HTTP_PORT: cannot listen on 127.0.0.1:{port}"):
            await serve_app(_app(process), host="127.0.0.1", port=port, stopping=process.stopping)
