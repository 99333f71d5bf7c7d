"""What comes of a claim: which outcome is answered how, and what is judged only by a directory that is up to date."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from worker_bench import Bench, doc_source, now, until, working

from mailroom_common.events import (
    ConnectionKind,
    DocSource,
    DocSourceState,
    SyncReason,
)
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, RunDeferred, RunOutcome, RunUnfinished


async def test_an_unknown_source_is_judged_only_by_a_directory_that_caught_up() -> None:
    bench = Bench()
    bench.directory.unread["s"] = doc_source("s")
    async with working(bench):
        bench.ask("s")
        await until(bench.log.tombstones)
    assert bench.runs.keys == ["s"]


async def test_a_re_list_is_run_by_the_version_that_asks_for_it() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    bench.directory.unread["s"] = doc_source("s", version=2)
    async with working(bench):
        bench.ask("s", SyncReason.REPLAY)
        await until(bench.log.tombstones)
    assert [version for _, version, _ in bench.runs.began] == [2]


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
    assert bench.states.ids_marked_full_due == ["s"]  # what resumes it finds the wish still there


async def test_an_unknown_source_is_resolved_and_leaves_no_row() -> None:
    bench = Bench()
    async with working(bench):
        bench.ask("s", SyncReason.MANUAL)
        await until(bench.log.tombstones)
    assert bench.states.ids_marked_full_due == []


async def test_a_refused_token_is_reported_and_resolved() -> None:
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


async def test_not_before_holds_whatever_the_request_says() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))
    rests_until = bench.states.rests_until["s"] = now() + timedelta(seconds=0.3)
    began_at: list[datetime] = []

    async def look(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        began_at.append(now())
        return RunCompleted()

    bench.runs.behave = look
    async with working(bench):
        bench.ask("s", SyncReason.MANUAL)
        await asyncio.sleep(0.1)
        bench.ask("s", SyncReason.CONNECT)
        await until(bench.log.tombstones)
    assert [at >= rests_until for at in began_at] == [True]
    assert bench.log.again() == []


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
        await until(
            lambda: bench.log.owned["sync-requests"].find_committable_offset(2) == 1
        )  # the committed offset moves on
        await until(bench.log.tombstones)
    assert bench.log.tombstones() == [("s", 1)]
    assert bench.connections.reported == [("s", "failing"), ("s", "synced")]


async def test_new_mail_does_not_wait_for_the_quota_of_old_mail() -> None:
    bench = Bench()
    bench.knows(doc_source("s"))

    async def wait_for_quota(source: DocSource, reasons: frozenset[SyncReason]) -> RunOutcome:
        if SyncReason.NOTIFICATION in reasons and bench.runs.keys.count("s") > 1:
            return RunCompleted()
        return RunUnfinished(not_before=now() + timedelta(minutes=2))

    bench.runs.behave = wait_for_quota
    async with working(bench):
        bench.ask("s", SyncReason.CONNECT)
        await until(bench.log.again)
        await asyncio.sleep(0.05)
        assert bench.runs.keys == ["s"], "it rests"
        bench.ask("s", SyncReason.NOTIFICATION)
        await until(bench.log.tombstones)
    assert bench.connections.reported == [("s", "synced")], "a slice that committed nothing is no success"
