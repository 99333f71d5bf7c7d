from typing import Any

from reading_quality.judging import Verdict
from reading_quality.trade_judging import has_same_trades, judge_single_trade, list_trades

TRADE = {"direction": "buy", "isin": "DE0008404005", "quantity": "10", "settled_amount": "209.95", "fees": "4.95"}
TRUTH = {"trades": [TRADE], "printed": ["isin", "quantity", "settled_amount"]}


def reading(*trades: dict[str, Any]) -> dict[str, Any]:
    extraction = {"trades": [{"is_cancellation": False, **trade} for trade in trades]}
    return {"status": "completed", "reason": None, "confidence": 0.97, "extraction": extraction}


def test_only_what_is_printed_is_asked_for_and_the_side() -> None:
    judgement = judge_single_trade(TRUTH, reading({**TRADE, "quantity": "10.000", "isin": None, "direction": "sell"}))
    assert judgement.verdicts == {
        "isin": Verdict.MISSING,
        "direction": Verdict.WRONG,
        "quantity": Verdict.RIGHT,
        "settled_amount": Verdict.RIGHT,
    }
    assert judgement.is_wrong_but_completed


def test_of_two_trades_none_is_the_one() -> None:
    assert set(judge_single_trade(TRUTH, reading(TRADE, TRADE)).verdicts.values()) == {Verdict.MISSING}


def test_a_trade_that_is_taken_back_is_none() -> None:
    assert list_trades(reading({**TRADE, "is_cancellation": True})) == []


def test_several_trades_are_the_same_in_any_order() -> None:
    other = {**TRADE, "direction": "sell", "quantity": "7"}
    assert has_same_trades([TRADE, other], [other, {**TRADE, "settled_amount": "209.950"}])
    assert not has_same_trades([TRADE, other], [TRADE])
