"""Passes a request on to the service its path belongs to, bytes and order kept, streaming both ways."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping

import httpx
from starlette.types import Message, Receive, Scope, Send

# RFC 9110 7.6.1: these speak of one connection, not of the message.
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
# This proxy is the edge: what a client claims about its own address is not passed on.
_FORWARDED = frozenset(
    (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-port", b"x-forwarded-proto")
)
_CONNECT_TIMEOUT_S = 2.0
# Shorter than the five seconds after which the services' server closes an idle connection, so that no request is
# sent into a connection that is just being closed.
_KEEP_ALIVE_S = 2.0

Header = tuple[bytes, bytes]


class ReverseProxy:
    """An ASGI application. `routes` maps a path prefix to the base URL of a service."""

    def __init__(self, routes: Mapping[str, str]) -> None:
        self._routes = sorted(routes.items(), key=lambda route: -len(route[0]))
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=_KEEP_ALIVE_S),
                trust_env=False,
            ),
            # How long an answer may take is between client and service; an event stream takes for ever.
            timeout=httpx.Timeout(None, connect=_CONNECT_TIMEOUT_S),
            trust_env=False,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the reverse proxy takes no {scope['type']} connections")
        base = self._find_service(scope["path"])
        if base is None:
            await _send_problem(send, 404, "Not found", f"no service answers {scope['path']}")
            return
        body = _RequestBody(scope, receive)
        answering = asyncio.create_task(self._forward_request(_build_request(scope, base, body), send))
        leaving = asyncio.create_task(body.client_left())
        try:
            # Whoever leaves ends the request at the service too: else each closed event stream would stay open there.
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
            outcome, _ = await asyncio.gather(answering, leaving, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome  # an answer that broke off in the middle must not look whole: the server cuts the connection

    def _find_service(self, path: str) -> str | None:
        for prefix, base in self._routes:
            if path == prefix or path.startswith(f"{prefix}/"):
                return base
        return None

    async def _forward_request(self, request: httpx.Request, send: Send) -> None:
        try:
            answer = await self._client.send(request, stream=True)
        except httpx.ConnectError:
            await _send_problem(
                send, 503, "Service unavailable", "the service behind this path is not running", retry_after_s=1
            )
            return
        except httpx.TransportError as error:
            await _send_problem(
                send, 502, "Bad gateway", f"the service behind this path broke off ({type(error).__name__})"
            )
            return
        try:
            headers = _filter_headers(answer.headers.raw, dropped=_HOP_BY_HOP)
            await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
            async for chunk in answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()


class _RequestBody:
    """The body as it arrives, and afterwards the news that the client has gone."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._is_done = asyncio.Event()  # with the body: read, or given up
        self._is_gone = False
        names = {name for name, _ in scope["headers"]}
        self.is_present = b"content-length" in names or b"transfer-encoding" in names

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message: Message = await self._receive()
            if message["type"] == "http.disconnect":
                self._is_gone = True
                self._is_done.set()
                raise httpx.ReadError("the client left before its request was whole")
            yield message.get("body", b"")
            if not message.get("more_body", False):
                self._is_done.set()
                return

    async def client_left(self) -> None:
        if self.is_present:
            await self._is_done.wait()
        while not self._is_gone:
            self._is_gone = (await self._receive())["type"] == "http.disconnect"


def _build_request(scope: Scope, base: str, body: _RequestBody) -> httpx.Request:
    headers = _filter_headers(scope["headers"], dropped=_HOP_BY_HOP | _FORWARDED)
    client = scope["client"][0] if scope.get("client") else "unknown"
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    headers += [
        (b"x-forwarded-for", client.encode()),
        (b"x-forwarded-host", host),
        (b"x-forwarded-port", str(scope["server"][1]).encode()),
        (b"x-forwarded-proto", scope["scheme"].encode()),
    ]
    target: bytes = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    return httpx.Request(
        scope["method"],
        base,
        headers=headers,
        content=body if body.is_present else None,
        # The target as it came: a URL object would tidy its escapes.
        extensions={"target": target},
    )


def _filter_headers(headers: Iterable[Header], *, dropped: frozenset[bytes]) -> list[Header]:
    """Without the hop-by-hop ones, those that `Connection` names included. Spaces around a value are no part of it."""
    headers = list(headers)
    named = {
        token.strip().lower() for name, value in headers if name.lower() == b"connection" for token in value.split(b",")
    }
    return [(name, value.strip(b" \t")) for name, value in headers if name.lower() not in dropped | named]


async def _send_problem(send: Send, status: int, title: str, detail: str, *, retry_after_s: int | None = None) -> None:
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    if retry_after_s is not None:
        headers.append((b"retry-after", str(retry_after_s).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
