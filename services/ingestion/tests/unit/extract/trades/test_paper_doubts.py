"""A paper in a note's dress that is none, none any more, or not yet, is not completed."""

import pytest
from note_texts import LANGUAGES, read
from trade_lists import is_completed, list_trades


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_ordinary_note_has_no_doubt(language: str) -> None:
    assert read(LANGUAGES[language]).doubts == ()


def test_a_list_of_trades_has_no_doubt() -> None:
    assert is_completed(list_trades("17/11/2026  Sell  Vodafone Group  GB00BH4HKS39  500  0.7400  370.00"))
