"""An HTTP endpoint on this machine that answers as told and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass
class ScriptedEndpoint:
    """`answers` are (status, body); the last one is repeated."""

    answers: list[tuple[int, Any]]
    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)

    async def answer_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
            if name
        }
        self.headers.append({"path": head.split(" ")[1], **headers})
        self.bodies.append(orjson.loads(await reader.readexactly(int(headers.get("content-length", "0")))))
        status, body = self.answers[min(len(self.bodies), len(self.answers)) - 1]
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nRetry-After: 0\r\n"
            f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode()
            + content
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def open_endpoint(*answers: tuple[int, Any]) -> AsyncIterator[ScriptedEndpoint]:
    endpoint = ScriptedEndpoint(list(answers))
    server = await asyncio.start_server(endpoint.answer_connection, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield endpoint


def list_statuses(statuses: Sequence[int]) -> list[tuple[int, Any]]:
    return [(status, {"error": {"message": "as told"}}) for status in statuses]
