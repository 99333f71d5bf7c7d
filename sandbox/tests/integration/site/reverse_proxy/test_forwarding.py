import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from mailroom_sandbox.site.reverse_proxy.forwarding import ReverseProxy
from mailroom_sandbox.site.reverse_proxy.listener import listen_on_port
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.ports import free_port


class Service:
    """A server that keeps the bytes it is sent and answers with the bytes it is told."""

    def __init__(self) -> None:
        self.received = b""
        self.answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]
        self.go_on = asyncio.Event()
        self.client_left = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.client_left.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.received = head + await reader.readexactly(_length(head))
        for number, piece in enumerate(self.answer):
            if number:
                await self.go_on.wait()
            if piece == BREAK_OFF:
                raise ConnectionAbortedError
            writer.write(piece)
            await writer.drain()


BREAK_OFF = b""


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)


class Site(NamedTuple):
    service: Service
    http: httpx.AsyncClient
    https: httpx.AsyncClient
    port: int


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ca.load_or_create_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def site(certificates: Certificates) -> AsyncIterator[Site]:
    service = Service()
    async with running(service, certificates) as site:
        yield site


@asynccontextmanager
async def running(service: Service, certificates: Certificates) -> AsyncIterator[Site]:
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    port = free_port()
    proxy = ReverseProxy({"/documents": service.url, "/webhooks": f"http://127.0.0.1:{free_port()}"})
    trusted = certificates.client_context()
    async with (
        listen_on_port(proxy, port=port, tls=certificates.build_server_ssl_context()),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
        httpx.AsyncClient(base_url=f"https://localhost:{port}", verify=trusted, trust_env=False) as https,
    ):
        yield Site(service, http, https, port)
    await proxy.close()
    server.close()


async def test_one_port_speaks_http_and_https(site: Site) -> None:
    assert (await site.http.get("/documents")).text == "ok"
    assert b"x-forwarded-proto: http\r\n" in site.service.received
    assert (await site.https.get("/documents")).text == "ok"
    assert b"x-forwarded-proto: https\r\n" in site.service.received


async def test_request_arrives_as_it_was_sent(site: Site) -> None:
    """Escapes of the target, order and repetition of headers, and every byte of the body."""
    body = bytes(range(256)) * 300
    target = b"/documents/a%2Fb;c=%7e?x=%41+b&y=%c3%A9//"
    headers = f"Host: mail.example\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: {len(body)}"
    head = b"POST " + target + b" HTTP/1.1\r\n" + headers.encode() + b"\r\n\r\n"
    answer = await _raw(site.port, head + body)
    assert answer.endswith(b"ok")
    sent_head, _, sent_body = site.service.received.partition(b"\r\n\r\n")
    assert sent_body == body
    assert sent_head.startswith(b"POST " + target + b" HTTP/1.1\r\n")
    assert b"x-twice: 1\r\nx-twice: 2\r\n" in sent_head.lower() + b"\r\n"
    assert b"host: mail.example" in sent_head.lower()


async def test_spaces_around_a_header_are_no_part_of_it(site: Site) -> None:
    head = b"GET /documents HTTP/1.1\r\nHost: mail.example\r\nAuthorization: Bearer \r\nX-Key:  key \t\r\n\r\n"
    assert (await _raw(site.port, head)).endswith(b"ok")
    assert b"authorization: bearer\r\nx-key: key\r\n" in site.service.received.lower()


async def test_answer_arrives_as_it_was_sent(site: Site) -> None:
    headers = (
        b"WWW-Authenticate: Bearer\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\nContent-Length: 4"
    )
    site.service.answer = [b"HTTP/1.1 401 Unauthorized\r\n" + headers + b"\r\n\r\n\x1f\x8b\x00\x01"]
    answer = await _raw(site.port, b"GET /documents HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.lower().count(b"set-cookie") == 2
    assert answer.endswith(b"\r\n\r\n\x1f\x8b\x00\x01"), "nothing is unpacked on the way"


async def test_client_cannot_forge_where_it_comes_from(site: Site) -> None:
    await site.http.get("/documents", headers={"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"})
    assert b"203.0.113.9" not in site.service.received
    assert b"x-forwarded-for: 127.0.0.1\r\n" in site.service.received


async def test_hop_by_hop_headers_end_here(site: Site) -> None:
    site.service.answer = [b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok"]
    answer = await site.http.get("/documents", headers={"Connection": "x-private", "X-Private": "1", "TE": "trailers"})
    assert b"x-private" not in site.service.received.lower()
    assert b"\r\nte:" not in site.service.received.lower()
    assert "keep-alive" not in answer.headers


async def test_event_stream_passes_piece_by_piece(site: Site) -> None:
    first, second = b"id: 1\ndata: {}\n\n", b"id: 2\ndata: {}\n\n"
    site.service.answer = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + first, second, BREAK_OFF]
    async with site.https.stream("GET", "/documents/events") as stream:
        pieces = stream.aiter_raw()
        assert await anext(pieces) == first, "the first event must not wait for the second"
        site.service.go_on.set()
        assert await anext(pieces) == second


async def test_client_that_leaves_ends_the_stream_at_the_service(site: Site) -> None:
    site.service.answer = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"]
    async with site.http.stream("GET", "/documents/events") as stream:
        assert await anext(stream.aiter_raw()) == b"data: 1\n\n"
    async with asyncio.timeout(5):
        await site.service.client_left.wait()


async def test_broken_answer_does_not_look_whole(site: Site) -> None:
    site.service.answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", BREAK_OFF]
    site.service.go_on.set()
    with pytest.raises(httpx.RemoteProtocolError):
        await site.http.get("/documents")


async def test_service_that_is_down_is_a_503_to_come_back_from(site: Site) -> None:
    answer = await site.http.post("/webhooks/outlook", content=b"{}")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"


async def test_service_that_breaks_off_is_a_502(site: Site) -> None:
    site.service.answer = [BREAK_OFF]
    answer = await site.http.get("/documents")
    assert answer.status_code == 502
    assert answer.json()["status"] == 502


@pytest.mark.parametrize("path", ["/", "/documentsx", "/metrics", "/livez"])
async def test_only_the_routes_of_the_ingress_are_there(site: Site, path: str) -> None:
    assert (await site.http.get(path)).status_code == 404


async def test_broken_and_silent_connections_harm_nobody(site: Site) -> None:
    for opening in (b"\x16\x03\x01rubbish", b"\x16", b"", b"\xff\xfe\r\n\r\n"):
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(opening)
        await writer.drain()
        writer.close()
    silent = socket.create_connection(("127.0.0.1", site.port))
    assert (await site.https.get("/documents")).text == "ok"
    silent.close()


async def test_certificate_is_of_the_sandboxs_authority_only(site: Site) -> None:
    async with httpx.AsyncClient(verify=ssl.create_default_context(), trust_env=False) as stranger:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await stranger.get(f"https://127.0.0.1:{site.port}/documents")


def test_authority_is_kept(tmp_path: Path) -> None:
    assert (
        ca.load_or_create_certificates(tmp_path).bundle.read_bytes()
        == ca.load_or_create_certificates(tmp_path).bundle.read_bytes()
    )


async def _raw(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = await reader.readuntil(b"\r\n\r\n")
    answer += await reader.readexactly(_length(answer))
    writer.close()
    return answer
