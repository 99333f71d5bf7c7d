"""What banks send besides notes is skipped, and no note of a trade that speaks of income is."""

import pytest
from reading_quality.drawn_notices import DrawnNotice, draw_notices, load_notice_words

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.note import read_note

WORDS = load_notice_words()
NOTICES = [notice for notice in draw_notices() if not notice.is_left_out]


def list_misread(notices: list[DrawnNotice]) -> list[str]:
    return [
        notice.family
        for notice in notices
        if read_note(Transcript.from_rows(notice.text.splitlines()).lines).has_trades != notice.has_trade
    ]


def test_each_language_has_the_same_kinds_of_papers_in_both_sets_of_words() -> None:
    kinds = {frozenset(words.notices) for pair in WORDS.values() for words in pair}
    assert len(kinds) == 1
    assert len(WORDS) == 7


@pytest.mark.parametrize("language", WORDS)
def test_a_paper_on_which_nothing_was_traded_has_no_trade(language: str) -> None:
    own = [notice for notice in NOTICES if notice.family.startswith(language) and not notice.has_trade]
    assert own
    assert list_misread(own) == []


@pytest.mark.parametrize("language", WORDS)
def test_a_note_of_a_trade_that_speaks_of_income_has_one(language: str) -> None:
    own = [notice for notice in NOTICES if notice.family.startswith(language) and notice.has_trade]
    assert own
    assert list_misread(own) == []
