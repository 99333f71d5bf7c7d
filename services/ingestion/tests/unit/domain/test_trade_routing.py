from decimal import Decimal
from typing import Any

import pytest
from ingestion_fakes import build_trade

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade_routing import find_trade_review_reason


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"quantity": None}, "fields_missing"),
        ({"is_cancellation": True}, "trade_cancelled"),
        ({"settled_amount": Decimal(300)}, "totals_do_not_add_up"),
        ({"gross_amount": None}, None),
    ],
)
def test_only_a_trade_that_is_whole_and_adds_up_is_confirmed(changed: dict[str, Any], reason: str | None) -> None:
    fields = {"trades": [build_trade().to_json(), build_trade(**changed).to_json()]}
    assert find_trade_review_reason(fields, (), ()) == reason


def test_a_document_of_trades_without_one_needs_a_person() -> None:
    assert find_trade_review_reason({"trades": []}, (), ()) == "fields_missing"


def test_a_security_that_no_trade_is_in_needs_a_person() -> None:
    assert find_trade_review_reason({"trades": [build_trade().to_json()]}, ("trades",), ()) == "trades_not_read"


def test_what_was_not_read_may_hold_another_trade() -> None:
    unread = (ReviewReason.NO_TEXT_LAYER,)
    assert find_trade_review_reason({"trades": [build_trade().to_json()]}, (), unread) == "no_text_layer"


def test_a_corrected_note_is_for_a_person_whether_it_names_the_former_one_or_not() -> None:
    made, taken_back = build_trade(), build_trade(is_cancellation=True, settled_amount=None)
    assert find_trade_review_reason({"trades": [made.to_json(), taken_back.to_json()]}, (), ()) == "trade_cancelled"
    assert find_trade_review_reason({"trades": [made.to_json()]}, ("corrected",), ()) == "trade_cancelled"
