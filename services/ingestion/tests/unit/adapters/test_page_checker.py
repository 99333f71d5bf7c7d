from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from ingestion_fakes import build_trade
from model_answers import PAGE

from ingestion.adapters.page_checker import ParserPageChecker
from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import PageEvidence

T = TypeVar("T")


class FakeParser:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: Any = None

    async def run_reader(self, function: str, source: Path | bytes, decode: Callable[[Any], T], **_: object) -> T:
        assert isinstance(source, bytes)
        self.asked = function, orjson.loads(source)
        return decode(self.answer)


async def test_page_and_answer_meet_in_the_parser_process() -> None:
    parser = FakeParser({"unprinted": ["iban"], "ambiguous": []})
    invoice = Invoice(invoice_number="7")
    assert await ParserPageChecker(parser).check_invoice(PAGE, invoice) == PageEvidence(frozenset({"iban"}))
    function, asked = parser.asked
    assert function == "ingestion.extract.page_evidence:check_invoice"
    assert asked == {"transcript": PAGE.to_json(), "invoice": invoice.to_json()}


@pytest.mark.parametrize(
    "answer", [{}, {"unprinted": ["other"], "ambiguous": []}, {"unprinted": 5, "ambiguous": []}, [], None]
)
async def test_a_process_that_answers_otherwise_is_not_believed(answer: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        await ParserPageChecker(FakeParser(answer)).check_invoice(PAGE, Invoice())


async def test_the_trades_of_an_answer_are_held_against_the_page_there_too() -> None:
    parser = FakeParser([["isin"], []])
    trades = [build_trade(), build_trade()]
    assert await ParserPageChecker(parser).check_trades(PAGE, trades) == [{"isin"}, frozenset()]
    function, asked = parser.asked
    assert (function, len(asked["trades"])) == ("ingestion.extract.trade_evidence:check_trades", 2)


@pytest.mark.parametrize("answer", [[], [["other"]], [[], []], None])
async def test_a_process_that_speaks_of_other_trades_is_not_believed(answer: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        await ParserPageChecker(FakeParser(answer)).check_trades(PAGE, [build_trade()])
