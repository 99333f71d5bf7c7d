"""A pause or a deletion of a source reaches the tables."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from fake_states import FakeSyncStates

from mailroom_common.errors import Unavailable
from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from sync_engine.domain.message_records import SyncState
from sync_engine.handlers import apply_source_states
from sync_engine.handlers.apply_source_states import ApplySourceStates

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def source(state: DocSourceState, version: int = 1, doc_source_id: str = "s") -> DocSource:
    return DocSource(
        event_id=f"{doc_source_id}-{version}",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id=doc_source_id,
        version=version,
        provider="gmail",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
    )


@dataclass
class FakeSourceDeletions:
    """`failures` of its calls fail first; the deletions of `endless_ids` do not end before `let_end`."""

    failures: int = 0
    endless_ids: frozenset[str] = frozenset()
    let_end: asyncio.Event = field(default_factory=asyncio.Event)
    started: list[tuple[str, int]] = field(default_factory=list)  # id and version of the source
    forgotten: list[tuple[str, int]] = field(default_factory=list)

    async def forget_source(self, source: DocSource) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Postgres is away")
        self.started.append((source.doc_source_id, source.version))
        if source.doc_source_id in self.endless_ids:
            await self.let_end.wait()
        self.forgotten.append((source.doc_source_id, source.version))


@asynccontextmanager
async def applying(handler: ApplySourceStates) -> AsyncIterator[None]:
    task = asyncio.create_task(handler.apply_changes())
    try:
        async with asyncio.timeout(5):
            yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(claim: Callable[[], bool]) -> None:
    while not claim():  # noqa: ASYNC110  # the handler has no event for it
        await asyncio.sleep(0.005)


async def apply_changes(
    *changes: DocSource | None, states: FakeSyncStates | None = None, deletions: FakeSourceDeletions | None = None
) -> list[tuple[str, int]]:
    """What the tables are asked for, once nothing is due any more."""
    states, deletions = states or FakeSyncStates(), deletions or FakeSourceDeletions()
    handler = ApplySourceStates(states, deletions)
    for change in changes:
        handler.on_source_change("s", change)
    async with applying(handler):
        await until(lambda: not handler._due)
    return [*states.calls, *(("forget_source", version) for _, version in deletions.forgotten)]


async def test_a_deleting_source_is_forgotten() -> None:
    assert await apply_changes(source(DocSourceState.DELETING)) == [("forget_source", 1)]


async def test_a_pause_reaches_the_tables() -> None:
    assert await apply_changes(source(DocSourceState.PAUSED)) == [("raise_version_and_read_state", 1)]


@pytest.mark.parametrize("change", [source(DocSourceState.ACTIVE), source(DocSourceState.PENDING), None])
async def test_other_changes_are_left_to_the_runs(change: DocSource | None) -> None:
    assert await apply_changes(change) == []


async def test_a_pause_that_was_lifted_before_it_was_applied_is_not_applied() -> None:
    assert await apply_changes(source(DocSourceState.PAUSED, 1), source(DocSourceState.ACTIVE, 2)) == []


async def test_a_deletion_is_applied_also_where_its_tombstone_is_read_before_that() -> None:
    assert await apply_changes(source(DocSourceState.DELETING), None) == [("forget_source", 1)]


async def test_a_change_stays_due_while_postgres_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_source_states, "_FIRST_PAUSE_S", 0.01)
    assert await apply_changes(source(DocSourceState.DELETING), deletions=FakeSourceDeletions(failures=3)) == [
        ("forget_source", 1)
    ]


async def test_a_deletion_that_does_not_end_delays_no_pause_and_no_other_deletion() -> None:
    states = FakeSyncStates()
    big = frozenset({"big-1", "big-2", "big-3"})
    deletions = FakeSourceDeletions(endless_ids=big)
    handler = ApplySourceStates(states, deletions)
    for doc_source_id in sorted(big):
        handler.on_source_change(doc_source_id, source(DocSourceState.DELETING, 1, doc_source_id))
    async with applying(handler):
        await until(lambda: len(deletions.started) == len(big))
        handler.on_source_change("small", source(DocSourceState.DELETING, 4, "small"))
        handler.on_source_change("paused", source(DocSourceState.PAUSED, 7, "paused"))
        await until(lambda: deletions.forgotten == [("small", 4)])
        await until(lambda: states.calls == [("raise_version_and_read_state", 7)])


async def test_a_newer_version_of_a_source_waits_for_the_older_one() -> None:
    deletions = FakeSourceDeletions(endless_ids=frozenset({"s"}))
    handler = ApplySourceStates(FakeSyncStates(), deletions)
    handler.on_source_change("s", source(DocSourceState.DELETING, 1))
    async with applying(handler):
        await until(lambda: deletions.started == [("s", 1)])
        handler.on_source_change("s", source(DocSourceState.DELETING, 2))
        await asyncio.sleep(0)
        assert deletions.started == [("s", 1)]
        deletions.let_end.set()
        await until(lambda: deletions.forgotten == [("s", 1), ("s", 2)])


async def test_of_many_pauses_at_a_start_only_some_are_written_at_once() -> None:
    at_once: list[int] = []

    class CountingStates(FakeSyncStates):
        open_calls = 0

        async def raise_version_and_read_state(self, source: DocSource) -> SyncState:
            self.open_calls += 1
            at_once.append(self.open_calls)
            await asyncio.sleep(0)
            self.open_calls -= 1
            return SyncState(source_state=str(source.state))

    handler = ApplySourceStates(CountingStates(), FakeSourceDeletions())
    for number in range(50):
        handler.on_source_change(f"s-{number}", source(DocSourceState.PAUSED, 1, f"s-{number}"))
    async with applying(handler):
        await until(lambda: not handler._due)
    assert len(at_once) == 50
    assert max(at_once) == 2
