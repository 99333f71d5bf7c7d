"""What has no result after a day is sent again, and closed by ingestion's answer."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fake_mailbox import FakeOutlook, File
from structlog.testing import capture_logs
from sync_harness import Engine, doc_source

from mailroom_common.errors import Unavailable
from mailroom_common.events import AttachmentStored, DocSource, DocSourceState
from mailroom_common.metrics import MESSAGES_OVERDUE
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL
from sync_engine.adapters.open_messages import PgOpenMessages
from sync_engine.handlers.reemit_attachments import ReemitAttachments
from sync_engine.ports import ReemittedBatch

DAY = timedelta(days=1)


class KnownSources:
    def __init__(self, *sources: DocSource) -> None:
        self._sources = {source.doc_source_id: source for source in sources}

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self._sources.get(doc_source_id)

    async def catch_up(self, timeout_s: float) -> bool:
        return True


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    await engine.pool.execute("delete from sync_engine.message")  # of the tests before
    outlook = engine.mailbox
    assert isinstance(outlook, FakeOutlook)
    outlook.deliver("m1", File(filename="a.pdf"), File(filename="b.pdf"))
    outlook.deliver("m2", File(filename="c.pdf"))
    await engine.complete_run()
    return engine


def _reemission(engine: Engine, *sources: DocSource, batch_size: int = 20) -> ReemitAttachments:
    messages = PgOpenMessages(engine.pool, engine.outbox, batch_size=batch_size)
    return ReemitAttachments(messages, KnownSources(*(sources or [engine.source])), engine.clock, after=DAY)


async def _stored(engine: Engine) -> dict[str | None, AttachmentStored]:
    events = [event for event in await engine.read_outbox(ATTACHMENTS) if isinstance(event, AttachmentStored)]
    return {event.filename: event for event in events}


async def _sent_again(engine: Engine) -> list[AttachmentStored]:
    return [event for event in await engine.read_outbox(ATTACHMENTS_BACKFILL) if isinstance(event, AttachmentStored)]


async def test_a_day_later_the_parts_without_a_result_are_sent_again_as_they_were(engine: Engine) -> None:
    stored = await _stored(engine)
    await engine.record_result(stored["a.pdf"])
    engine.clock.now += DAY - timedelta(seconds=1)
    assert await _reemission(engine).reemit_overdue() == 0
    engine.clock.now += timedelta(seconds=2)
    assert await _reemission(engine, batch_size=1).reemit_overdue() == 2
    again = await _sent_again(engine)
    assert {event.filename for event in again} == {"b.pdf", "c.pdf"}
    for event in again:
        event_before = stored[event.filename]
        for name in AttachmentStored.__dataclass_fields__:
            if name != "occurred_at":
                assert getattr(event, name) == getattr(event_before, name), name


async def test_each_is_sent_again_once_a_day_until_its_result_closes_it(engine: Engine) -> None:
    engine.clock.now += DAY * 1.1
    assert await _reemission(engine).reemit_overdue() == 3
    engine.clock.now += DAY * 0.5
    assert await _reemission(engine).reemit_overdue() == 0
    engine.clock.now += DAY * 0.6
    assert await _reemission(engine).reemit_overdue() == 3
    for event in (await _sent_again(engine))[:3]:
        await engine.record_result(event)
    assert [row["state"] for row in await engine.read_rows("message")] == ["closed", "closed"]
    engine.clock.now += DAY * 2
    assert await _reemission(engine).reemit_overdue() == 0


async def test_message_that_waits_for_no_result_but_only_for_a_parked_part_is_not_overdue(engine: Engine) -> None:
    await engine.pool.execute(
        "update sync_engine.message_part set stored = false, attachment_id = null, parked_reason = 'rejected' "
        "where message_id = 'm2'"
    )
    engine.clock.now += DAY * 2
    messages, before = PgOpenMessages(engine.pool, engine.outbox), engine.clock.now - DAY
    assert await messages.count_overdue(before, up_to=10) == 1, "m1"
    assert await messages.count_overdue(before, up_to=0) == 0


async def test_two_workers_at_once_send_each_record_once(engine: Engine) -> None:
    engine.clock.now += DAY * 2
    sent = await asyncio.gather(*(_reemission(engine, batch_size=1).reemit_overdue() for _ in range(2)))
    assert sum(sent) == 3
    assert len(await _sent_again(engine)) == 3


@pytest.mark.parametrize("state", [None, DocSourceState.DELETING, DocSourceState.PENDING])
async def test_nothing_is_sent_for_a_source_that_is_gone_and_it_holds_up_no_other(
    engine: Engine, state: DocSourceState | None
) -> None:
    engine.clock.now += DAY * 2
    gone = [] if state is None else [_with_state(engine.source, state)]
    assert await _reemission(engine, *(gone or [doc_source()]), batch_size=1).reemit_overdue() == 0
    assert await _sent_again(engine) == []


async def test_a_round_that_meets_no_postgres_is_made_up_for_by_the_next(engine: Engine) -> None:
    engine.clock.now += DAY * 2
    stopping, rounds = asyncio.Event(), 0

    class FailingFirst(PgOpenMessages):
        async def reemit_batch(
            self, find_source: Callable[[str], DocSource | None], before: datetime, now: datetime
        ) -> ReemittedBatch:
            nonlocal rounds
            rounds += 1
            if rounds == 1:
                raise Unavailable("Postgres is away")
            stopping.set()
            return await super().reemit_batch(find_source, before, now)

    reemission = ReemitAttachments(
        FailingFirst(engine.pool, engine.outbox), KnownSources(engine.source), engine.clock, after=DAY
    )
    async with asyncio.timeout(20):
        await reemission.reemit_repeatedly(stopping, interval_s=0.01)
    assert len(await _sent_again(engine)) == 3


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

    async def count_overdue(self, before: datetime, *, up_to: int) -> int:
        if not self._is_countable:
            raise Unavailable("it took too long")
        return 0


def _endless_reemission(messages: EndlessMessages) -> ReemitAttachments:
    return ReemitAttachments(messages, KnownSources(), lambda: datetime.now(UTC), after=timedelta(days=1))


async def test_a_round_leaves_what_is_beyond_its_bound_to_the_next() -> None:
    messages = EndlessMessages(asyncio.Event())
    assert await _endless_reemission(messages).reemit_overdue() == 100
    assert messages.batches == 50


async def test_a_worker_that_stops_begins_no_further_batch() -> None:
    stopping = asyncio.Event()
    messages = EndlessMessages(stopping, stops_at=3)
    async with asyncio.timeout(5):
        await _endless_reemission(messages).reemit_repeatedly(stopping, interval_s=60)
    assert messages.batches == 3


async def test_a_backlog_that_cannot_be_counted_is_sent_all_the_same_and_no_older_count_is_shown() -> None:
    MESSAGES_OVERDUE.set(7)
    messages = EndlessMessages(asyncio.Event(), is_countable=False)
    assert await _endless_reemission(messages).reemit_overdue() == 100
    assert math.isnan(MESSAGES_OVERDUE._value.get())


async def test_a_bug_over_one_message_does_not_end_the_worker() -> None:
    class FaultyMessages(EndlessMessages):
        async def reemit_batch(
            self, find_source: Callable[[str], DocSource | None], before: datetime, now: datetime
        ) -> ReemittedBatch:
            await super().reemit_batch(find_source, before, now)
            raise KeyError("no such column")

    stopping = asyncio.Event()
    messages = FaultyMessages(stopping, stops_at=2)
    with capture_logs() as logs:
        async with asyncio.timeout(5):
            await _endless_reemission(messages).reemit_repeatedly(stopping, interval_s=0.01)
    assert [log["event"] for log in logs] == ["reemission_failed"] * 2


def _with_state(source: DocSource, state: DocSourceState) -> DocSource:
    return replace(source, state=state)
