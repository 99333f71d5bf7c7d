"""Group commit: records of concurrent senders go to Kafka as one batch per partition.

Awaiting aiokafka's `send` costs 16 µs of CPU a record. Here the records of one turn of the event loop, and all that
come while a partition's last batch is on its way, are appended to one batch, whose acknowledgement they share: a
tenth of that under load, by the public API only (foundations.md, last section).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, Protocol

from aiokafka.partitioner import murmur2

from mailroom_common.errors import Unavailable
from mailroom_common.kafka.headers import RawHeaders

# Of one partition, behind the batch that is on its way. More is not written in the time that a caller waits.
MOST_OPEN_BATCHES = 8


class RawOutgoing(NamedTuple):
    """`topic` is the name as the site has it, prefix and all."""

    topic: str
    key: bytes
    value: bytes
    headers: RawHeaders


class Batch(Protocol):
    def append(
        self, *, timestamp: int | None, key: bytes | None, value: bytes | None, headers: RawHeaders
    ) -> object | None: ...


class BatchSender(Protocol):
    """What is used of AIOKafkaProducer."""

    def create_batch(self) -> Batch: ...
    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> "asyncio.Future[object]": ...


@lru_cache(maxsize=200_000)
def partition_of(key: bytes, partitions: int) -> int:
    """As Java's and aiokafka's default partitioner choose; kept, since murmur2 in Python costs more than a send."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


class _Shared:
    """A batch in the making, and who waits for it."""

    __slots__ = ("batch", "waiters")

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.waiters: set[_Waiter] = set()


class _Waiter:
    """One caller of `send`; done when every batch that holds a record of its is."""

    __slots__ = ("done", "missing")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self.missing = 0

    def acknowledged(self) -> None:
        self.missing -= 1
        if self.missing == 0 and not self.done.done():
            self.done.set_result(None)

    def failed(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Lane:
    """One partition: at most one batch is on its way, so order holds and what waits meanwhile grows into the next."""

    __slots__ = ("is_sending", "open")

    def __init__(self) -> None:
        self.open: deque[_Shared] = deque()
        self.is_sending = False


class GroupCommit:
    """`partitions_of` says how many partitions a topic has; it must know every topic that is sent to."""

    def __init__(self, sender: Callable[[], BatchSender], partitions_of: Callable[[str], int]) -> None:
        self._sender = sender
        self._partitions_of = partitions_of
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._dirty: list[tuple[str, int]] = []
        self._flush_is_due = False
        self._tasks: set[asyncio.Task[None]] = set()
        # A heap by deadline, with one timer for the earliest; the number decides between equal ones.
        self._waiting: list[tuple[float, int, _Waiter]] = []
        self._number = count()
        self._alarm_at_s: float | None = None

    def send(self, records: Iterable[RawOutgoing], timeout_s: float) -> "asyncio.Future[None]":
        """A future that is done once Kafka has acknowledged all of them, or fails with the first failure; with
        TimeoutError when that takes too long.

        Giving up withdraws nothing: a record that was appended may still be written.

        Raises:
            Unavailable: so much waits for a partition already that this would not be written in time either.
        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop)
        deadline_s = loop.time() + timeout_s
        now_ms = int(time.time() * 1000)
        for record in records:
            where = (record.topic, partition_of(record.key, self._partitions_of(record.topic)))
            lane = self._lanes.get(where)
            if lane is None:
                lane = self._lanes[where] = _Lane()
            elif len(lane.open) >= MOST_OPEN_BATCHES:
                raise Unavailable(f"Kafka acknowledges nothing of partition {where[1]} of {record.topic}")
            shared = self._append(lane, record, now_ms)
            if waiter not in shared.waiters:
                shared.waiters.add(waiter)
                waiter.missing += 1
            if not lane.is_sending:
                self._dirty.append(where)
        if waiter.missing == 0:
            waiter.done.set_result(None)
            return waiter.done
        if self._dirty and not self._flush_is_due:
            self._flush_is_due = True
            loop.call_soon(self._flush)
        heappush(self._waiting, (deadline_s, next(self._number), waiter))
        if self._alarm_at_s is None or deadline_s < self._alarm_at_s:
            self._alarm_at_s = deadline_s
            loop.call_at(deadline_s, self._expire)
        return waiter.done

    def _expire(self) -> None:
        """Fail whoever has waited long enough. One timer for all: a timer for each costs more than its batch."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        while self._waiting and (self._waiting[0][2].done.done() or self._waiting[0][0] <= now_s):
            heappop(self._waiting)[2].failed(TimeoutError())
        self._alarm_at_s = self._waiting[0][0] if self._waiting else None
        if self._alarm_at_s is not None:
            loop.call_at(self._alarm_at_s, self._expire)

    def _append(self, lane: _Lane, record: RawOutgoing, now_ms: int) -> _Shared:
        if lane.open:
            shared = lane.open[-1]
            if self._fits(shared.batch, record, now_ms):
                return shared
        shared = _Shared(self._sender().create_batch())
        if not self._fits(shared.batch, record, now_ms):
            raise ValueError("a record is larger than a batch may be")
        lane.open.append(shared)
        return shared

    @staticmethod
    def _fits(batch: Batch, record: RawOutgoing, now_ms: int) -> bool:
        appended = batch.append(timestamp=now_ms, key=record.key, value=record.value, headers=record.headers)
        return appended is not None

    def _flush(self) -> None:
        self._flush_is_due = False
        due, self._dirty = self._dirty, []
        taken = []
        for where in due:
            lane = self._lanes[where]
            if lane.open and not lane.is_sending:
                lane.is_sending = True
                taken.append((where, lane, lane.open.popleft()))
        if taken:
            # One task for the whole turn: a task for each batch would cost as much as the batch.
            task = asyncio.create_task(self._hand_over(taken))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _hand_over(self, taken: list[tuple[tuple[str, int], _Lane, _Shared]]) -> None:
        for where, lane, shared in taken:
            topic, partition = where
            try:
                acknowledged = await self._sender().send_batch(shared.batch, topic, partition=partition)
            except Exception as error:  # noqa: BLE001  # the edge of the task: whoever waits gets to see it
                self._finish(where, lane, shared, error)
            else:
                acknowledged.add_done_callback(self._finisher(where, lane, shared))

    def _finisher(
        self, where: tuple[str, int], lane: _Lane, shared: _Shared
    ) -> "Callable[[asyncio.Future[object]], None]":
        return lambda future: self._finish(where, lane, shared, _error_of(future))

    def _finish(self, where: tuple[str, int], lane: _Lane, shared: _Shared, error: BaseException | None) -> None:
        lane.is_sending = False
        for waiter in shared.waiters:
            if error is None:
                waiter.acknowledged()
            else:
                waiter.failed(error)
        if lane.open:
            self._dirty.append(where)
            if not self._flush_is_due:
                self._flush_is_due = True
                asyncio.get_running_loop().call_soon(self._flush)


def _error_of(future: "asyncio.Future[object]") -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    return future.exception()
