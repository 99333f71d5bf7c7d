"""When two documents state one trade, by the fields that each of them has."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingestion_fakes import build_trade

from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE, Direction
from ingestion.domain.trade_matching import Similarity, StatedTrade, build_match_key, compare_trades

WHOLE: dict[str, Any] = {"reference": "71-234567", "account": "DE 12 3456 7890", "account_name": "Acme Ltd"}


def state(document_type: str = CONTRACT_NOTE, content: str = "", **changed: Any) -> StatedTrade:
    """A trade as a document of its own bytes states it; what is not given is what the other one says too."""
    trade = build_trade(**{**WHOLE, **changed})
    return StatedTrade(trade=trade, document_type=document_type, content_sha256=content or str(id(trade)))


@pytest.mark.parametrize(
    ("changed", "similarity"),
    [
        ({}, Similarity.CERTAIN),
        ({"reference": "71 234567"}, Similarity.CERTAIN),
        ({"reference": None}, Similarity.POSSIBLE),
        ({"reference": "12"}, Similarity.POSSIBLE),  # the number of a line
        ({"reference": "71234568"}, Similarity.DIFFERENT),
        ({"account": None, "account_name": None}, Similarity.CERTAIN),
        ({"account": "34567890"}, Similarity.CERTAIN),  # printed without its branch
        # Up to its first blank only, as an earlier reader read it: nothing speaks for two trades.
        ({"account": "DE 12", "account_name": None, "reference": None}, Similarity.POSSIBLE),
        ({"account": "DE 12", "account_name": "Miller", "reference": None}, Similarity.DIFFERENT),
        ({"account": "9999999999"}, Similarity.POSSIBLE),  # an order that is split over accounts
        ({"account": "9999999999", "reference": None}, Similarity.DIFFERENT),
        ({"account": None, "account_name": "ACME"}, Similarity.CERTAIN),
        ({"account": None, "account_name": "Miller", "reference": None}, Similarity.DIFFERENT),
        ({"account": None, "account_name": "Acme Holding", "reference": None}, Similarity.POSSIBLE),
        ({"price": None}, Similarity.CERTAIN),
        ({"price": Decimal("20.51")}, Similarity.POSSIBLE),
        ({"price": Decimal("20.51"), "reference": None}, Similarity.DIFFERENT),
        ({"price": Decimal("20.5049"), "reference": None}, Similarity.POSSIBLE),  # rounded by the other one
        ({"price": Decimal(22), "foreign_currency": "USD", "reference": None}, Similarity.POSSIBLE),
        ({"isin": "US0378331005"}, Similarity.DIFFERENT),
        ({"isin": None, "wkn": "840400"}, Similarity.CERTAIN),  # which is in the ISIN
        ({"isin": None, "wkn": "840401"}, Similarity.DIFFERENT),
        ({"isin": None, "ticker": "ALV", "reference": None}, Similarity.POSSIBLE),
        ({"isin": None, "ticker": "ALV", "reference": None, "price": None}, Similarity.DIFFERENT),
    ],
)
def test_what_both_notes_say_decides(changed: dict[str, Any], similarity: Similarity) -> None:
    assert compare_trades(state(), state(**changed)) is similarity
    assert compare_trades(state(**changed), state()) is similarity


def test_a_statement_lists_what_a_note_says_also_under_a_reference_of_another_kind() -> None:
    assert compare_trades(state(), state(ACTIVITY_STATEMENT, reference=None)) is Similarity.CERTAIN
    assert compare_trades(state(), state(ACTIVITY_STATEMENT, reference="B-889900")) is Similarity.CERTAIN
    assert compare_trades(state(), state(ACTIVITY_STATEMENT, reference=None, price=None)) is Similarity.POSSIBLE
    unnamed = state(ACTIVITY_STATEMENT, reference=None, account=None, account_name=None)
    assert compare_trades(state(), unnamed) is Similarity.POSSIBLE


def test_the_same_file_in_two_mailboxes_has_the_same_trades() -> None:
    bare: dict[str, Any] = {"reference": None, "account": None, "account_name": None, "isin": None, "ticker": "ALV"}
    assert compare_trades(state(content="a", **bare), state(content="b", **bare)) is Similarity.POSSIBLE
    assert compare_trades(state(content="a", **bare), state(content="a", **bare)) is Similarity.CERTAIN


def test_direction_quantity_and_day_are_never_left_to_a_comparison() -> None:
    key = build_match_key(build_trade())
    assert build_match_key(build_trade(quantity=Decimal("10.00"), price=None, isin=None)) == key
    assert build_match_key(build_trade(quantity=Decimal("10.01"))) != key
    assert build_match_key(build_trade(direction=Direction.SELL)) != key
    assert build_match_key(build_trade(quantity=Decimal("1E+999"))) != key


def test_where_one_of_them_is_unknown_only_the_same_reading_is_compared() -> None:
    unknown = build_trade(trade_date=None)
    assert build_match_key(unknown) == build_match_key(build_trade(trade_date=None, is_cancellation=True))
    assert build_match_key(unknown) != build_match_key(build_trade(trade_date=None, fees=None))


OPTIONAL = st.sampled_from([None, "one-1111", "two-2222"])
STATED = st.builds(
    state,
    document_type=st.sampled_from([CONTRACT_NOTE, ACTIVITY_STATEMENT]),
    content=st.sampled_from(["a", "b", "c"]),
    reference=OPTIONAL,
    account=OPTIONAL,
    account_name=st.sampled_from([None, "Acme Ltd", "Miller", "Acme Miller"]),
    isin=st.sampled_from([None, "DE0008404005", "US0378331005"]),
    ticker=st.sampled_from([None, "ALV", "AAPL"]),
    price=st.sampled_from([None, Decimal("20.5"), Decimal("20.504"), Decimal(21)]),
)


@given(STATED, STATED)
def test_the_order_of_two_statements_makes_no_difference(one: StatedTrade, other: StatedTrade) -> None:
    assert compare_trades(one, other) is compare_trades(other, one)
