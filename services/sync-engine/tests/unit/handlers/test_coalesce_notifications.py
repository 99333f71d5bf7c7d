import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.errors import Unavailable
from sync_engine.domain.coalescing import CoalescingWindow, PendingRequest
from sync_engine.handlers.coalesce_notifications import CoalesceNotifications

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Windows(dict[str, CoalescingWindow]):
    """The table in memory. `elsewhere` are sources of partitions that moved away."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere: set[str] = set()

    def find_open_window(self, doc_source_id: str) -> CoalescingWindow | None:
        return self.get(doc_source_id)

    def list_windows(self) -> Iterable[tuple[str, CoalescingWindow]]:
        return self.items()

    async def store_window(self, doc_source_id: str, window: CoalescingWindow | None) -> None:
        if window is None:
            self.pop(doc_source_id, None)
        else:
            self[doc_source_id] = window

    def owns_source(self, doc_source_id: str) -> bool:
        return doc_source_id not in self.elsewhere


class Requests:
    def __init__(self) -> None:
        self.asked: list[tuple[str, PendingRequest]] = []
        self.is_down = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def send_request(self, doc_source_id: str, pending: PendingRequest) -> None:
        await self.gate.wait()
        if self.is_down:
            raise Unavailable("Kafka is away")
        self.asked.append((doc_source_id, pending))


class Bench:
    def __init__(self) -> None:
        self.now = NOW
        self.windows = Windows()
        self.requests = Requests()
        self.coalesce = self.restarted()

    def restarted(self) -> CoalesceNotifications:
        self.coalesce = CoalesceNotifications(
            self.windows, self.requests, length=timedelta(seconds=1), clock=lambda: self.now
        )
        self.coalesce.on_recovery()
        return self.coalesce

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def asked(self) -> Iterable[str]:
        return [doc_source_id for doc_source_id, _ in self.requests.asked]


async def test_a_burst_becomes_two_requests() -> None:
    bench = Bench()
    for _ in range(5):
        await bench.coalesce.handle_notification("s", "acme")
    assert bench.asked == ["s"]
    bench.pass_by(1)
    await bench.coalesce.close_due_windows()
    await bench.coalesce.close_due_windows()
    assert bench.asked == ["s", "s"]


async def test_sources_do_not_wait_for_each_other() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    await bench.coalesce.handle_notification("t", "acme")
    assert bench.asked == ["s", "t"]


async def test_an_idle_source_is_forgotten() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    bench.pass_by(1)
    await bench.coalesce.close_due_windows()
    assert bench.windows == {}


async def test_what_was_held_back_survives_a_restart() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    await bench.coalesce.handle_notification("s", "acme")
    bench.restarted()
    bench.pass_by(1)
    await bench.coalesce.close_due_windows()
    assert bench.requests.asked[1:] == [("s", PendingRequest(NOW, "acme"))]


async def test_a_trailing_request_that_kafka_did_not_take_is_due_again() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    await bench.coalesce.handle_notification("s", "acme")
    bench.pass_by(1)
    bench.requests.is_down = True
    with pytest.raises(Unavailable):
        await bench.coalesce.close_due_windows()
    bench.requests.is_down = False
    await bench.coalesce.close_due_windows()
    assert bench.asked == ["s", "s"]


async def test_a_first_request_that_kafka_did_not_take_leaves_no_window() -> None:
    bench = Bench()
    bench.requests.is_down = True
    with pytest.raises(Unavailable):
        await bench.coalesce.handle_notification("s", "acme")
    bench.requests.is_down = False
    await bench.coalesce.handle_notification("s", "acme")
    assert bench.asked == ["s"]


async def test_a_notification_during_the_trailing_request_is_answered_by_it() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    await bench.coalesce.handle_notification("s", "acme")
    bench.pass_by(1)
    bench.requests.gate.clear()
    flushing = asyncio.create_task(bench.coalesce.close_due_windows())
    await asyncio.sleep(0)
    await bench.coalesce.handle_notification("s", "acme")
    bench.requests.gate.set()
    await flushing
    assert bench.asked == ["s", "s"]
    assert bench.windows["s"].held_back is None


async def test_windows_of_a_partition_that_moved_away_are_left_to_their_owner() -> None:
    bench = Bench()
    await bench.coalesce.handle_notification("s", "acme")
    await bench.coalesce.handle_notification("s", "acme")
    bench.windows.elsewhere.add("s")
    bench.pass_by(1)
    await bench.coalesce.close_due_windows()
    assert bench.asked == ["s"]
    assert bench.windows["s"].held_back is not None


async def test_the_wait_for_due_windows_ends_with_the_first_window_and_not_while_none_is_open() -> None:
    bench = Bench()
    waiting = asyncio.create_task(bench.coalesce.wait_until_due())
    await asyncio.sleep(0)
    assert not waiting.done(), "no window is open"
    await bench.coalesce.handle_notification("s", "acme")
    await asyncio.sleep(0)
    assert not waiting.done(), "it is open for a second"
    bench.pass_by(1)
    await bench.coalesce.handle_notification("other", "acme")  # any change of the windows has it look again
    await asyncio.wait_for(waiting, 5)


async def test_windows_that_a_rebalance_brought_are_waited_for() -> None:
    bench = Bench()
    waiting = asyncio.create_task(bench.coalesce.wait_until_due())
    await asyncio.sleep(0)
    bench.windows["moved-here"] = CoalescingWindow(NOW, PendingRequest(NOW, "acme"))
    bench.coalesce.on_recovery()
    await asyncio.wait_for(waiting, 5)
    await bench.coalesce.close_due_windows()
    assert bench.asked == ["moved-here"]
