"""HTTP as the webhook routes need it: below FastAPI, since the framework costs as much as everything else they do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import parse_qs

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class TooLarge(Exception):
    """The body is larger than we take."""


class Gone(Exception):
    """The client left before it had sent its body."""


class Request:
    """One request of an ASGI server. Header names are lower-case bytes there."""

    __slots__ = ("_is_whole", "_receive", "_scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._is_whole = False

    @property
    def method(self) -> str:
        return str(self._scope["method"])

    @property
    def path(self) -> str:
        return str(self._scope["path"])

    @property
    def peer(self) -> str | None:
        client = self._scope.get("client")
        return client[0] if client else None

    def header(self, name: bytes) -> str | None:
        for found, value in self._scope["headers"]:
            if found == name:
                return str(value.decode("latin-1"))
        return None

    def headers(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for found, value in self._scope["headers"] if found == name]

    def query(self, name: str) -> str | None:
        raw = self._scope["query_string"]
        if not raw:
            return None
        # `+` and `%20` both mean a space here: the validation token of Graph has some.
        found = parse_qs(raw.decode("latin-1"), keep_blank_values=True).get(name)
        return found[0] if found else None

    async def body(self, at_most_bytes: int) -> bytes:
        """
        Raises:
            TooLarge, Gone
        """
        announced = self.header(b"content-length")
        if announced is not None and announced.isdecimal() and int(announced) > at_most_bytes:
            raise TooLarge
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            self._is_whole = True
            body: bytes = message.get("body", b"")
            if len(body) > at_most_bytes:
                raise TooLarge
            return body
        chunks, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise Gone
            chunk = message.get("body", b"")
            chunks.append(chunk)
            size += len(chunk)
            self._is_whole = not message.get("more_body")
            if size > at_most_bytes:
                raise TooLarge
            if self._is_whole:
                return b"".join(chunks)
            message = await self._receive()

    async def discard(self, at_most_bytes: int) -> None:
        """Read on and keep nothing. An answer to somebody who is still sending gets lost on its way through a proxy."""
        size = 0
        while not self._is_whole and size < at_most_bytes:
            message = await self._receive()
            size += len(message.get("body", b""))
            self._is_whole = message["type"] == "http.disconnect" or not message.get("more_body")


class Answer:
    """As the two messages that ASGI wants of it: most answers are one and the same."""

    __slots__ = ("end", "start", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        length = (b"content-length", str(len(body)).encode())
        self.start: Message = {"type": "http.response.start", "status": status, "headers": [length, *headers]}
        self.end: Message = {"type": "http.response.body", "body": body}


_PROBLEM = (b"content-type", b"application/problem+json")


def problem(status: int, title: str, *headers: tuple[bytes, bytes]) -> Answer:
    """By RFC 9457."""
    return Answer(status, orjson.dumps({"type": "about:blank", "title": title, "status": status}), (_PROBLEM, *headers))


Endpoint = Callable[[Request], Awaitable[Answer]]


class Dispatcher:
    """Answers the paths it was given; everything else is the app's."""

    def __init__(self, endpoints: Mapping[str, Endpoint], app: ASGIApp) -> None:
        self._endpoints = dict(endpoints)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        answer = await endpoint(Request(scope, receive))
        await send(answer.start)
        await send(answer.end)
