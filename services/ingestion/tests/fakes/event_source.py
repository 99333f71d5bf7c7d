"""A reader of Server-Sent Events, as far as we write them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class Received:
    event: str
    id: str | None
    data: str


@asynccontextmanager
async def open_stream(
    url: str, *, headers: dict[str, str] | None = None, params: dict[str, str] | None = None
) -> AsyncIterator[AsyncIterator[Received]]:
    async with (
        httpx.AsyncClient(timeout=30) as client,
        client.stream("GET", f"{url}/documents/events", headers=headers, params=params) as answer,
    ):
        answer.raise_for_status()
        yield _received(answer)


async def _received(answer: httpx.Response) -> AsyncIterator[Received]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            yield Received(fields.get("event", "message"), fields.get("id"), fields.get("data", ""))
            fields = {}


async def take(stream: AsyncIterator[Received], count: int) -> list[Received]:
    return [await anext(stream) for _ in range(count)]
