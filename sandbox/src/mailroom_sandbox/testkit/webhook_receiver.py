"""A webhook for tests: shakes hands, remembers what it was sent, and fails as often as it is told to."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(slots=True)
class WebhookReceiver:
    """Answers handshakes; answers anything else with the next of `statuses`, 202 when none is left."""

    url: str
    statuses: list[int] = field(default_factory=list)
    shakes_hands: bool = True
    received: list[dict[str, Any]] = field(default_factory=list)
    handshakes: list[dict[str, Any]] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for_posts(self, count: int, timeout_s: float = 10.0) -> list[dict[str, Any]]:
        async with self.arrived, asyncio.timeout(timeout_s):
            await self.arrived.wait_for(lambda: len(self.received) >= count)
        return self.received

    def list_items(self) -> list[dict[str, Any]]:
        """Graph's notifications, whichever posts they came in."""
        return [item for post in self.received for item in json.loads(post["body"])["value"]]

    async def answer_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            writer.close()  # somebody connected and said nothing
            return
        request, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        parts = urlsplit(request.split(" ")[1])
        query = parse_qs(parts.query)
        seen = {"path": parts.path, "query": query, "headers": headers, "body": body}
        text = b""
        if "validationToken" in query:
            self.handshakes.append(seen)
            status, text = (200, query["validationToken"][0].encode()) if self.shakes_hands else (403, b"no")
        else:
            status = self.statuses.pop(0) if self.statuses else 202
            async with self.arrived:
                self.received.append(seen)
                self.arrived.notify_all()
        reply = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "content-type: text/plain"]
        reply += [f"content-length: {len(text)}", "connection: close", "", ""]
        writer.write("\r\n".join(reply).encode() + text)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def run_webhook_receiver() -> AsyncIterator[WebhookReceiver]:
    """On plain http and a loopback port of its own."""
    hook = WebhookReceiver("")
    server = await asyncio.start_server(hook.answer_request, "127.0.0.1", 0)
    hook.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield hook
    finally:
        server.close()
