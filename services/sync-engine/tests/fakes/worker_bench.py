"""A sync-request worker around partitions, tables and a directory in memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fake_states import FakeSyncStates

from mailroom_common.errors import Unavailable
from mailroom_common.events import (
    Access,
    ConnectionKind,
    DocSource,
    DocSourceState,
    Profile,
    SyncReason,
    SyncRequest,
)
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.topics import SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL, Topic
from sync_engine.domain.run_outcomes import RunCompleted, RunOutcome
from sync_engine.domain.work_table import RecordToAppend
from sync_engine.handlers.answer_claims import AnswerClaims
from sync_engine.handlers.request_partitions import RequestPartition, RequestPartitions
from sync_engine.handlers.work_sync_requests import SyncRequestWorker

LIVE, BACKFILL = Partition(SYNC_REQUESTS, 0), Partition(SYNC_REQUESTS_BACKFILL, 0)


def now() -> datetime:
    return datetime.now(UTC)


def doc_source(
    key: str, version: int = 1, state: DocSourceState = DocSourceState.ACTIVE, tenant_id: str = "acme"
) -> DocSource:
    return DocSource(
        event_id=f"{key}-{version}",
        occurred_at=now(),
        tenant_id=tenant_id,
        doc_source_id=key,
        version=version,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        address="in@acme.example",
        state=state,
        grant_generation=1,
    )


@dataclass
class Directory:
    """`unread` is what the topic holds beyond what was read: a catch-up brings it in."""

    sources: dict[str, DocSource] = field(default_factory=dict)
    unread: dict[str, DocSource] = field(default_factory=dict)
    is_reachable: bool = True
    catch_ups: int = 0

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self.sources.get(doc_source_id)

    async def catch_up(self, timeout_s: float) -> bool:
        self.catch_ups += 1
        if self.is_reachable:
            self.sources.update(self.unread)
        return self.is_reachable


@dataclass
class Connections:
    reported: list[tuple[str, str]] = field(default_factory=list)

    async def report_synced(self, source: DocSource, completed: RunCompleted) -> None:
        self.reported.append((source.doc_source_id, "synced"))

    async def report_failing(self, source: DocSource, detail: str, *, is_failure: bool) -> None:
        self.reported.append((source.doc_source_id, "failing" if is_failure else "deferred"))

    async def report_not_syncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None:
        self.reported.append((source.doc_source_id, kind))


class Log:
    """Partitions in memory: what is appended is read by the owned that stands for its owner."""

    def __init__(self) -> None:
        self.records: dict[str, list[tuple[str, RecordToAppend | None]]] = {
            "sync-requests": [],
            "sync-requests-backfill": [],
        }
        self.owned: dict[str, RequestPartition] = {}
        self.tenants: dict[str, str] = {}
        self.failures = 0

    async def append_record(self, topic: Topic, append: RecordToAppend, *, occurred_at: datetime) -> int:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Kafka is away")
        reasons = append.reasons if append.resolves is None else None
        return self.write(topic, append.key, reasons, append=append)

    def write(
        self, topic: Topic, key: str, reasons: Iterable[SyncReason] | None, *, append: RecordToAppend | None = None
    ) -> int:
        offset = len(self.records[topic.name])
        self.records[topic.name].append((key, append))
        event = None
        if reasons is not None:
            event = SyncRequest(
                event_id=f"{key}-{offset}",
                occurred_at=now(),
                tenant_id=self.tenants.get(key, "acme"),
                doc_source_id=key,
                reasons=list(reasons),
                first_requested_at=now(),
            )
        headers = {"resolves": str(append.resolves)} if append and append.resolves is not None else {}
        record = IncomingRecord(topic, 0, offset, now(), key, None if event is None else b"", headers, event)
        if owned := self.owned.get(topic.name):
            owned.read_record(record)
            owned.find_committable_offset(offset + 1)
        return offset

    def tombstones(self, topic: Topic = SYNC_REQUESTS) -> list[tuple[str, int]]:
        appends = (append for _, append in self.records[topic.name] if append)
        return [(append.key, append.resolves) for append in appends if append.resolves is not None]

    def again(self, topic: Topic = SYNC_REQUESTS) -> list[str]:
        return [append.key for _, append in self.records[topic.name] if append and append.resolves is None]


Behaviour = Callable[[DocSource, frozenset[SyncReason]], Awaitable[RunOutcome]]


@dataclass
class Runs:
    behave: Behaviour | None = None
    began: list[tuple[str, int, frozenset[SyncReason]]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)

    async def sync_mailbox(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        self.began.append((source.doc_source_id, source.version, reasons))
        if self.behave is None:
            return RunCompleted()
        try:
            return await self.behave(source, reasons)
        except asyncio.CancelledError:
            self.cancelled.append(source.doc_source_id)
            raise

    def hold(self, *, from_run: int = 1) -> asyncio.Event:
        """Runs wait for the event from now on, or only those from the given one on."""
        is_released = asyncio.Event()

        async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
            if len(self.began) >= from_run:
                await is_released.wait()
            return RunCompleted()

        self.behave = wait
        return is_released

    @property
    def keys(self) -> list[str]:
        return [key for key, _, _ in self.began]


class Bench:
    def __init__(self, *, max_concurrent: int = 10) -> None:
        self.runs, self.states, self.directory = Runs(), FakeSyncStates(), Directory()
        self.connections, self.log = Connections(), Log()
        self.stopping = asyncio.Event()
        self.partitions = RequestPartitions()
        self.worker = SyncRequestWorker(
            partitions=self.partitions,
            answers=AnswerClaims(
                runs=self.runs,
                states=self.states,
                sources=self.directory,
                connections=self.connections,
                clock=now,
            ),
            states=self.states,
            requests=self.log,
            clock=now,
            max_concurrent=max_concurrent,
            append_pause_s=0.001,
        )
        for partition in (LIVE, BACKFILL):
            self.open(partition)

    def open(self, partition: Partition) -> RequestPartition:
        owned = self.log.owned[partition.topic.name] = self.partitions.open_partition(partition)
        owned.reached_end()
        return owned

    def knows(self, *sources: DocSource) -> None:
        self.directory.sources.update({source.doc_source_id: source for source in sources})
        self.log.tenants.update({source.doc_source_id: source.tenant_id for source in sources})

    def ask(self, key: str, *reasons: SyncReason, topic: Topic = SYNC_REQUESTS) -> int:
        return self.log.write(topic, key, reasons or (SyncReason.NOTIFICATION,))


@asynccontextmanager
async def working(bench: Bench, *, grace_s: float = 1.0) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.worker.run_worker(bench.stopping, grace_s=grace_s))
    try:
        yield
    finally:
        bench.stopping.set()
        await task


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # what is waited for is in the fakes' records
            await asyncio.sleep(0.005)
