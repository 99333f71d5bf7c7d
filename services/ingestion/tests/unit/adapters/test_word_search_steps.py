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
        if "sampled" in statement:
            return []
        *_, buckets, _before, _most, _most_found = values
        self.lengths.append(sum(1 << (bucket >> 56) for bucket in buckets))
        self.now += self._step_s
        return [{"is_overfull": False, "candidates": [], "matches": []}]


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


class SupplierOfFormerYears(EmptySession):
    """Has the words in each of the positions from 1 to `last`, and counts the documents that the steps fetch for it."""

    last = 200_000
    fetched = 0
    looked_up = 0  # a look-up within a stretch has all of them before the first is fetched

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        if "has_unplaced" in statement:
            return await super().fetch(statement, *values)
        if "sampled" in statement:
            _, numbers, _ = values
            return [{"number": number} for number in numbers if number << 18 <= self.last][:1]
        *_, buckets, before, most, most_found = values
        await super().fetch(statement, *values)
        found = [position for bucket in buckets for position in _list_positions(bucket, 1, min(before - 1, self.last))]
        self.fetched += min(len(found), most_found + 1)
        self.looked_up += len(found)
        if len(found) > most_found:
            return [{"is_overfull": True, "candidates": [], "matches": []}]
        newest = sorted(found, reverse=True)[:most]
        return [{"is_overfull": False, "candidates": newest, "matches": newest}]


def _list_positions(bucket: int, first: int, last: int) -> range:
    bits, number = bucket >> 56, bucket & (1 << 56) - 1
    return range(max(first, number << bits), min(last, ((number + 1) << bits) - 1) + 1)


async def test_of_many_documents_of_former_years_no_more_than_a_short_stretch_is_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session: Any = SupplierOfFormerYears(0.001)
    monkeypatch.setattr(word_search, "monotonic", session.read_clock)
    matches = await find_word_matches(session, "acme", DocumentFilter(supplier="former"), before=None, limit=100)
    assert matches == WordMatches(list(range(200_000, 199_900, -1)), 199_901)
    assert session.fetched < 25_000
    assert session.looked_up < 25_000
    assert len(session.lengths) < 60


async def test_what_samples_do_not_tell_is_found_by_shorter_steps_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = SupplierOfFormerYears(0.001)
    session.last = 30_000  # before the second sample, and behind the first
    monkeypatch.setattr(word_search, "monotonic", session.read_clock)
    monkeypatch.setattr(word_search, "_find_crowded", find_none)
    matches = await find_word_matches(session, "acme", DocumentFilter(supplier="former"), before=None, limit=100)
    assert matches == WordMatches(list(range(30_000, 29_900, -1)), 29_901)
    assert session.fetched < 25_000


async def find_none(*_values: Any) -> None:
    return None
