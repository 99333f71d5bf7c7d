"""The contents that a reader takes out of a file: the service reads one after the other as they come, within bounds."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from mailroom_common.parser.answers import AnswerMalformed
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import (
    JSON,
    LENGTH_PREFIX,
    MAX_CHUNK_BYTES,
    ParserLimitReached,
    decode_message,
)
from mailroom_common.parser.pipes import read_exactly

_MiB = 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentBounds:
    """What the service takes of one file. Readers keep to it: one that gives more has been taken over by its file."""

    contents: int = 500
    content_bytes: int = 25 * _MiB
    total_bytes: int = 200 * _MiB


@dataclass(frozen=True, slots=True)
class Content:
    """Something in a file. `chunks` are its bytes, as long as the next content is not asked for."""

    description: JSON
    chunks: AsyncIterator[bytes]


class ContentStream:
    """The answers of one process to one request.

    `guard` ends the process where an answer fails, and distrusts it where our reader does not answer so. The process
    may be waited for as long as one answer may take, in all: what the service does with the contents meanwhile costs
    the file nothing.
    """

    def __init__(
        self,
        descriptor: int,
        guard: Callable[[], AbstractAsyncContextManager[None]],
        limits: ParserLimits,
        bounds: ContentBounds,
    ) -> None:
        self._descriptor = descriptor
        self._guard = guard
        self._limits = limits
        self._bounds = bounds
        self._remaining_s = limits.wall_s
        self._total_bytes = 0
        self.last_message: Any = None  # untrusted JSON: what ended the contents

    async def read_contents(self) -> AsyncGenerator[Content, None]:
        number = 0
        message = await self._receive_message()
        while isinstance(message, dict) and "content" in message:
            number += 1
            if number > self._bounds.contents:
                await self._give_up()
            chunks = self._read_chunks()
            yield Content(message["content"], chunks)
            async for _ in chunks:  # what the caller did not want
                pass
            message = self.last_message
        self.last_message = message

    async def _read_chunks(self) -> AsyncIterator[bytes]:
        content_bytes = 0
        while True:
            message = self.last_message = await self._receive_message()
            if not (isinstance(message, dict) and "bytes" in message):
                return
            size = message["bytes"]
            if type(size) is not int or not 0 < size <= MAX_CHUNK_BYTES:  # True is an int, and no size
                await self._fail(AnswerMalformed("a content of no possible size"))
            content_bytes += size
            self._total_bytes += size
            if content_bytes > self._bounds.content_bytes or self._total_bytes > self._bounds.total_bytes:
                await self._give_up()
            yield await self.wait_for(read_exactly(self._descriptor, size))

    async def _receive_message(self) -> Any:
        return await self.wait_for(receive_message(self._descriptor, self._limits.output_bytes))

    async def wait_for(self, answer: Coroutine[Any, Any, T]) -> T:
        begun = time.monotonic()
        try:
            async with self._guard(), asyncio.timeout(max(self._remaining_s, 0)):
                # A timeout ends only what suspends, and what a hostile process has written ahead is read without that.
                await asyncio.sleep(0)
                return await answer
        finally:
            answer.close()  # where the time was up before it began
            self._remaining_s -= time.monotonic() - begun

    async def _give_up(self) -> None:
        await self._fail(ParserLimitReached("output"))

    async def _fail(self, error: Exception) -> None:
        async with self._guard():
            raise error


async def receive_message(descriptor: int, max_bytes: int) -> JSON:
    (size,) = LENGTH_PREFIX.unpack(await read_exactly(descriptor, LENGTH_PREFIX.size))
    # Before a byte of it is read: the length may be a hostile file's.
    if size > max_bytes:
        raise ParserLimitReached("output")
    return decode_message(await read_exactly(descriptor, size))
