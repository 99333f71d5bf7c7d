"""Which way a row of a table went: its name may have words for it."""

import pytest
from note_texts import read

from ingestion.domain.trade import Direction
from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.row_side import RowSide, SidePlace, books_something_else, find_row_side


def find(row: str) -> RowSide:
    (line,), _ = read_lines(Transcript.from_rows([row]).lines, day_first=True)
    return find_row_side(line)


@pytest.mark.parametrize(
    ("row", "side"),
    [
        ("02 Sep 2026  BEST BUY CO INC  US0865161014  Sell  20  214.60", "sell"),
        ("02 Sep 2026  Sell  BEST BUY CO INC  US0865161014  20  214.60", "sell"),
        ("02.09.2026 Verkauf BEST BUY CO INC US0865161014 20 214,60", "sell"),
        ("SAP  2026-01-06  Buy to open  50  240.15", "buy"),
        ("SAP 2026-01-06 Buy 50 240.15", "buy"),
        ("SAP SE DE0007164600 Achat 20 214,60", "buy"),
    ],
)
def test_a_side_in_a_column_is_certain_whatever_the_name_says(row: str, side: str) -> None:
    assert find(row) == RowSide(Direction(side), SidePlace.IN_COLUMN)


@pytest.mark.parametrize(
    "row", ["02.09.2026 BUY WRITE ETF US0865161014 Sell 20 214.60", "02.09.2026  Buy  SAP  Sell  20  214.60"]
)
def test_of_two_sides_none_is_chosen(row: str) -> None:
    assert find(row).direction is None


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("11 Sep 2026  BEST BUY CO INC  US0865161014  100  0.20", SidePlace.IN_WORDS),
        ("11 Sep 2026 BEST BUY US0865161014 100 0.20", SidePlace.BESIDE_VALUE),
        ("11 Sep 2026 AIRBUS NL0000235190 100 0.20", SidePlace.NOWHERE),
    ],
)
def test_a_side_in_a_name_is_less_certain(row: str, place: SidePlace) -> None:
    assert find(row).place is place


def test_a_dividend_of_a_company_whose_name_has_a_side_is_no_trade() -> None:
    text = """
Activity statement
Base currency EUR
Trade date  Side  Instrument  ISIN  Quantity  Price  Amount
02 Sep 2026  Buy  SAP SE  DE0007164600  20  214.60  4,292.00
09 Sep 2026  Sell  BEST BUY CO INC  US0865161014  15  71.24  1,068.60
Dividends
11 Sep 2026  BEST BUY CO INC  US0865161014  100  0.20  20.00
"""
    assert [found.trade.direction for found in read(text).trades] == ["buy", "sell"]


@pytest.mark.parametrize(
    ("row", "is_other"),
    [
        ("10 Sep 2026  Dividend  TTE  50  0.85  42.50", True),
        ("10.09.2026 Ausschüttung TTE 50 0,85 42,50", True),
        ("10 Sep 2026  Buy  DIVIDEND FUND  50  0.85  42.50", False),
        ("10 Sep 2026  DIV  TTE  50  0.85  42.50", True),
        ("10 Sep 2026  Virement  TTE  50  0,85  42,50", True),
    ],
)
def test_a_row_may_say_that_it_books_something_else(row: str, is_other: bool) -> None:
    (line,), _ = read_lines(Transcript.from_rows([row]).lines, day_first=True)
    assert books_something_else(line) is is_other
