"""HTTP for the webhook routes below FastAPI, whose routing costs as much as everything else that a push needs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from webhook_gateway.settings import Networks

_DISCARD_TIMEOUT_S = 2.0
_MAX_DISCARDED_BYTES = 32 * 1024 * 1024


class BodyTooLarge(Exception):
    """The body is larger than the gateway accepts."""


Endpoint = Callable[[Request], Awaitable[Response]]


class Dispatcher:
    """An ASGI app that answers the paths of `endpoints` itself and passes all others on to `app`."""

    def __init__(self, endpoints: Mapping[str, Endpoint], app: ASGIApp) -> None:
        self._endpoints = dict(endpoints)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        response = await endpoint(Request(scope, receive))
        await response(scope, receive, send)


def build_problem(status: int, title: str, **headers: str) -> Response:
    """A problem document by RFC 9457. A `_` in the name of a header stands for `-`."""
    document = orjson.dumps({"type": "about:blank", "title": title, "status": status})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(document, status, named, media_type="application/problem+json")


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body, which Starlette itself would hold in memory whatever its size.

    Raises:
        BodyTooLarge: nothing of it is kept.
        ClientDisconnect: the client left before it had sent all of it.
    """
    announced = request.headers.get("content-length", "")
    is_too_large = announced.isdecimal() and int(announced) > max_bytes
    stream = request.stream()
    chunks: list[bytes] = []
    size = 0
    while not is_too_large:
        chunk = await anext(stream, None)
        if chunk is None:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
        is_too_large = size > max_bytes
    await _discard_body(stream)
    raise BodyTooLarge


async def _discard_body(stream: AsyncIterator[bytes]) -> None:
    """A proxy that is still sending a body does not look for the response to it, so the body is read on for a while."""
    size = 0
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_DISCARD_TIMEOUT_S):
            async for chunk in stream:
                size += len(chunk)
                if size > _MAX_DISCARDED_BYTES:
                    return


def find_client_address(
    peer_address: str | None, forwarded_for: Sequence[str], trusted_proxies: Networks
) -> str | None:
    """The nearest address that is no trusted proxy's; `forwarded_for` are the values of `X-Forwarded-For`.

    Each proxy adds on the right the address that it was called from. What the client itself wrote into the header
    stands further to the left than the first address that a trusted proxy vouches for, and is never reached.
    """
    nearest = peer_address
    for hop in reversed([part.strip() for value in forwarded_for for part in value.split(",")]):
        if not _is_trusted_proxy(nearest, trusted_proxies) or _parse_address(hop) is None:
            break
        nearest = hop
    return nearest


def _is_trusted_proxy(address: str | None, trusted_proxies: Networks) -> bool:
    parsed = _parse_address(address)
    return parsed is not None and any(parsed in network for network in trusted_proxies)


def _parse_address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text or "")
    except ValueError:
        return None
