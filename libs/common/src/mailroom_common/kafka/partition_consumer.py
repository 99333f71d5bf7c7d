"""The life that our group consumers share: join, poll, decode, commit, hand partitions back, stop.

What is done with a record, and what may be committed, is for the two kinds to say: `WindowedConsumer` calls a handler
for each record, the sync-engine's `FoldingConsumer` reads a topic into a table.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence, Set
from typing import Generic, TypeVar

from mailroom_common.errors import NotDecodableYet, Retryable, Undecodable, UnknownSchema, UnknownSymbol
from mailroom_common.kafka.client import MemberSettings
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord, Partition, RawRecord, decode_record
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.logs import get_logger
from mailroom_common.metrics import (
    KAFKA_DEAD_LETTERS,
    KAFKA_PARTITIONS_AWAITING_SCHEMA,
    KAFKA_PARTITIONS_AWAITING_UPGRADE,
)
from mailroom_common.retries import backoff_s, wait_for_event
from mailroom_common.topics import Topic

log = get_logger()

_COMMIT_INTERVAL_S = 1.0
_RELEASE_S = 20.0  # on a rebalance; it fits in the group's rebalance time-out
_RELEASE_AT_STOP_S = 4.0  # a stopping process has 8 s for everything
_MAX_BACKOFF_S = 30.0


class OwnedPartition(ABC):
    """What this process holds of one partition from its assignment to its revocation."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.backlog: deque[RawRecord] = deque()  # polled and not taken yet
        self.waits_for: NotDecodableYet | None = None  # what the first record of the backlog needs
        self.committed_offset: int | None = None
        self.is_released = asyncio.Event()

    def has_capacity(self) -> bool:
        """Whether another record of the backlog may be taken."""
        return not self.is_released.is_set()

    @abstractmethod
    def find_committable(self) -> int | None:
        """The offset below which everything is done, None before the first record."""

    @abstractmethod
    def begin_release(self) -> set[asyncio.Task[None]]:
        """Begin nothing more; the tasks returned are awaited before the last commit."""

    @abstractmethod
    def cancel_work(self) -> None:
        """Another member has the partition, or the process fails: nothing that still runs for it counts."""


P = TypeVar("P", bound=OwnedPartition)


class PartitionConsumer(ABC, Generic[P]):
    """Reads its topics as a member of a group; a subclass says what a record and a partition are to it."""

    def __init__(
        self,
        settings: MemberSettings,
        *,
        group: str,
        topics: Sequence[Topic],
        codec: Codec,
        schemas: SchemaDirectory,
        dead_letters: DeadLetterWriter,
        backoff_s: float = 0.5,
    ) -> None:
        self._group = group
        self._codec = codec
        self._dead_letters = dead_letters
        self._backoff_s = backoff_s
        self._membership = GroupMember(settings, group=group, topics=topics, listener=self)
        self._owned: dict[Partition, P] = {}
        self._lost: set[Partition] = set()
        self._releasing: set[asyncio.Task[None]] = set()
        self._backlog_emptied = asyncio.Event()
        self._failure: asyncio.Future[None] | None = None
        schemas.on_learned(self._resume_waiting)

    @abstractmethod
    def _create_owned_partition(self, partition: Partition) -> P: ...

    @abstractmethod
    def _take_record(self, owned: P, raw: RawRecord, content: IncomingRecord | Undecodable) -> None:
        """The next record of a partition, decoded, or the reason why it cannot be. Must not block."""

    async def _after_poll(self) -> None:
        """Called after each poll, also when nothing came."""

    def check_readiness(self) -> str | None:
        """A check for `Health.add_readiness`: a partition that waits for a schema or an upgrade is visible here too."""
        waiting = [(owned.partition, owned.waits_for) for owned in self._owned.values() if owned.waits_for is not None]
        if not waiting:
            return None
        partition, needed = waiting[0]
        return f"{partition} waits for {_describe_need(needed)} ({len(waiting)} partitions wait)"

    async def consume_records(self, stopping: asyncio.Event) -> None:
        """Work until `stopping`, then finish what is in hand within seconds and commit.

        Raises:
            Fatal: of a handler, of `GroupMember.poll_records` or of `GroupMember.watch_progress`.
        """
        self._failure = asyncio.get_running_loop().create_future()
        try:
            await self._membership.join_group()
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(self._commit_periodically()),
                    tasks.create_task(self._membership.watch_progress(self._held_partitions)),
                    tasks.create_task(_wait_for_failure(self._failure)),
                ]
                while not stopping.is_set():
                    await self._poll_once()
                for task in background:
                    task.cancel()
            await self._release_all(_RELEASE_AT_STOP_S)
        finally:
            for owned in self._owned.values():
                owned.cancel_work()
            await self._membership.leave_group()

    def _fail_runner(self, error: Exception) -> None:
        """End `consume_records` with this error: for the tasks that work beside it."""
        if self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    async def _poll_once(self) -> None:
        held = set(self._held_partitions())
        pollable = self._membership.assigned_partitions() - held if held else None
        if pollable is not None and not pollable:
            # Every partition has a backlog. Asking aiokafka for no partition would ask for all of them.
            self._backlog_emptied.clear()
            await wait_for_event(self._backlog_emptied, 0.5)
            return
        for partition, records in (await self._membership.poll_records(pollable)).items():
            if partition in self._lost:
                continue
            owned = self._own_partition(partition)
            owned.backlog.extend(records)
            self._take_from_backlog(owned)
        await self._after_poll()

    def _held_partitions(self) -> list[Partition]:
        return [partition for partition, owned in self._owned.items() if owned.backlog]

    def _take_from_backlog(self, owned: P) -> None:
        """Take what the partition has capacity for, up to a record that cannot be decoded yet."""
        while owned.backlog and owned.has_capacity():
            raw = owned.backlog[0]
            content: IncomingRecord | Undecodable
            try:
                content = decode_record(raw, owned.partition.topic, self._codec)
            except NotDecodableYet as error:
                self._record_waiting(owned, error, raw)
                return
            except Undecodable as error:
                content = error
            owned.backlog.popleft()
            self._take_record(owned, raw, content)
        if owned.waits_for is not None:
            owned.waits_for = None
            self._count_waiting()
        if not owned.backlog:
            self._backlog_emptied.set()

    async def _write_dead_letter(self, owned: P, raw: RawRecord, failure: RecordFailure, reason: str) -> bool:
        """Returns once the dead letter is acknowledged: a record is never stepped over in silence.

        False when the partition was released before that; the record is then the next owner's.
        """
        topic = owned.partition.topic
        attempt = 0
        while not owned.is_released.is_set():
            attempt += 1
            try:
                await self._dead_letters.write_dead_letter(topic, raw, failure)
            except Retryable as error:
                # The record stays uncommitted until its dead letter is written, so its partition does not go on.
                log.warning("dead_letter_write_failed", topic=topic.name, offset=raw.offset, reason=str(error))
                await wait_for_event(owned.is_released, self._pause_s(attempt))
            else:
                KAFKA_DEAD_LETTERS.labels(self._group, topic.name, reason).inc()
                # The record is in `<topic>.dlq` and is not tried again; an operator decides what becomes of it.
                log.error(
                    "record_dead_lettered",
                    group=self._group,
                    topic=topic.name,
                    partition=raw.partition,
                    offset=raw.offset,
                    error=type(failure.error).__name__,
                    attempts=failure.attempts,
                )
                return True
        return False

    def _pause_s(self, attempt: int) -> float:
        return backoff_s(attempt, initial_s=self._backoff_s, max_s=_MAX_BACKOFF_S)

    # Records that cannot be decoded yet

    def _record_waiting(self, owned: P, needed: NotDecodableYet, raw: RawRecord) -> None:
        if repr(owned.waits_for) == repr(needed):
            return  # the same record, looked at again
        owned.waits_for = needed
        self._count_waiting()
        where = {"group": self._group, "partition": str(owned.partition), "offset": raw.offset}
        if isinstance(needed, UnknownSchema):
            # The partition waits, and loses nothing, until the schema arrives in `schemas`. Alarm when it lasts.
            log.warning("schema_awaited", **where, fingerprint=needed.fingerprint.hex())
        else:
            # The partition waits, and loses nothing, until a build that has the symbol takes it over. Alarm.
            log.warning("upgrade_awaited", **where, reason=str(needed))

    def _resume_waiting(self) -> None:
        """A schema was learned: the partitions that waited for it go on. One that waits for an upgrade never does."""
        for owned in self._owned.values():
            needed = owned.waits_for
            if isinstance(needed, UnknownSchema) and self._codec.knows_fingerprint(needed.fingerprint):
                self._take_from_backlog(owned)

    def _count_waiting(self) -> None:
        waiting = [owned.waits_for for owned in self._owned.values()]
        for gauge, kind in (
            (KAFKA_PARTITIONS_AWAITING_SCHEMA, UnknownSchema),
            (KAFKA_PARTITIONS_AWAITING_UPGRADE, UnknownSymbol),
        ):
            gauge.labels(self._group).set(sum(isinstance(needed, kind) for needed in waiting))

    # Ownership

    def on_assigned(self, partitions: Sequence[Partition]) -> None:
        for partition in partitions:
            self._own_partition(partition)

    def _own_partition(self, partition: Partition) -> P:
        # From the callback or from the first record: aiokafka may deliver records before it calls back.
        owned = self._owned.get(partition)
        if owned is None:
            owned = self._owned[partition] = self._create_owned_partition(partition)
        return owned

    async def on_revoked(self) -> None:
        self._lost.clear()
        await self._release_all(_RELEASE_S)

    async def _release_all(self, timeout_s: float) -> None:
        """Begin nothing more, wait for what runs, commit what is done, cancel the rest."""
        leaving, self._owned = self._owned, {}
        self._count_waiting()
        running, self._releasing = self._releasing, set()  # those of lost partitions too: they must end before a rejoin
        for owned in leaving.values():
            running |= owned.begin_release()
        if running:
            await asyncio.wait(running, timeout=timeout_s)
        # Before the rest is cancelled: work that a cancellation cuts off must not count as done.
        await self._commit_offsets(leaving)
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    # Commits

    async def _commit_periodically(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_INTERVAL_S)
            owned = dict(self._owned)
            for partition in await self._commit_offsets(owned):
                self._drop_lost(owned[partition])

    async def _commit_offsets(self, partitions: Mapping[Partition, P]) -> Set[Partition]:
        """Commit what advanced since the last commit; the partitions returned turned out to be another member's."""
        offsets: dict[Partition, int] = {}
        for partition, owned in partitions.items():
            committable = owned.find_committable()
            if committable is not None and committable != owned.committed_offset:
                offsets[partition] = committable
        result = await self._membership.commit_offsets(offsets)
        for partition in result.committed:
            partitions[partition].committed_offset = offsets[partition]
        lost: Set[Partition] = result.lost
        return lost

    def _drop_lost(self, owned: P) -> None:
        """Another member has it: drop the work, and ignore what may still come until the group has rejoined.

        Mostly the rejoin has begun before we hear of the loss: aiokafka asks for it first and refuses the commit then.
        Another object than the one that was to be committed is of the new generation, and is ours. Nothing is awaited
        here, so that no rejoin can run in the middle; the one that follows waits for what is being released.
        """
        if self._owned.get(owned.partition) is not owned:
            return
        self._lost.add(owned.partition)
        del self._owned[owned.partition]
        self._count_waiting()
        owned.cancel_work()
        self._releasing |= owned.begin_release()


def _describe_need(needed: NotDecodableYet) -> str:
    if isinstance(needed, UnknownSchema):
        return f"schema {needed.fingerprint.hex()}"
    return f"this service to be upgraded: {needed}"


async def _wait_for_failure(failure: "asyncio.Future[None]") -> None:
    await failure
