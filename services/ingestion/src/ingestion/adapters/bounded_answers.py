"""Answers of an HTTP endpoint that end within a limit, for clients that read each of them whole."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2


class BoundedTransport(httpx2.AsyncBaseTransport):
    """An answer of more than `limit_bytes`, or a packed one, whose size nobody knows before, is a broken connection."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit_bytes: int) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError("a packed answer, which was not asked for")
        stream: Any = response.stream  # Any: one that can be read in two ways, to httpx2
        response.stream = _BoundedStream(stream, self._limit_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit_bytes: int) -> None:
        self._inner = inner
        self._left = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.RemoteProtocolError("an answer without an end")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
