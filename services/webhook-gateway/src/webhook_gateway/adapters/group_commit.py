"""Group commit: the records of concurrent calls go to Kafka as one batch per partition, by aiokafka's public API.

Against awaiting `send` for each record it saves 28 % of the gateway's CPU per request at 32 connections and 24 % at 128
(ADR 30; `bench/gateway --servers gateway plain_send` measures it again). The records of one turn of the event loop, and
all that arrive while earlier batches are on their way, share a batch and its acknowledgement. Batches leave in flushes,
one at a time (ADR 19): aiokafka has one request per broker on its way anyway, and a batch that waited for it inside
aiokafka could not grow any more. The work of one turn is done one kind after the other (encode all, append all, respond
to all), which keeps the code of each in the caches (ADR 20).
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

# A partition whose last batch is unacknowledged for STUCK_AFTER_S accepts no more than this many further batches, so
# that memory does not fill while its leader is away. While Kafka answers there is no such limit: one POST alone can
# fill more batches, and would otherwise be refused at every repeat.
MAX_QUEUED_BATCHES = 8
STUCK_AFTER_S = 0.5
# How long a flush waits for the one before it: longer than a healthy broker needs. With one broker frozen, this is the
# delay that the records for all others get.
MAX_LINGER_S = 0.01
_TIMEOUT_PRECISION_S = 0.05
# The turns of the event loop from handing batches to aiokafka until they are on the socket. Callers get their
# acknowledgement after that: what they do with it takes milliseconds in which Kafka would have nothing to do.
_TURNS_UNTIL_SOCKET = 4

Call = TypeVar("Call")


class EncodedRecord(NamedTuple):
    """`topic_name` is the whole name, prefix and all."""

    topic_name: str
    key: bytes
    value: bytes
    headers: RawHeaders


class Batch(Protocol):
    def append(
        self, *, timestamp: int | None, key: bytes | None, value: bytes | None, headers: RawHeaders
    ) -> object | None: ...


class BatchSender(Protocol):
    """The methods of AIOKafkaProducer that are used here."""

    def create_batch(self) -> Batch: ...
    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> "asyncio.Future[object]": ...


@lru_cache(maxsize=200_000)  # murmur2 in Python costs more than a send
def choose_partition(key: bytes, partitions: int) -> int:
    """The choice of the default partitioner of Java's client and of aiokafka."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


class _PendingCall:
    """A call whose records are not all acknowledged, in the deadline bucket that ends it when its time is over."""

    __slots__ = ("bucket", "future", "unacknowledged")

    def __init__(self, loop: asyncio.AbstractEventLoop, bucket: "set[_PendingCall]") -> None:
        self.future: asyncio.Future[None] = loop.create_future()
        # The batches that hold a record of it, and one more until all of its records are in a batch: a batch that is
        # acknowledged before that must not complete the call.
        self.unacknowledged = 1
        self.bucket = bucket
        bucket.add(self)

    def count_acknowledgement(self) -> None:
        self.unacknowledged -= 1
        if self.unacknowledged == 0:
            self.bucket.discard(self)
            if not self.future.done():  # its caller may have given up
                self.future.set_result(None)

    def fail_call(self, error: BaseException) -> None:
        self.bucket.discard(self)
        if not self.future.done():
            self.future.set_exception(error)


class _QueuedBatch:
    __slots__ = ("batch", "calls")

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.calls: list[_PendingCall] = []  # each with a record in the batch


class _PartitionQueue:
    """The batches of one partition. At most one is on its way, which keeps the order; the last one queued grows."""

    __slots__ = ("is_due", "is_sending", "partition", "queued", "sent_at_s", "topic_name")

    def __init__(self, topic_name: str, partition: int) -> None:
        self.topic_name = topic_name
        self.partition = partition
        self.queued: deque[_QueuedBatch] = deque()
        self.is_sending = False
        self.is_due = False  # its first batch leaves with the next flush
        self.sent_at_s = 0.0

    def is_stuck(self, now_s: float) -> bool:
        is_overdue = self.is_sending and now_s - self.sent_at_s >= STUCK_AFTER_S
        return is_overdue and len(self.queued) >= MAX_QUEUED_BATCHES


class GroupCommit(Generic[Call]):
    """`get_sender` returns the current producer, `get_partition_count` the number of a topic's partitions.

    `encode_call` makes the records of what a call of `submit_call` was given; when it raises, that call fails and
    nothing of it is sent.
    """

    def __init__(
        self,
        get_sender: Callable[[], BatchSender],
        get_partition_count: Callable[[str], int],
        encode_call: Callable[[Call], Sequence[EncodedRecord]],
    ) -> None:
        self._get_sender = get_sender
        self._get_partition_count = get_partition_count
        self._encode_call = encode_call
        self._arrived: list[tuple[Call, _PendingCall]] = []  # in this turn of the loop, not encoded yet
        self._queues: dict[str, list[_PartitionQueue]] = {}  # by topic name and partition
        self._due: list[_PartitionQueue] = []
        self._due_since_s = 0.0
        self._is_linger_timed = False
        self._batches_in_flight = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._acknowledged: list[_PendingCall] = []  # by Kafka; their callers do not know yet
        # By the number of the interval in which the time of a call ends: one timer each would cost more than a batch.
        self._deadline_buckets: dict[int, set[_PendingCall]] = {}

    def submit_call(self, call: Call, timeout_s: float) -> "asyncio.Future[None]":
        """A future that is done once Kafka has acknowledged all records of the call, or fails with the first failure:
        TimeoutError when it takes too long, Unavailable when so much is queued for a partition already that it would.

        A caller that gives up withdraws nothing: a record that was appended may still be written.
        """
        loop = asyncio.get_running_loop()
        pending = _PendingCall(loop, self._find_deadline_bucket(loop, loop.time() + timeout_s))
        if not self._arrived:
            loop.call_soon(self._on_turn_end)
        self._arrived.append((call, pending))
        return pending.future

    def _on_turn_end(self) -> None:
        self._append_arrived_calls()
        if self._due:
            self._request_flush()

    def _append_arrived_calls(self) -> None:
        arrived, self._arrived = self._arrived, []
        encoded = [(self._encode_or_fail(call, pending), pending) for call, pending in arrived]
        now_s, now_ms = asyncio.get_running_loop().time(), int(time.time() * 1000)
        for records, pending in encoded:
            try:
                for record in records:
                    self._append_record(record, pending, now_s, now_ms)
            except Exception as error:  # noqa: BLE001  # of this call only, whose caller gets to see it
                pending.fail_call(error)
            else:
                pending.count_acknowledgement()

    def _encode_or_fail(self, call: Call, pending: _PendingCall) -> Sequence[EncodedRecord]:
        try:
            return self._encode_call(call)
        except Exception as error:  # noqa: BLE001  # as above
            pending.fail_call(error)
            return ()

    def _find_deadline_bucket(self, loop: asyncio.AbstractEventLoop, deadline_s: float) -> set[_PendingCall]:
        number = int(deadline_s / _TIMEOUT_PRECISION_S) + 1
        bucket = self._deadline_buckets.get(number)
        if bucket is None:
            bucket = self._deadline_buckets[number] = set()
            loop.call_at(number * _TIMEOUT_PRECISION_S, self._expire_bucket, number)
        return bucket

    def _expire_bucket(self, number: int) -> None:
        for pending in list(self._deadline_buckets.pop(number)):
            pending.fail_call(TimeoutError())

    def _append_record(self, record: EncodedRecord, pending: _PendingCall, now_s: float, now_ms: int) -> None:
        topic_name, key, value, headers = record
        queues = self._queues.get(topic_name) or self._create_queues(topic_name)
        queue = queues[choose_partition(key, len(queues))]
        if queue.is_stuck(now_s):
            raise Unavailable(f"Kafka acknowledges nothing of partition {queue.partition} of {topic_name}")
        last = queue.queued[-1] if queue.queued else None
        if last is None or last.batch.append(timestamp=now_ms, key=key, value=value, headers=headers) is None:
            last = _QueuedBatch(self._get_sender().create_batch())
            if last.batch.append(timestamp=now_ms, key=key, value=value, headers=headers) is None:
                raise ValueError("a record is larger than a batch may be")
            queue.queued.append(last)
            if not queue.is_sending and not queue.is_due:
                self._mark_due(queue)
        # The records of a call are appended one after the other, so a call that has one in the batch is its last.
        if not last.calls or last.calls[-1] is not pending:
            last.calls.append(pending)
            pending.unacknowledged += 1

    def _create_queues(self, topic_name: str) -> list[_PartitionQueue]:
        count = self._get_partition_count(topic_name)
        queues = self._queues[topic_name] = [_PartitionQueue(topic_name, partition) for partition in range(count)]
        return queues

    def _mark_due(self, queue: _PartitionQueue) -> None:
        if not self._due:
            self._due_since_s = asyncio.get_running_loop().time()
        queue.is_due = True
        self._due.append(queue)

    def _request_flush(self) -> None:
        """Flush now if all earlier batches are acknowledged, else when they are or at the latest after MAX_LINGER_S."""
        if self._batches_in_flight == 0:
            self._flush_due_batches()
        elif not self._is_linger_timed:
            self._is_linger_timed = True
            asyncio.get_running_loop().call_later(MAX_LINGER_S, self._on_linger_timeout)

    def _on_linger_timeout(self) -> None:
        self._is_linger_timed = False
        if not self._due:
            return
        loop = asyncio.get_running_loop()
        left_s = self._due_since_s + MAX_LINGER_S - loop.time()
        if left_s > 0:
            # The timer was set for an earlier flush. It is set again rather than one for each flush: a timer of uvloop
            # costs as much as a batch.
            self._is_linger_timed = True
            loop.call_later(left_s, self._on_linger_timeout)
        else:
            self._flush_due_batches()

    def _flush_due_batches(self) -> None:
        due, self._due = self._due, []
        now_s = asyncio.get_running_loop().time()
        batches = []
        for queue in due:
            queue.is_due = False
            queue.is_sending = True
            queue.sent_at_s = now_s
            batches.append((queue, queue.queued.popleft()))
        self._batches_in_flight += len(batches)
        # One task for the whole flush: a task for each batch would cost as much as the batch.
        task = asyncio.create_task(self._send_batches(batches))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_batches(self, batches: list[tuple[_PartitionQueue, _QueuedBatch]]) -> None:
        for queue, batch in batches:
            try:
                sent = await self._get_sender().send_batch(batch.batch, queue.topic_name, partition=queue.partition)
            except Exception as error:  # noqa: BLE001  # the edge of the task: the callers get to see it
                self._finish_batch(queue, batch, error)
            else:
                sent.add_done_callback(self._create_batch_done_callback(queue, batch))

    def _create_batch_done_callback(
        self, queue: _PartitionQueue, batch: _QueuedBatch
    ) -> "Callable[[asyncio.Future[object]], None]":
        return lambda future: self._finish_batch(queue, batch, _get_error(future))

    def _finish_batch(self, queue: _PartitionQueue, batch: _QueuedBatch, error: BaseException | None) -> None:
        queue.is_sending = False
        self._batches_in_flight -= 1
        if queue.queued:
            self._mark_due(queue)
        if error is None:
            self._schedule_acknowledgements(batch.calls)
        else:
            for pending in batch.calls:
                pending.fail_call(error)
        if self._batches_in_flight == 0:
            # What arrived in this turn of the loop joins the flush that starts now, instead of waiting for the next.
            self._append_arrived_calls()
        if self._due:
            self._request_flush()

    def _schedule_acknowledgements(self, calls: list[_PendingCall]) -> None:
        if not self._acknowledged:
            asyncio.get_running_loop().call_soon(self._acknowledge_calls, _TURNS_UNTIL_SOCKET)
        self._acknowledged.extend(calls)

    def _acknowledge_calls(self, turns_left: int) -> None:
        if turns_left > 1:
            asyncio.get_running_loop().call_soon(self._acknowledge_calls, turns_left - 1)
            return
        acknowledged, self._acknowledged = self._acknowledged, []
        for pending in acknowledged:
            pending.count_acknowledgement()


def _get_error(future: "asyncio.Future[object]") -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    return future.exception()
