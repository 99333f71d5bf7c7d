from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import orjson
import pytest
from ingestion_fakes import build_trade

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.model_answer import ModelUnusable
from ingestion.domain.model_trade_question import TRADE_DATES, TRADE_NUMBERS, TRADE_SCHEMA, TRADE_TEXTS
from ingestion.domain.model_trades import ModelTrades, combine_trades, parse_trades
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.trade import Direction, Trade
from mailroom_common.events import ResultStatus

WHOLE = build_trade()
NOTHING: frozenset[str] = frozenset()
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NO_TRADE)


def read_locally(*trades: Trade, reason: ReviewReason = ReviewReason.FIELDS_MISSING) -> DocumentOutcome:
    return DocumentOutcome(
        status=ResultStatus.NEEDS_REVIEW,
        reason=reason,
        document_type="contract_note",
        extraction={"trades": [trade.to_json() for trade in trades]},
        confidence=0.4,
        reader="trade-rules/1",
    )


def combine(
    local: DocumentOutcome, *theirs: Trade, unprinted: frozenset[str] = NOTHING, kind: str | None = "contract_note"
) -> DocumentOutcome:
    answer = ModelTrades(kind, theirs)
    return combine_trades(local, answer, [unprinted for _ in theirs], unread=(), model="m")


def test_what_the_rules_left_open_is_filled_in_and_proven_by_arithmetic() -> None:
    local = read_locally(replace(WHOLE, quantity=None))
    found = combine(local, WHOLE)
    assert (found.status, found.confidence, found.reader) == (ResultStatus.COMPLETED, 0.9, "trade-rules/1+m")
    assert [trade["quantity"] for trade in found.list_trades()] == ["10"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (replace(WHOLE, quantity=None, price=None), replace(WHOLE, price=None)),
        (replace(WHOLE, isin=None, fees=None), replace(WHOLE, fees=None)),
        (replace(WHOLE, isin=None), replace(WHOLE, trade_date=None)),
    ],
    ids=["no price", "costs that are not known", "a day that only one saw"],
)
def test_what_no_arithmetic_proves_is_less_certain_than_a_trade_must_be(ours: Trade, theirs: Trade) -> None:
    found = combine(read_locally(ours), theirs)
    assert found.confidence == 0.8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("quantity", Decimal(11)),
        ("isin", "US0378331005"),
        ("trade_date", date(2026, 4, 2)),
        ("direction", Direction.SELL),
        ("settled_amount", Decimal("200.05")),
        ("is_cancellation", True),
    ],
)
def test_where_both_read_a_value_ours_stands_and_a_person_sees_theirs(name: str, value: Any) -> None:
    theirs: Any = {name: value}
    found = combine(read_locally(WHOLE), replace(WHOLE, **theirs))
    assert (found.status, found.reason, found.confidence) == (ResultStatus.NEEDS_REVIEW, "readers_disagree", 0.4)
    assert found.extraction is not None
    assert found.extraction["trades"] == [WHOLE.to_json()]
    assert found.extraction["model_values"] == {"trades": [{name: replace(WHOLE, **theirs).to_json()[name]}]}


def test_two_ways_to_write_a_name_are_no_disagreement() -> None:
    local = read_locally(replace(WHOLE, security_name="ALLIANZ SE"))
    assert combine(local, replace(WHOLE, security_name="Allianz SE NA O.N.")) == local


def test_a_value_that_is_not_on_the_page_counts_for_nothing() -> None:
    found = combine(read_locally(replace(WHOLE, isin=None)), WHOLE, unprinted=frozenset({"isin"}))
    assert (found.reason, found.extraction) == ("model_unconfirmed", read_locally(replace(WHOLE, isin=None)).extraction)


@pytest.mark.parametrize("missing", [{"direction": None}, {"settled_amount": None, "gross_amount": None}])
def test_a_direction_or_an_amount_that_a_model_alone_saw_is_for_a_person(missing: dict[str, Any]) -> None:
    theirs = replace(WHOLE, gross_amount=missing.get("gross_amount", WHOLE.gross_amount))
    found = combine(read_locally(replace(WHOLE, **missing)), theirs)
    assert (found.status, found.reason) == (ResultStatus.NEEDS_REVIEW, "model_unconfirmed")


def test_another_number_of_trades_is_for_a_person_with_ours_standing() -> None:
    found = combine(read_locally(WHOLE), WHOLE, WHOLE)
    assert (found.reason, len(found.list_trades())) == ("readers_disagree", 1)
    assert combine(read_locally(WHOLE), kind=None).reason == "readers_disagree"


def test_trades_that_only_a_model_saw_are_shown_and_never_completed() -> None:
    for local, reason in ((read_locally(), "model_unconfirmed"), (SKIPPED, "readers_disagree")):
        found = combine(local, WHOLE)
        assert (found.status, found.reason) == (ResultStatus.NEEDS_REVIEW, reason)
        assert found.confidence == 0.5
        assert [trade["isin"] for trade in found.list_trades()] == [WHOLE.isin]


def test_a_model_that_sees_no_trade_either_changes_nothing() -> None:
    assert combine(SKIPPED, kind=None) == SKIPPED


def test_a_reason_that_a_model_cannot_settle_stays() -> None:
    local = read_locally(replace(WHOLE, isin=None), reason=ReviewReason.TRADES_NOT_READ)
    assert combine(local, WHOLE).reason == "trades_not_read"


ANSWER: dict[str, Any] = {
    **dict.fromkeys((*TRADE_TEXTS, *TRADE_DATES, *TRADE_NUMBERS)),
    "direction": "buy",
    "is_cancellation": False,
    "quantity": "10",
    "trade_date": "2026-04-01",
}


def answer(kind: str = "contract_note", **changed: Any) -> str:
    return orjson.dumps({"document_type": kind, "trades": [{**ANSWER, **changed}]}).decode()


def test_an_answer_becomes_trades() -> None:
    trade = Trade(direction=Direction.BUY, quantity=Decimal(10), trade_date=date(2026, 4, 1))
    assert parse_trades(answer()) == ModelTrades("contract_note", (trade,))
    assert parse_trades(answer("other")).document_type is None
    assert TRADE_SCHEMA["properties"]["trades"]["items"]["required"] == [
        "direction",
        "is_cancellation",
        *list(ANSWER)[:15],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        answer("invoice"),
        answer(quantity="1e9"),
        answer(quantity=10),
        answer(direction="hold"),
        answer(trade_date="01.04.2026"),
        answer(is_cancellation="no"),
        answer(isin="X" * 501),
    ],
)
def test_an_answer_of_another_form_is_none(text: str) -> None:
    with pytest.raises(ModelUnusable):
        parse_trades(text)
