"""How far a page of a word search goes, and in which steps: a session that finds nothing, and a clock that it moves."""

from typing import Any

import pytest

from ingestion.adapters import word_search
from ingestion.adapters.word_search import WordMatches, find_word_matches
from ingestion.ports.documents import DocumentFilter

NEWEST = 10_000_000


class EmptySession:
    """Each step of a search takes `step_s` seconds."""

    def __init__(self, step_s: float) -> None:
        self.now = 0.0
        self.lengths: list[int] = []
        self._step_s = step_s

    def read_clock(self) -> float:
        return self.now

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        if "has_unplaced" in statement:
            few = list(range(word_search.MAX_CHECKED_SINGLY + 1))
            return [{"has_unplaced": False, "newest": NEWEST, "oldest": 1, "singly": few}]
        *_, buckets, _before, _most = values
        self.lengths.append(sum(1 << (bucket >> 56) for bucket in buckets))
        self.now += self._step_s
        return [{"candidates": [], "matches": []}]


async def search_page(step_s: float, monkeypatch: pytest.MonkeyPatch) -> tuple[EmptySession, WordMatches]:
    session: Any = EmptySession(step_s)
    monkeypatch.setattr(word_search, "monotonic", session.read_clock)
    matches = await find_word_matches(session, "acme", DocumentFilter(text="nowhere"), before=None, limit=100)
    assert matches is not None
    assert matches.positions == []
    return session, matches


async def test_a_word_that_nobody_has_is_looked_for_in_ever_longer_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    session, matches = await search_page(0.001, monkeypatch)
    assert session.lengths[:4] == [1024, 16384, 262144, 16 * 262144]
    assert len(session.lengths) < 8
    assert matches.next_before is None


async def test_a_page_takes_a_second_and_the_next_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    session, matches = await search_page(0.08, monkeypatch)
    assert 1 < session.now < 1.1
    assert matches.next_before is not None
    assert NEWEST - matches.next_before < 14 * 1024


async def test_a_stretch_that_took_long_is_not_followed_by_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for step_s, longest in ((0.001, 16 * 262144), (0.02, 262144), (0.1, 1024)):
        session, _ = await search_page(step_s, monkeypatch)
        assert max(session.lengths) == longest


async def test_a_page_makes_a_step_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    session, matches = await search_page(5, monkeypatch)
    assert len(session.lengths) == 1
    assert matches.next_before == NEWEST // 1024 * 1024
