import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.events import Access, DocSource, DocSourceState, Profile, Provider
from sync_engine.handlers import follow_sources
from sync_engine.handlers.follow_sources import FollowSources

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def source(state: DocSourceState, version: int = 1) -> DocSource:
    return DocSource(
        event_id=f"s-{version}",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id="s",
        version=version,
        provider=Provider.GMAIL,
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
    )


@dataclass
class States:
    done: list[tuple[str, int]] = field(default_factory=list)
    failures: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def observe(self, of: DocSource) -> None:
        self._do("observe", of)

    async def forget(self, of: DocSource) -> None:
        self._do("forget", of)

    def _do(self, what: str, of: DocSource) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Postgres is away")
        self.done.append((what, of.version))
        self.settled.set()

    async def mark_full_due(self, doc_source_ids: Iterable[str]) -> None: ...

    async def not_before(self, of: DocSource) -> datetime | None: ...

    async def put_off(self, of: DocSource, *, detail: str, retry_after_s: float | None = None) -> datetime:
        return NOW


async def followed(states: States, *changes: DocSource | None) -> list[tuple[str, int]]:
    follow = FollowSources(states)
    for change in changes:
        follow.changed("s", change)
    following = asyncio.create_task(follow.run())
    with suppress(TimeoutError):
        async with asyncio.timeout(0.3):
            await states.settled.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return states.done


async def test_a_deleting_source_is_forgotten() -> None:
    assert await followed(States(), source(DocSourceState.DELETING)) == [("forget", 1)]


async def test_a_pause_reaches_the_tables() -> None:
    assert await followed(States(), source(DocSourceState.PAUSED)) == [("observe", 1)]


@pytest.mark.parametrize("change", [source(DocSourceState.ACTIVE), source(DocSourceState.PENDING), None])
async def test_other_changes_are_left_to_the_runs(change: DocSource | None) -> None:
    assert await followed(States(), change) == []


async def test_a_pause_that_was_lifted_before_anybody_looked_is_not_carried_over() -> None:
    assert await followed(States(), source(DocSourceState.PAUSED, 1), source(DocSourceState.ACTIVE, 2)) == []


async def test_nothing_is_forgotten_about_while_postgres_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_sources, "_AGAIN_S", 0.01)
    assert await followed(States(failures=3), source(DocSourceState.DELETING)) == [("forget", 1)]
