"""Rows of a statement below a heading for income, costs or holdings are no trades."""

import pytest
from note_texts import read

STATEMENT = """
Activity statement 1 September 2026 to 30 September 2026
Base currency EUR
{trades}
Trade date  Side  Instrument  ISIN  Quantity  Price  Amount EUR
02 Sep 2026  Buy  SAP SE  DE0007164600  20  214.60  4,292.00
09 Sep 2026  Buy  AIR LIQUIDE  FR0000120073  15  171.24  2,568.60
17 Sep 2026  Sell  SIEMENS AG  DE0007236101  8  228.95  1,831.60
{income}
15 Sep 2026  TOTALENERGIES  FR0000120271  50  0.85  42.50
"""

HEADINGS = {
    "en": ("Trades", "Dividends"),
    "de": ("Transaktionen", "Ausschüttungen"),
    "fr": ("Opérations", "Dividendes reçus"),
    "es": ("Operaciones", "Dividendos e intereses"),
    "it": ("Operazioni", "Dividendi"),
    "nl": ("Transacties", "Dividenden"),
    "pt": ("Operações", "Rendimentos"),
}


@pytest.mark.parametrize("language", HEADINGS)
def test_a_row_below_a_heading_for_income_is_no_trade(language: str) -> None:
    trades, income = HEADINGS[language]
    reading = read(STATEMENT.format(trades=trades, income=income))
    assert [found.trade.isin for found in reading.trades] == ["DE0007164600", "FR0000120073", "DE0007236101"]
    assert (reading.doubts, reading.confidence >= 0.9) == ((), True)


def test_below_any_other_heading_it_may_be_one() -> None:
    assert len(read(STATEMENT.format(trades="Trades", income="September")).trades) == 4


@pytest.mark.parametrize("word", ["Bought", "Reinvested"])
def test_a_row_that_says_itself_that_something_was_bought_is_a_trade_below_any_heading(word: str) -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends").replace("TOTALENERGIES", f"{word} TOTALENERGIES")
    assert len(read(text).trades) == 4


def test_a_section_ends_at_the_heading_of_trades() -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends")
    rows = "\nTransactions\n21 Sep 2026  ENEL  IT0003128367  400  7.845  3,138.00"
    assert [found.trade.isin for found in read(text + rows).trades][-1] == "IT0003128367"


def test_a_statement_of_income_alone_has_no_trade() -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends")
    rows = [row for row in text.splitlines() if "Buy" not in row and "Sell" not in row]
    assert not read("\n".join(rows)).has_trades
