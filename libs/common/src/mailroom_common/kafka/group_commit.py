"""Group commit: records of concurrent senders go to Kafka as one batch per partition.

Awaiting aiokafka's `send` costs 16 µs of CPU a record. Here the records of one turn of the event loop, and all that
come while the last wave of batches is on its way, are appended to one batch per partition, whose acknowledgement they
share, by the public API only (foundations.md, last section; ADR 19). What all of one turn have to do is done one kind
after the other, encoding, appending, answering: work that alternates finds the caches cold and costs twice (ADR 20).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from aiokafka.partitioner import murmur2

from mailroom_common.errors import Unavailable
from mailroom_common.kafka.headers import RawHeaders

# Of one partition, behind a batch that Kafka has not acknowledged for so long: nothing may pile up for a leader that is
# away. While it answers there is no such limit: one POST alone can fill more batches, and it would be refused for ever.
MOST_OPEN_BATCHES = 8
STUCK_AFTER_S = 0.5
# How long a wave waits for the one before it. Longer than a broker needs; what one that is frozen costs all others.
HELD_AT_MOST_S = 0.01
_TICK_S = 0.05  # how exact the time-outs are
# What aiokafka needs from a hand-over to its socket. Those who wait are told thereafter: what they do then, a
# millisecond or two for all, would else come before the next wave, with Kafka idle.
_TURNS_TO_SOCKET = 4

Call = TypeVar("Call")


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
        self.waiters: list[_Waiter] = []


class _Waiter:
    """One caller of `send`; done when every batch that holds a record of its is. `tick`: whose time ends with its.

    `missing` counts the batches, and one until all of its records are in some.
    """

    __slots__ = ("done", "missing", "tick")

    def __init__(self, loop: asyncio.AbstractEventLoop, tick: "set[_Waiter]") -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self.missing = 1
        self.tick = tick
        tick.add(self)

    def acknowledged(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.tick.discard(self)
            if not self.done.done():
                self.done.set_result(None)

    def failed(self, error: BaseException) -> None:
        self.tick.discard(self)
        if not self.done.done():
            self.done.set_exception(error)


class _Lane:
    """One partition: at most one batch is on its way, so order holds and what waits meanwhile grows into the next.

    `is_due`: it has something open and goes with the next wave.
    """

    __slots__ = ("is_due", "is_sending", "open", "partition", "sent_at_s", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.open: deque[_Shared] = deque()
        self.is_sending = False
        self.is_due = False
        self.sent_at_s = 0.0

    def is_stuck(self, now_s: float) -> bool:
        return self.is_sending and len(self.open) >= MOST_OPEN_BATCHES and now_s - self.sent_at_s >= STUCK_AFTER_S


class GroupCommit(Generic[Call]):
    """`partitions_of` says how many partitions a topic has; it must know every topic that is sent to. `records_of`
    encodes what one call of `send` is given; when it raises, that call fails and nothing of it is sent.

    Batches go in waves, one at a time: aiokafka has one request per broker on its way anyway, and a batch that waited
    for that inside aiokafka could not grow any more. Only a wave that takes long is overtaken by the next.
    """

    def __init__(
        self,
        sender: Callable[[], BatchSender],
        partitions_of: Callable[[str], int],
        records_of: Callable[[Call], Sequence[RawOutgoing]],
    ) -> None:
        self._sender = sender
        self._partitions_of = partitions_of
        self._records_of = records_of
        self._arrived: list[tuple[Call, _Waiter]] = []  # in this turn of the loop
        self._lanes: dict[str, list[_Lane]] = {}  # by topic and partition
        self._due: list[_Lane] = []
        self._due_since_s = 0.0
        self._patience_is_timed = False
        self._on_the_way = 0  # batches
        self._tasks: set[asyncio.Task[None]] = set()
        self._acknowledged: list[_Waiter] = []  # and not told yet
        # Who still waits, by the tick in which his time ends. A timer for each would cost more than his batch.
        self._ticks: dict[int, set[_Waiter]] = {}

    def send(self, call: Call, timeout_s: float) -> "asyncio.Future[None]":
        """A future that is done once Kafka has acknowledged all records of the call, or fails with the first failure;
        with TimeoutError when that takes too long; with Unavailable when so much waits for a partition already that
        it would not be written in time either.

        Giving up withdraws nothing: a record that was appended may still be written.
        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, self._tick_of(loop, loop.time() + timeout_s))
        if not self._arrived:
            loop.call_soon(self._take_in)
        self._arrived.append((call, waiter))
        return waiter.done

    def _take_in(self) -> None:
        self._append_arrived()
        if self._due:
            self._call_wave()

    def _append_arrived(self) -> None:
        arrived, self._arrived = self._arrived, []
        encoded = [(self._encoded(call, waiter), waiter) for call, waiter in arrived]
        now_s, now_ms = asyncio.get_running_loop().time(), int(time.time() * 1000)
        for records, waiter in encoded:
            try:
                for record in records:
                    self._append(record, waiter, now_s, now_ms)
            except Exception as error:  # noqa: BLE001  # of this call only: whoever waits for it gets to see it
                waiter.failed(error)
            else:
                waiter.acknowledged()

    def _encoded(self, call: Call, waiter: _Waiter) -> Sequence[RawOutgoing]:
        try:
            return self._records_of(call)
        except Exception as error:  # noqa: BLE001  # as above
            waiter.failed(error)
            return ()

    def _new_lanes(self, topic: str) -> list[_Lane]:
        lanes = self._lanes[topic] = [_Lane(topic, partition) for partition in range(self._partitions_of(topic))]
        return lanes

    def _tick_of(self, loop: asyncio.AbstractEventLoop, deadline_s: float) -> set[_Waiter]:
        number = int(deadline_s / _TICK_S) + 1
        tick = self._ticks.get(number)
        if tick is None:
            tick = self._ticks[number] = set()
            loop.call_at(number * _TICK_S, self._end, number)
        return tick

    def _end(self, number: int) -> None:
        for waiter in list(self._ticks.pop(number)):
            waiter.failed(TimeoutError())

    def _append(self, record: RawOutgoing, waiter: _Waiter, now_s: float, now_ms: int) -> None:
        topic, key, value, headers = record
        lanes = self._lanes.get(topic) or self._new_lanes(topic)
        lane = lanes[partition_of(key, len(lanes))]
        if lane.is_stuck(now_s):
            raise Unavailable(f"Kafka acknowledges nothing of partition {lane.partition} of {lane.topic}")
        shared = lane.open[-1] if lane.open else None
        if shared is None or shared.batch.append(timestamp=now_ms, key=key, value=value, headers=headers) is None:
            shared = _Shared(self._sender().create_batch())
            if shared.batch.append(timestamp=now_ms, key=key, value=value, headers=headers) is None:
                raise ValueError("a record is larger than a batch may be")
            lane.open.append(shared)
            if not lane.is_sending and not lane.is_due:
                self._make_due(lane)
        waiters = shared.waiters
        if not waiters or waiters[-1] is not waiter:  # nobody else comes between two records of one call
            waiters.append(waiter)
            waiter.missing += 1

    def _make_due(self, lane: _Lane) -> None:
        if not self._due:
            self._due_since_s = asyncio.get_running_loop().time()
        lane.is_due = True
        self._due.append(lane)

    def _call_wave(self) -> None:
        """Start one, if the last one is acknowledged; else when it is, or when it takes too long."""
        if self._on_the_way == 0:
            self._start_wave()
        elif not self._patience_is_timed:
            self._patience_is_timed = True
            asyncio.get_running_loop().call_later(HELD_AT_MOST_S, self._lose_patience)

    def _lose_patience(self) -> None:
        # One timer serves the waves of its time, however many: a timer of uvloop costs as much as a batch.
        self._patience_is_timed = False
        if not self._due:
            return
        loop = asyncio.get_running_loop()
        left_s = self._due_since_s + HELD_AT_MOST_S - loop.time()
        if left_s > 0:
            self._patience_is_timed = True
            loop.call_later(left_s, self._lose_patience)
        else:
            self._start_wave()

    def _start_wave(self) -> None:
        due, self._due = self._due, []
        now_s = asyncio.get_running_loop().time()
        wave = []
        for lane in due:
            lane.is_due = False
            lane.is_sending = True
            lane.sent_at_s = now_s
            wave.append((lane, lane.open.popleft()))
        self._on_the_way += len(wave)
        # One task for the wave: a task for each batch would cost as much as the batch.
        task = asyncio.create_task(self._hand_over(wave))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hand_over(self, wave: list[tuple[_Lane, _Shared]]) -> None:
        for lane, shared in wave:
            try:
                acknowledged = await self._sender().send_batch(shared.batch, lane.topic, partition=lane.partition)
            except Exception as error:  # noqa: BLE001  # the edge of the task: whoever waits gets to see it
                self._finish(lane, shared, error)
            else:
                acknowledged.add_done_callback(self._finisher(lane, shared))

    def _finisher(self, lane: _Lane, shared: _Shared) -> "Callable[[asyncio.Future[object]], None]":
        return lambda future: self._finish(lane, shared, _error_of(future))

    def _finish(self, lane: _Lane, shared: _Shared, error: BaseException | None) -> None:
        lane.is_sending = False
        self._on_the_way -= 1
        if lane.open:
            self._make_due(lane)
        if error is None:
            self._tell_soon(shared.waiters)
        else:
            for waiter in shared.waiters:
                waiter.failed(error)
        if self._on_the_way == 0:
            self._append_arrived()
        if self._due:
            self._call_wave()

    def _tell_soon(self, waiters: list[_Waiter]) -> None:
        if not self._acknowledged:
            asyncio.get_running_loop().call_soon(self._tell, _TURNS_TO_SOCKET)
        self._acknowledged.extend(waiters)

    def _tell(self, turns: int) -> None:
        if turns > 1:
            asyncio.get_running_loop().call_soon(self._tell, turns - 1)
            return
        acknowledged, self._acknowledged = self._acknowledged, []
        for waiter in acknowledged:
            waiter.acknowledged()


def _error_of(future: "asyncio.Future[object]") -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    return future.exception()
