"""A statement that sums up partial executions is seen, whichever came first; different trades of a day are not."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from ingestion_fakes import build_trade

from ingestion.domain.summed_trades import may_be_summed
from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE, Direction
from ingestion.domain.trade_matching import StatedTrade


def note(quantity: int, **changed: Any) -> StatedTrade:
    trade = replace(build_trade(), quantity=Decimal(quantity), **changed)
    return StatedTrade(trade=trade, document_type=CONTRACT_NOTE, content_sha256=f"note {quantity}")


def statement(quantity: int, **changed: Any) -> StatedTrade:
    return replace(note(quantity, **changed), document_type=ACTIVITY_STATEMENT)


def test_a_statement_may_sum_up_some_of_the_notes() -> None:
    assert may_be_summed([statement(200)], [note(100), note(30), note(100)])
    assert may_be_summed([statement(7), statement(200)], [note(150), note(50)])


def test_a_note_may_be_in_the_sum_of_a_statement() -> None:
    assert may_be_summed([note(100)], [statement(200)])


@pytest.mark.parametrize("quantities", [(), (100,), (200,), (100, 90), (200, 100, 100), (300,)])
def test_what_makes_no_sum_is_left_to_the_ledger(quantities: tuple[int, ...]) -> None:
    assert not may_be_summed([statement(200)], [note(quantity) for quantity in quantities])


def test_a_note_that_the_statement_lists_by_itself_is_in_no_sum() -> None:
    assert not may_be_summed([note(100)], [statement(200), statement(100)])
    assert not may_be_summed([note(300)], [statement(200)])


@pytest.mark.parametrize(
    "other",
    [
        {"direction": Direction.SELL},
        {"trade_date": date(2020, 1, 2)},
        {"isin": "US0378331005", "wkn": None},
        {"account": "99999999"},
        {"is_cancellation": True},
    ],
    ids=lambda other: next(iter(other)),
)
def test_trades_that_differ_otherwise_are_in_no_sum(other: dict[str, Any]) -> None:
    parts = [note(100, account="12345678"), note(100, account="12345678")]
    assert may_be_summed([statement(200, account="12345678")], parts)
    assert not may_be_summed([statement(200, **{"account": "12345678", **other})], parts)


def test_notes_are_no_sums_of_notes_and_statements_none_of_statements() -> None:
    assert not may_be_summed([note(200)], [note(100), note(100)])
    assert not may_be_summed([statement(200)], [statement(100), statement(100)])


def test_of_very_many_notes_the_first_are_tried() -> None:
    assert not may_be_summed([statement(10**6)], [note(2**power) for power in range(1, 19)] * 20)
