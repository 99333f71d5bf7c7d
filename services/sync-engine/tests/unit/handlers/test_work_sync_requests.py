import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
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
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, RunDeferred, RunOutcome
from sync_engine.domain.work_table import Append
from sync_engine.handlers.answer_claims import AnswerClaims
from sync_engine.handlers.request_partitions import RequestPartition, RequestPartitions
from sync_engine.handlers.work_sync_requests import SyncRequestWorker

LIVE, BACKFILL = Partition(SYNC_REQUESTS, 0), Partition(SYNC_REQUESTS_BACKFILL, 0)


def now() -> datetime:
    return datetime.now(UTC)


def doc_source(key: str, version: int = 1, state: DocSourceState = DocSourceState.ACTIVE) -> DocSource:
    return DocSource(
        event_id=f"{key}-{version}",
        occurred_at=now(),
        tenant_id="acme",
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

    async def report_failing(self, source: DocSource, detail: str) -> None:
        self.reported.append((source.doc_source_id, "failing"))

    async def report_not_syncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None:
        self.reported.append((source.doc_source_id, kind))


class Log:
    """Partitions in memory: what is appended is read by the owned that stands for its owner."""

    def __init__(self) -> None:
        self.records: dict[str, list[tuple[str, Append | None]]] = {"sync-requests": [], "sync-requests-backfill": []}
        self.owned: dict[str, RequestPartition] = {}
        self.failures = 0

    async def append_record(self, topic: Topic, append: Append, *, occurred_at: datetime) -> int:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Kafka is away")
        reasons = append.reasons if append.resolves is None else None
        return self.write(topic, append.key, reasons, append=append)

    def write(
        self, topic: Topic, key: str, reasons: Iterable[SyncReason] | None, *, append: Append | None = None
    ) -> int:
        offset = len(self.records[topic.name])
        self.records[topic.name].append((key, append))
        event = None
        if reasons is not None:
            event = SyncRequest(
                event_id=f"{key}-{offset}",
                occurred_at=now(),
                tenant_id="acme",
                doc_source_id=key,
                reasons=list(reasons),
                first_requested_at=now(),
            )
        headers = {"resolves": str(append.resolves)} if append and append.resolves is not None else {}
        record = IncomingRecord(topic, 0, offset, now(), key, None if event is None else b"", headers, event)
        if owned := self.owned.get(topic.name):
            owned.read(record)
            owned.committable(offset + 1)
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

    async def run(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        self.began.append((source.doc_source_id, source.version, reasons))
        if self.behave is None:
            return RunCompleted()
        try:
            return await self.behave(source, reasons)
        except asyncio.CancelledError:
            self.cancelled.append(source.doc_source_id)
            raise

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
            append_pauses_s=(0.001, 0.002),
        )
        for partition in (LIVE, BACKFILL):
            self.open(partition)

    def open(self, partition: Partition) -> RequestPartition:
        owned = self.log.owned[partition.topic.name] = self.partitions.open_partition(partition)
        owned.reached_end()
        return owned

    def knows(self, *sources: DocSource) -> None:
        self.directory.sources.update({source.doc_source_id: source for source in sources})

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


async def test_a_request_is_run_and_resolved_by_its_own_offset() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    async with working(bench):
        offset = bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.log.tombstones() == [("s", offset)]
    assert bench.connections.reported == [("s", "synced")]


async def test_nothing_is_claimed_before_the_partition_was_read_to_its_end() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    owned = bench.log.owned["sync-requests"] = bench.partitions.open_partition(LIVE)
    async with working(bench):
        bench.ask("s")
        await asyncio.sleep(0.05)
        assert bench.runs.keys == []
        owned.reached_end()
        await until(bench.log.tombstones)


async def test_a_request_during_a_run_makes_it_go_round_again_and_writes_nothing_in_between() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    newer: list[int] = []

    async def asked_meanwhile(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        if not newer:
            newer.append(bench.ask("s"))
        return RunCompleted()

    bench.runs.behave = asked_meanwhile
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.runs.keys == ["s", "s"]
    assert bench.log.tombstones() == [("s", newer[0])]


@pytest.mark.parametrize(
    "reason",
    [SyncReason.CONNECT, SyncReason.RESUME, SyncReason.LIFECYCLE, SyncReason.MANUAL, SyncReason.REPLAY],
)
async def test_a_reason_that_asks_for_all_is_durable_before_the_run(reason: SyncReason) -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    due_at_run: list[list[str]] = []

    async def look(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        due_at_run.append(list(bench.states.full_due))
        return RunCompleted()

    bench.runs.behave = look
    async with working(bench):
        bench.ask("s", reason)
        bench.ask("s", SyncReason.NOTIFICATION)
        await until(bench.log.tombstones)
    assert due_at_run == [["s"]]


async def test_a_wish_for_a_full_run_is_durable_at_once_however_long_a_run_takes() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    hold = asyncio.Event()

    async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await hold.wait()
        return RunCompleted()

    bench.runs.behave = wait
    async with working(bench):
        bench.ask("s")
        await until(lambda: bench.runs.keys)
        wished_at = bench.ask("s", SyncReason.LIFECYCLE)
        bench.ask("s", SyncReason.NOTIFICATION)  # takes its place in the table, and for the cleaner
        assert bench.log.owned["sync-requests"].committable(wished_at + 2) == wished_at
        await until(lambda: bench.states.full_due)
        assert bench.runs.keys == ["s"]
        await until(lambda: bench.log.owned["sync-requests"].committable(wished_at + 2) == wished_at + 1)
        hold.set()
        await until(bench.log.tombstones)


async def test_while_postgres_is_away_requests_stay_as_they_are() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    bench.states.is_reachable = False
    async with working(bench):
        bench.ask("s", SyncReason.LIFECYCLE)
        await asyncio.sleep(0.2)
        assert bench.log.owned["sync-requests"].committable(1) == 0
        assert bench.log.tombstones() == []
        bench.states.is_reachable = True
        await until(bench.log.tombstones)
    assert bench.states.full_due == ["s"]


async def test_a_failed_run_is_asked_for_again_and_rests() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    failed_at: list[datetime] = []

    async def fails_once(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        if not failed_at:
            failed_at.append(now())
            return RunDeferred(now() + timedelta(seconds=0.2), "503")
        assert now() >= failed_at[0] + timedelta(seconds=0.2)
        return RunCompleted()

    bench.runs.behave = fails_once
    async with working(bench):
        bench.ask("s")
        await until(bench.log.again)
        await until(lambda: bench.log.owned["sync-requests"].committable(2) == 1)  # the committed offset moves on
        await until(bench.log.tombstones)
    assert bench.log.tombstones() == [("s", 1)]
    assert bench.connections.reported == [("s", "failing"), ("s", "synced")]


async def test_not_before_holds_whatever_the_request_says() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    bench.states.rests_until["s"] = now() + timedelta(seconds=0.3)
    async with working(bench):
        bench.ask("s", SyncReason.MANUAL)
        await asyncio.sleep(0.1)
        bench.ask("s", SyncReason.CONNECT)
        await asyncio.sleep(0.1)
        assert bench.runs.keys == []
        assert bench.log.again() == []
        await until(bench.log.tombstones)


async def test_a_crash_of_our_own_puts_the_source_off_and_loses_nothing() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    crashes = [KeyError("bug")]

    async def crash_once(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        if crashes:
            raise crashes.pop()
        return RunCompleted()

    bench.runs.behave = crash_once
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.runs.keys == ["s", "s"]


async def test_an_unknown_source_is_judged_only_by_a_directory_that_caught_up() -> None:
    bench = Bench()
    bench.directory.unread["s"] = doc_source("s")
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.runs.keys == ["s"]


async def test_no_source_is_judged_while_the_directory_cannot_catch_up() -> None:
    bench = Bench()
    bench.directory.is_reachable = False
    async with working(bench):
        bench.ask("s")
        await until(lambda: bench.directory.catch_ups)
        await asyncio.sleep(0.05)
    assert bench.log.tombstones() == []


@pytest.mark.parametrize("state", [DocSourceState.PENDING, DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_source_that_cannot_be_synced_is_resolved_without_a_run(state: DocSourceState) -> None:
    bench = Bench()
    bench.knows(doc_source("s", state=state))
    async with working(bench):
        offset = bench.ask("s", SyncReason.MANUAL)
        await until(bench.log.tombstones)
    assert bench.log.tombstones() == [("s", offset)]
    assert bench.runs.keys == []
    assert bench.states.full_due == ["s"]  # what resumes it finds the wish still there


async def test_an_unknown_source_is_resolved_and_leaves_no_row() -> None:
    bench = Bench()
    async with working(bench):
        bench.ask("s", SyncReason.MANUAL)
        await until(bench.log.tombstones)
    assert bench.states.full_due == []


async def test_a_refused_token_is_told_and_resolved() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))

    async def refused(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        return NotSyncable("invalid_grant", ConnectionKind.TOKEN_REFUSED)

    bench.runs.behave = refused
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.connections.reported == [("s", ConnectionKind.TOKEN_REFUSED)]


async def test_a_refusal_is_not_believed_where_a_newer_version_of_the_source_was_not_read_yet() -> None:
    bench = Bench()
    bench.knows(doc_source("s", version=1))
    bench.directory.unread["s"] = replace(doc_source("s", version=2), grant_generation=2)

    async def refuse_the_old_grant(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        return RunCompleted() if source.grant_generation == 2 else NotSyncable("refused", ConnectionKind.TOKEN_REFUSED)

    bench.runs.behave = refuse_the_old_grant
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert [version for _, version, _ in bench.runs.began] == [1, 2]
    assert bench.connections.reported == [("s", "synced")]


async def test_an_append_is_repeated_until_kafka_takes_it_and_then_the_source_runs_again() -> None:
    bench = Bench(max_concurrent=1)
    bench.knows(doc_source("s"), doc_source("other"))
    bench.log.failures = 12
    async with working(bench):
        bench.ask("s")
        await until(lambda: bench.log.failures < 8)
        bench.ask("other")
        await until(lambda: len(bench.runs.keys) == 2)  # the slot is free, however long the answer takes
        await until(lambda: len(bench.log.tombstones()) == 2)
        assert bench.runs.keys == ["s", "other"]
        bench.ask("s")
        await until(lambda: len(bench.log.tombstones()) == 3)
    assert bench.runs.keys == ["s", "other", "s"]


async def test_a_request_that_a_foreign_tombstone_shadows_is_appended_again() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    hold = asyncio.Event()

    async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await hold.wait()
        return RunCompleted()

    bench.runs.behave = wait
    async with working(bench):
        first = bench.ask("s")
        await until(lambda: bench.runs.keys)
        bench.ask("s")
        zombies = Append("s", bench.log.owned["sync-requests"].table._rows["s"].request, resolves=first)
        bench.log.write(SYNC_REQUESTS, "s", None, append=zombies)
        await until(bench.log.again)
        hold.set()
        await until(lambda: len(bench.log.tombstones()) == 2)
    assert bench.runs.keys == ["s", "s"]


async def test_one_run_per_source_at_a_time_over_both_owned() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    running = 0

    async def alone(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0.02)
        running -= 1
        return RunCompleted()

    bench.runs.behave = alone
    async with working(bench):
        bench.ask("s")
        bench.ask("s", SyncReason.REPLAY, topic=SYNC_REQUESTS_BACKFILL)
        await until(lambda: bench.log.tombstones() and bench.log.tombstones(SYNC_REQUESTS_BACKFILL))
    assert bench.runs.keys == ["s", "s"]


async def test_a_backfill_takes_one_slot_in_five_and_no_more() -> None:
    bench = Bench(max_concurrent=5)
    hold = asyncio.Event()

    async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await hold.wait()
        return RunCompleted()

    bench.runs.behave = wait
    for number in range(8):
        bench.knows(doc_source(f"old{number}"), doc_source(f"live{number}"))
        bench.ask(f"old{number}", SyncReason.REPLAY, topic=SYNC_REQUESTS_BACKFILL)
    async with working(bench):
        await until(lambda: bench.runs.keys)
        await asyncio.sleep(0.02)
        assert bench.runs.keys == ["old0"]  # idle slots are kept for live mail, which is asked for at any moment
        for number in range(8):
            bench.ask(f"live{number}")
        await until(lambda: len(bench.runs.keys) == 5)
        await asyncio.sleep(0.02)
        assert bench.runs.keys == ["old0", "live0", "live1", "live2", "live3"]
        hold.set()
        await until(lambda: len(bench.runs.keys) == 16)


async def test_runs_of_a_lost_partition_are_cancelled_and_answer_nothing() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))

    async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await asyncio.Event().wait()
        return RunCompleted()

    bench.runs.behave = wait
    async with working(bench):
        bench.ask("s")
        await until(lambda: bench.runs.keys)
        await bench.partitions.close_partition(LIVE)
        assert bench.runs.cancelled == ["s"]
        bench.runs.behave = None
        bench.open(LIVE)
        bench.ask("s")  # as the successor reads it again
        await until(bench.log.tombstones)


async def test_a_run_that_is_cancelled_before_its_first_step_frees_its_source_and_its_slot() -> None:
    bench = Bench(max_concurrent=1)
    bench.knows(doc_source("newborn"), doc_source("other"))
    async with working(bench):
        await asyncio.sleep(0.02)  # the loop waits for work
        bench.ask("newborn")  # the loop will claim it in the next turn,
        await asyncio.create_task(bench.partitions.close_partition(LIVE))  # and this runs right after it
        assert bench.runs.keys == []
        bench.open(LIVE)
        bench.ask("newborn")  # as it is read again when the partition comes back
        bench.ask("other")
        await until(lambda: len(bench.log.tombstones()) == 2)
    assert bench.runs.keys == ["newborn", "other"]


async def test_a_run_frees_its_source_only_once_and_not_what_was_claimed_after_it() -> None:
    bench = Bench(max_concurrent=1)
    bench.knows(doc_source("s"), doc_source("other"))
    bench.log.failures = 1  # the first answer is appended again only after the second owned has claimed the source
    hold = asyncio.Event()

    async def wait_in_the_second(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        if len(bench.runs.began) == 2:
            await hold.wait()
        return RunCompleted()

    bench.runs.behave = wait_in_the_second
    async with working(bench):
        bench.ask("s")
        bench.ask("s", SyncReason.REPLAY, topic=SYNC_REQUESTS_BACKFILL)
        await until(lambda: len(bench.runs.keys) == 2)
        await until(lambda: bench.log.tombstones() or bench.log.tombstones(SYNC_REQUESTS_BACKFILL))
        await asyncio.sleep(0.02)  # the first task has ended
        bench.ask("other")
        await asyncio.sleep(0.02)
        assert bench.runs.keys == ["s", "s"], "the only slot is taken"
        hold.set()
        await until(lambda: len(bench.runs.keys) == 3)


async def test_a_stop_lets_runs_end_for_a_moment_and_then_cuts_them_off() -> None:
    bench = Bench()
    bench.knows(doc_source("quick"), doc_source("slow"))

    async def take_time(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await asyncio.sleep(0.05 if source.doc_source_id == "quick" else 60)
        return RunCompleted()

    bench.runs.behave = take_time
    async with working(bench, grace_s=0.3):
        bench.ask("quick")
        bench.ask("slow")
        await until(lambda: len(bench.runs.keys) == 2)
    assert [key for key, _ in bench.log.tombstones()] == ["quick"]
    assert bench.runs.cancelled == ["slow"]
