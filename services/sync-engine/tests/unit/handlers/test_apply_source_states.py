"""A pause or a deletion of a source reaches the tables."""

import asyncio
from datetime import UTC, datetime

import pytest
from fake_states import FakeSyncStates

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from sync_engine.handlers import apply_source_states
from sync_engine.handlers.apply_source_states import ApplySourceStates

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def source(state: DocSourceState, version: int = 1) -> DocSource:
    return DocSource(
        event_id=f"s-{version}",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id="s",
        version=version,
        provider="gmail",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
    )


async def apply_changes(states: FakeSyncStates, *changes: DocSource | None) -> list[tuple[str, int]]:
    """What the tables are asked for, once nothing is due any more."""
    handler = ApplySourceStates(states)
    for change in changes:
        handler.on_source_change("s", change)
    applying = asyncio.create_task(handler.apply_changes())
    async with asyncio.timeout(5):
        while handler._due:  # noqa: ASYNC110  # the handler has no event for it
            await asyncio.sleep(0.005)
    applying.cancel()
    await asyncio.gather(applying, return_exceptions=True)
    return states.calls


async def test_a_deleting_source_is_forgotten() -> None:
    assert await apply_changes(FakeSyncStates(), source(DocSourceState.DELETING)) == [("forget_source", 1)]


async def test_a_pause_reaches_the_tables() -> None:
    assert await apply_changes(FakeSyncStates(), source(DocSourceState.PAUSED)) == [("raise_version_and_read_state", 1)]


@pytest.mark.parametrize("change", [source(DocSourceState.ACTIVE), source(DocSourceState.PENDING), None])
async def test_other_changes_are_left_to_the_runs(change: DocSource | None) -> None:
    assert await apply_changes(FakeSyncStates(), change) == []


async def test_a_pause_that_was_lifted_before_it_was_applied_is_not_applied() -> None:
    assert (
        await apply_changes(FakeSyncStates(), source(DocSourceState.PAUSED, 1), source(DocSourceState.ACTIVE, 2)) == []
    )


async def test_a_deletion_is_applied_also_where_its_tombstone_is_read_before_that() -> None:
    assert await apply_changes(FakeSyncStates(), source(DocSourceState.DELETING), None) == [("forget_source", 1)]


async def test_a_change_stays_due_while_postgres_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_source_states, "_FIRST_PAUSE_S", 0.01)
    assert await apply_changes(FakeSyncStates(failures=3), source(DocSourceState.DELETING)) == [("forget_source", 1)]
