"""A round of sending again is bounded, ends when the worker stops, and does not depend on its count."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.events import DocSource
from sync_engine.handlers.reemit_attachments import ReemitAttachments
from sync_engine.ports import ReemittedBatch


class NoSources:
    def get_source(self, doc_source_id: str) -> DocSource | None:
        return None

    async def catch_up(self, timeout_s: float) -> bool:
        return True


class EndlessMessages:
    """There is always another batch; the worker is stopped during `stops_at`."""

    def __init__(self, stopping: asyncio.Event, *, stops_at: int | None = None, is_countable: bool = True) -> None:
        self._stopping = stopping
        self._stops_at = stops_at
        self._is_countable = is_countable
        self.batches = 0

    async def reemit_batch(
        self, find_source: Callable[[str], DocSource | None], before: datetime, now: datetime
    ) -> ReemittedBatch:
        self.batches += 1
        if self.batches == self._stops_at:
            self._stopping.set()
        assert self.batches < 1000, "the round has no end"
        return ReemittedBatch(Counter({"source": 2}), is_last=False)

    async def count_overdue(self, before: datetime) -> int:
        if not self._is_countable:
            raise Unavailable("it took too long")
        return 0


def _reemission(messages: EndlessMessages) -> ReemitAttachments:
    return ReemitAttachments(messages, NoSources(), lambda: datetime.now(UTC), after=timedelta(days=1))


async def test_a_round_leaves_what_is_beyond_its_bound_to_the_next() -> None:
    messages = EndlessMessages(asyncio.Event())
    assert await _reemission(messages).reemit_overdue() == 100
    assert messages.batches == 50


async def test_a_worker_that_stops_begins_no_further_batch() -> None:
    stopping = asyncio.Event()
    messages = EndlessMessages(stopping, stops_at=3)
    async with asyncio.timeout(5):
        await _reemission(messages).reemit_repeatedly(stopping, interval_s=60)
    assert messages.batches == 3


async def test_a_backlog_that_cannot_be_counted_is_sent_all_the_same() -> None:
    messages = EndlessMessages(asyncio.Event(), is_countable=False)
    with pytest.raises(Unavailable):
        await _reemission(messages).reemit_overdue()
    assert messages.batches == 50
