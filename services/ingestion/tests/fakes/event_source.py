"""A reader of Server-Sent Events, as far as we write them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class ReceivedEvent:
    event: str
    id: str | None
    data: str


@asynccontextmanager
async def open_stream(
    url: str, *, headers: dict[str, str] | None = None, params: dict[str, str] | None = None
) -> AsyncIterator[AsyncIterator[ReceivedEvent]]:
    async with (
        httpx.AsyncClient(timeout=30) as client,
        client.stream("GET", f"{url}/documents/events", headers=headers, params=params) as answer,
    ):
        answer.raise_for_status()
        yield _parse_events(answer)


async def _parse_events(answer: httpx.Response) -> AsyncIterator[ReceivedEvent]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            # Without data a block only says where the stream stands.
            if "data" in fields:
                yield ReceivedEvent(fields.get("event", "message"), fields.get("id"), fields["data"])
            fields = {}


async def read_events(stream: AsyncIterator[ReceivedEvent], count: int) -> list[ReceivedEvent]:
    return [await anext(stream) for _ in range(count)]
