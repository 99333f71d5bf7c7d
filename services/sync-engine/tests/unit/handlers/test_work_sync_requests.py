"""Scheduling of runs: one per source, slots, full runs that are stored first, appends that are repeated."""

import asyncio

import pytest
from worker_bench import LIVE, Bench, doc_source, now, until, working

from mailroom_common.events import (
    DocSource,
    SyncReason,
)
from mailroom_common.topics import SYNC_REQUESTS_BACKFILL
from sync_engine.domain.run_outcomes import RunCompleted, RunOutcome, RunUnfinished


async def test_a_request_is_run_and_resolved_by_its_own_offset() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    async with working(bench):
        offset = bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.log.tombstones() == [("s", offset)]
    assert bench.connections.reported == [("s", "synced")]


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
        due_at_run.append(list(bench.states.ids_marked_full_due))
        return RunCompleted()

    bench.runs.behave = look
    async with working(bench):
        bench.ask("s", reason)
        bench.ask("s", SyncReason.NOTIFICATION)
        await until(bench.log.tombstones)
    assert due_at_run == [["s"]]


async def test_a_request_for_a_full_run_is_durable_at_once_however_long_a_run_takes() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    hold = bench.runs.hold()
    async with working(bench):
        bench.ask("s")
        await until(lambda: bench.runs.keys)
        wished_at = bench.ask("s", SyncReason.LIFECYCLE)
        bench.ask("s", SyncReason.NOTIFICATION)  # takes its place in the table, and for the cleaner
        assert bench.log.owned["sync-requests"].find_committable_offset(wished_at + 2) == wished_at
        await until(lambda: bench.states.ids_marked_full_due)
        assert bench.runs.keys == ["s"]
        await until(lambda: bench.log.owned["sync-requests"].find_committable_offset(wished_at + 2) == wished_at + 1)
        hold.set()
        await until(bench.log.tombstones)


async def test_while_postgres_is_away_requests_stay_as_they_are() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    bench.states.is_reachable = False
    async with working(bench):
        bench.ask("s", SyncReason.LIFECYCLE)
        await asyncio.sleep(0.2)
        assert bench.log.owned["sync-requests"].find_committable_offset(1) == 0
        assert bench.log.tombstones() == []
        bench.states.is_reachable = True
        await until(bench.log.tombstones)
    assert bench.states.ids_marked_full_due == ["s"]


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
    hold = bench.runs.hold()
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
    hold = bench.runs.hold(from_run=2)
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


async def test_a_tenant_with_many_mailboxes_does_not_keep_another_waiting() -> None:
    bench = Bench(max_concurrent=2)
    many = [f"many{number}" for number in range(6)]
    bench.knows(*(doc_source(key, tenant_id="many") for key in many), doc_source("one", tenant_id="one"))
    turns: dict[str, asyncio.Event] = {}

    async def wait(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        await turns.setdefault(source.doc_source_id, asyncio.Event()).wait()
        return RunCompleted()

    bench.runs.behave = wait
    async with working(bench):
        for key in many:
            bench.ask(key)
        await until(lambda: len(bench.runs.keys) == 2)
        bench.ask("one")
        turns["many0"].set()
        await until(lambda: len(bench.runs.keys) == 3)
        assert bench.runs.keys == ["many0", "many1", "one"]
        for key in (*many, "one"):
            turns.setdefault(key, asyncio.Event()).set()
        await until(lambda: len(bench.log.tombstones()) == 7)


async def test_a_run_that_gives_its_slot_back_goes_on_after_those_that_wait() -> None:
    bench = Bench(max_concurrent=1)
    bench.knows(doc_source("long"), doc_source("short"))
    slices = 3

    async def run(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        nonlocal slices
        if source.doc_source_id == "short":
            return RunCompleted()
        if slices == 3:
            bench.ask("short")
        slices -= 1
        return RunUnfinished(not_before=now(), has_progress=True) if slices else RunCompleted()

    bench.runs.behave = run
    async with working(bench):
        bench.ask("long")
        await until(lambda: len(bench.log.tombstones()) == 2)
    assert bench.runs.keys == ["long", "short", "long", "long"]
    assert bench.log.again() == ["long", "long"]
    assert [key for key, _ in bench.log.tombstones()] == ["short", "long"]
