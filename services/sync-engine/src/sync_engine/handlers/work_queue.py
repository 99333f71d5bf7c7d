"""Works through a queue, some of it at once, up to the first error."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from sync_engine.domain.run_outcomes import SliceEnded


async def work_through(items: Iterable[str], work: Callable[[str], Awaitable[None]], *, max_concurrent: int) -> None:
    """After an error nothing new is begun, and what is under way comes to its own end: its calls are spent. Then the
    error is raised; the end of the slice only where nothing else went wrong."""
    waiting = deque(items)
    errors: list[Exception] = []

    async def work_in_turn() -> None:
        while waiting and not errors:
            try:
                await work(waiting.popleft())
            except Exception as error:  # noqa: BLE001  # raised below, whatever it is
                errors.append(error)

    await run_side_by_side(work_in_turn, count=min(max_concurrent, len(waiting)))
    if errors:
        raise min(errors, key=lambda error: isinstance(error, SliceEnded))


async def run_side_by_side(work_in_turn: Callable[[], Awaitable[None]], *, count: int) -> None:
    """So many of these at once; when the caller is cancelled, or one fails, none of them is left running."""
    tasks = [asyncio.ensure_future(work_in_turn()) for _ in range(count)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
