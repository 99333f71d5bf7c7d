"""Trades as a review gives them."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from ingestion_fakes import build_trade
from pydantic import TypeAdapter, ValidationError

from ingestion.api.review import MAX_REVIEW_BYTES
from ingestion.api.trade_fields import MAX_TRADES, CorrectedTrade, ISINFilter
from ingestion.domain.trade import TRADE_FIELDS


def test_every_field_of_a_trade_can_be_corrected() -> None:
    assert tuple(CorrectedTrade.model_fields) == TRADE_FIELDS
    read = build_trade(trade_time="09:04:12", account="12 34", wkn="840400").to_json()
    assert CorrectedTrade.model_validate(read).to_json() == read


@pytest.mark.parametrize(
    "wrong",
    [
        {"isin": "DE0008404006"},
        {"quantity": "NaN"},
        {"quantity": "0"},
        {"quantity": "-5"},
        {"direction": "hold"},
        {"trade_date": "1.4.2026"},
        {"trade_date": "1926-04-01"},
        {"settlement_date": "2206-04-01"},
        {"trade_date": (datetime.now(UTC).date() + timedelta(days=3)).isoformat()},
        {"trade_time": "9 o'clock"},
        {"trade_time": "29:59"},
        {"currency": "euro"},
        {"currency": "XXX"},
        {"foreign_currency": "EUX"},
        {"wkn": "8404\n00"},
        {"price": Decimal("1e30")},
        {"total": "1"},
    ],
)
def test_what_no_trade_has_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CorrectedTrade.model_validate(wrong)


def test_a_trade_of_today_and_prices_in_pence_are_taken() -> None:
    today = datetime.now(UTC).date().isoformat()
    given = {"trade_date": today, "trade_time": "23:59", "currency": "GBP", "foreign_currency": "GBX"}
    written = CorrectedTrade.model_validate(given).to_json()
    assert {name: written[name] for name in given} == given


def test_as_many_trades_as_a_statement_may_have_are_no_larger_than_a_review() -> None:
    usual = build_trade(account="12 34 56 78", account_name="Anna Muster", security_name="Muster Holding AG " * 4)
    given = {"action": "correct", "fields": {"trades": [usual.to_json()] * MAX_TRADES}}
    assert len(json.dumps(given)) < MAX_REVIEW_BYTES


def test_a_list_is_not_asked_for_by_what_is_no_isin() -> None:
    wanted = TypeAdapter[str](ISINFilter)
    assert wanted.validate_python("de0008404005") == "DE0008404005"
    for wrong in ("DE0008404006", "DE000840400"):
        with pytest.raises(ValidationError):
            wanted.validate_python(wrong)
