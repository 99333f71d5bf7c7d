"""The worker's loops: awake when there is work, asleep otherwise, gone when the process stops."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from ingestion import worker_loops
from ingestion.adapters.notify_listener import NotifyListener
from ingestion.domain.lanes import Lane, LaneSchedule
from ingestion.ports.events import Channel
from ingestion.ports.housekeeping import BacklogStep, SweptBlob
from mailroom_common.errors import Unavailable


class FakeDocuments:
    """`next` answers as told, and stops the loop when it has no more answers."""

    def __init__(self, stopping: asyncio.Event, answers: list[Any]) -> None:
        self.stopping = stopping
        self.answers = answers
        self.asked = 0
        self.waits = asyncio.Event()

    async def process_next(self, lanes: Sequence[Lane]) -> bool:
        self.asked += 1
        answer = self.answers.pop(0)
        if not self.answers:
            self.stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    async def read_seconds_until_due(self, lanes: Iterable[Lane]) -> float | None:
        self.waits.set()
        return None


def wakeups() -> NotifyListener:
    return NotifyListener("postgresql://nowhere", list(Channel), application_name="test")


async def run(documents: Any, heard: NotifyListener, stopping: asyncio.Event) -> None:
    await asyncio.wait_for(
        worker_loops.run_document_worker(documents, documents, heard, stopping, LaneSchedule(0, 1)), 10
    )


async def test_one_document_follows_another_without_a_pause() -> None:
    stopping = asyncio.Event()
    documents = FakeDocuments(stopping, [True, True, True])
    await run(documents, wakeups(), stopping)
    assert documents.asked == 3


async def test_a_waiting_worker_wakes_when_a_document_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_loops, "_LONGEST_PAUSE_S", 3600.0)
    stopping, heard = asyncio.Event(), wakeups()
    documents = FakeDocuments(stopping, [False, True])
    running = asyncio.create_task(run(documents, heard, stopping))
    await documents.waits.wait()
    assert documents.asked == 1
    await heard.signal_channel(Channel.DOCUMENT_DUE)
    await running
    assert documents.asked == 2


async def test_a_database_that_is_down_ends_no_worker() -> None:
    stopping, heard = asyncio.Event(), wakeups()
    documents = FakeDocuments(stopping, [Unavailable("Postgres"), True])
    await run(documents, heard, stopping)
    assert documents.asked == 2


async def test_a_stop_waits_a_moment_for_the_document_in_hand_and_then_puts_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_loops, "_STOP_GRACE_S", 0.01)
    stopping, began, put_back = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Endless:
        async def process_next(self, lanes: Sequence[Lane]) -> bool:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                put_back.set()
            raise AssertionError

        async def read_seconds_until_due(self, lanes: Iterable[Lane]) -> float | None:
            return None

    heard = wakeups()
    running = asyncio.create_task(run(Endless(), heard, stopping))
    await began.wait()
    stopping.set()
    await put_back.wait()
    await heard.signal_all_channels()  # as the listener does at its end
    await running
    assert put_back.is_set()


async def test_numbers_are_given_until_nothing_is_left_and_after_a_failure() -> None:
    stopping, heard = asyncio.Event(), wakeups()

    class Events:
        def __init__(self) -> None:
            self.answers: list[Any] = [2, 0, Unavailable("Postgres"), 1]

        async def assign_numbers(self) -> int:
            answer = self.answers.pop(0)
            if not self.answers:
                stopping.set()
            if isinstance(answer, Exception):
                raise answer
            return int(answer)

    events: Any = Events()
    running = asyncio.create_task(worker_loops.run_event_numbering(events, heard, stopping))
    while events.answers:
        await heard.signal_channel(Channel.EVENT_UNNUMBERED)
        await asyncio.sleep(0)
    await asyncio.wait_for(running, 5)
    assert events.answers == []


class Rounds:
    """Whether each round found something to do, or why it failed; the process stops with the last one."""

    def __init__(self, stopping: asyncio.Event, answers: list[bool | Exception]) -> None:
        self._stopping = stopping
        self.answers = answers

    async def announce_next(self) -> bool:
        return self._answer()

    async def match_next(self) -> bool:
        return self._answer()

    async def check_changes(self) -> bool:
        return self._answer()

    async def recheck_some(self) -> bool:
        return self._answer()

    def _answer(self) -> bool:
        answer = self.answers.pop(0)
        if not self.answers:
            self._stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("loop", "channel"),
    [
        (worker_loops.run_trade_announcements, Channel.TRADES_CHANGED),
        (worker_loops.run_order_matching, Channel.TRADES_CHANGED),
    ],
)
async def test_what_changed_is_worked_off_until_none_is_left_and_after_a_failure(loop: Any, channel: Channel) -> None:
    stopping, heard = asyncio.Event(), wakeups()
    changed = Rounds(stopping, [True, False, Unavailable("Postgres"), True])
    running = asyncio.create_task(loop(changed, heard, stopping))
    while changed.answers:
        await heard.signal_channel(channel)
        await asyncio.sleep(0)
    await asyncio.wait_for(running, 5)


async def test_a_backlog_of_results_goes_on_soon_after_the_outbox_was_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody signals that Kafka took some of them."""
    stopping, paused = asyncio.Event(), list[float]()
    steps: list[BacklogStep | Exception] = [
        BacklogStep.WRITTEN,
        BacklogStep.OUTBOX_FULL,
        BacklogStep.NOTHING,
        Unavailable("Postgres"),
    ]

    class Backlog:
        async def write_some(self) -> BacklogStep:
            step = steps.pop(0)
            if isinstance(step, Exception):
                raise step
            return step

    class Signals:
        def count_signals(self, _channel: Channel) -> int:
            return 0

        async def wait_for_signal(self, channel: Channel, *, beyond: int, timeout_s: float) -> None:
            assert (channel, beyond) == (Channel.RESULTS_WAITING, 0)
            paused.append(timeout_s)
            if not steps:
                stopping.set()

    await asyncio.wait_for(worker_loops.run_result_backlog(Backlog(), Signals(), stopping), 5)
    full, *others = paused
    assert full < 1
    assert others == [5.0, 5.0]


@pytest.mark.parametrize("loop", [worker_loops.run_document_check, worker_loops.run_ledger_reasons])
async def test_what_is_gone_through_in_batches_is_gone_through_again_and_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, loop: Any
) -> None:
    monkeypatch.setattr(worker_loops, "_BACKFILL_INTERVAL_S", 0.0)
    stopping = asyncio.Event()
    rounds = Rounds(stopping, [True, Unavailable("Postgres"), False, True, False])
    await asyncio.wait_for(loop(rounds, stopping), 5)
    assert rounds.answers == []


async def test_old_events_are_deleted_batch_by_batch() -> None:
    stopping = asyncio.Event()

    class Events:
        def __init__(self) -> None:
            self.kept: list[timedelta] = []
            self.answers = [500, 3, 0]

        async def delete_events(self, *, older_than: timedelta) -> int:
            self.kept.append(older_than)
            answer = self.answers.pop(0)
            if not self.answers:
                stopping.set()
            return answer

    events: Any = Events()
    await asyncio.wait_for(worker_loops.run_event_retention(events, timedelta(days=30), stopping), 5)
    assert events.kept == [timedelta(days=30)] * 3


class WaitingDocuments:
    """`due_in_s` by lane; an exception is raised once, with the loop's stop."""

    def __init__(self, stopping: asyncio.Event, due_in_s: dict[Lane, float | Exception | None]) -> None:
        self._stopping = stopping
        self._due_in_s = due_in_s

    async def read_seconds_until_due(self, lanes: Iterable[Lane]) -> float | None:
        (lane,) = lanes
        answer = self._due_in_s[lane]
        if lane is Lane.BACKFILL or isinstance(answer, Exception):
            self._stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def report_backlog(live: float | Exception | None, backfill: float | None) -> tuple[float | None, ...]:
    stopping = asyncio.Event()
    documents: Any = WaitingDocuments(stopping, {Lane.LIVE: live, Lane.BACKFILL: backfill})
    await asyncio.wait_for(worker_loops.run_backlog_report(documents, stopping), 5)
    return tuple(REGISTRY.get_sample_value("mailroom_ingestion_backlog_age_seconds", {"lane": lane}) for lane in Lane)


async def test_backlog_is_as_old_as_the_document_that_could_be_read_for_longest() -> None:
    assert await report_backlog(-90.0, -7.5) == (90.0, 7.5)
    assert await report_backlog(None, 600.0) == (0.0, 0.0)  # nothing waits; a lease or a pause ends in ten minutes


async def test_backlog_stays_as_reported_while_postgres_is_away() -> None:
    await report_backlog(-90.0, None)
    assert await report_backlog(Unavailable("away"), None) == (90.0, 0.0)


async def test_a_store_that_deletes_no_upload_is_not_asked_for_each_and_a_metric_says_how_many_are_left() -> None:
    stopping, sweeps = asyncio.Event(), [SweptBlob.POSTPONED] * 9 + [SweptBlob.DELETED] + [None]
    asked = 0

    class Uploads:
        kind = "upload"

        async def count_undeleted(self) -> int:
            return 100 - asked

        async def sweep_blob(self) -> SweptBlob | None:
            nonlocal asked
            asked += 1
            return sweeps.pop(0) if sweeps else SweptBlob.POSTPONED

    for _ in range(2):
        sweeping = asyncio.create_task(worker_loops.run_blob_sweep(Uploads(), stopping))
        await asyncio.sleep(0)  # none of these sweeps waits: it rests by now
        stopping.set()
        await sweeping
        stopping.clear()
    assert asked == 11 + 10
    assert REGISTRY.get_sample_value("mailroom_ingestion_blobs_undeleted", {"kind": "upload"}) == 79
