"""Asks for syncs of many mailboxes, as the backstop would in time: for tests of faults on a whole site."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from whole_site import Site

from mailroom_common.errors import Rejected, Unavailable


async def sync_now_and_then(site: Site, doc_source_ids: Callable[[], Sequence[str]], interval_s: float) -> None:
    """What is parked is due at once. A source that refuses, since its consent is gone, is asked again next time."""
    while True:
        await asyncio.sleep(interval_s)
        with suppress(Unavailable):
            await retry_parked(site)
        for doc_source_id in doc_source_ids():
            with suppress(Unavailable, Rejected):
                await site.api.post_json(f"/doc-sources/{doc_source_id}/sync")


async def retry_parked(site: Site) -> None:
    parked = await site.api.list_items("/parked-items")
    for reason in sorted({one["reason"] for one in parked}):
        await site.api.post_json("/parked-items/retry", {"reason": reason})


@asynccontextmanager
async def in_background(work: Awaitable[None]) -> AsyncIterator[None]:
    """Cancelled at the end of the block; what it failed of is raised there."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
