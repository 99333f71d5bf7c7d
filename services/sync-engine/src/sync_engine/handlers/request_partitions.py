"""The partitions of `sync-requests` that this process owns: what is read of each, and the tasks that end with it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mailroom_common.events import SyncRequest
from mailroom_common.kafka.headers import RESOLVES, TRACEPARENT
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.metrics import SYNC_REQUESTS_PENDING
from mailroom_common.topics import SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL, Topic
from sync_engine.domain.work_table import WorkTable


@dataclass(slots=True, eq=False)
class RequestPartition:
    """What the folding consumer reads into, and the tasks that work on it."""

    topic: Topic
    notify: Callable[[], None]
    table: WorkTable = field(default_factory=WorkTable)
    is_caught_up: bool = False
    is_recording_full_syncs: bool = False
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    traceparents: dict[str, str] = field(default_factory=dict)

    @property
    def is_backfill(self) -> bool:
        return self.topic is SYNC_REQUESTS_BACKFILL

    def read_record(self, record: IncomingRecord) -> None:
        if isinstance(record.event, SyncRequest):
            self.table.read_request(record.offset, record.key, record.event)
            # The trace of the newest request: a run answers all that were pending when it began.
            self.traceparents[record.key] = record.headers.get(TRACEPARENT, "")
        else:
            self.table.read_tombstone(record.offset, record.key, _read_resolves(record))
            self.traceparents.pop(record.key, None)
        self.notify()

    def find_committable_offset(self, position: int) -> int:
        # Also over gaps: compaction may have taken the records between the last one read and the position.
        self.table.advance_position(position)
        return self.table.committable_offset()

    def reached_end(self) -> None:
        """Only now is it known which of the requests that were read are answered already."""
        self.is_caught_up = True
        self.notify()

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda _: self.notify())
        return task


class RequestPartitions:
    """Partition ownership is the claim on what is in it: `open_partition` and `close_partition` follow the assignment.

    Nothing has to be finished here: a run that is cancelled, or goes on in a process that does not know yet that its
    partition has moved, changes nothing that the next owner would miss (design 5.3).
    """

    def __init__(self) -> None:
        self.changed = asyncio.Event()  # something was read, answered, opened or closed
        self._partitions: dict[Partition, RequestPartition] = {}
        for topic in (SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL):
            SYNC_REQUESTS_PENDING.labels(topic.name).set_function(partial(self._count_pending, topic))

    def __iter__(self) -> Iterator[RequestPartition]:
        # A copy: a rebalance may open or close partitions while somebody iterates and awaits.
        return iter(list(self._partitions.values()))

    def open_partition(self, partition: Partition) -> RequestPartition:
        owned = self._partitions[partition] = RequestPartition(partition.topic, self.changed.set)
        return owned

    async def close_partition(self, partition: Partition) -> None:
        """Its runs end where they are; the next owner begins at the committed offset."""
        if owned := self._partitions.pop(partition, None):
            await cancel_tasks(owned.tasks)

    def move_to_end(self, owned: RequestPartition) -> None:
        """The partitions take turns: one that was claimed from comes after the others."""
        for partition, candidate in self._partitions.items():
            if candidate is owned:
                self._partitions[partition] = self._partitions.pop(partition)
                return

    def _count_pending(self, topic: Topic) -> int:
        # Over the copy: with a health port, metrics are read in another thread.
        return sum(owned.table.pending_count for owned in self if owned.topic is topic)


async def cancel_tasks(tasks: set[asyncio.Task[None]]) -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _read_resolves(tombstone: IncomingRecord) -> int | None:
    """None for a tombstone that is no answer of a run: it resolves nothing."""
    text = tombstone.headers.get(RESOLVES, "")
    return int(text) if text.isdecimal() else None
