"""A pool of parser processes that starts with its first use: most sites never need it, and it holds memory."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from mailroom_common.parser.pool import ParserPool


class PoolOnDemand:
    """`open_pool` is entered at the first `find_pool`, and left at `close`."""

    def __init__(self, open_pool: Callable[[], AbstractAsyncContextManager[ParserPool]]) -> None:
        self._open_pool = open_pool
        self._pool: ParserPool | None = None
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def find_pool(self) -> ParserPool:
        async with self._opening:
            if self._pool is None:
                self._pool = await self._opened.enter_async_context(self._open_pool())
            return self._pool

    async def close(self) -> None:
        await self._opened.aclose()
