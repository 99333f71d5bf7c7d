"""What is read of a partition, and what ends when it moves."""

import asyncio

from worker_bench import LIVE, Bench, doc_source, until, working

from mailroom_common.events import (
    DocSource,
    SyncReason,
)
from mailroom_common.topics import SYNC_REQUESTS
from sync_engine.domain.run_outcomes import RunCompleted, RunOutcome
from sync_engine.domain.work_table import RecordToAppend


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


async def test_a_request_that_a_foreign_tombstone_shadows_is_appended_again() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    hold = bench.runs.hold()
    async with working(bench):
        first = bench.ask("s")
        await until(lambda: bench.runs.keys)
        bench.ask("s")
        zombies = RecordToAppend("s", bench.log.owned["sync-requests"].table._rows["s"].request, resolves=first)
        bench.log.write(SYNC_REQUESTS, "s", None, append=zombies)
        await until(bench.log.again)
        hold.set()
        await until(lambda: len(bench.log.tombstones()) == 2)
    assert bench.runs.keys == ["s", "s"]
