"""What a list says of one of its rows and of no other."""

import pytest
from note_texts import read

from ingestion.extract.trades.note import NoteReading

_STATEMENT = """
Transaction statement
Trade date\tSide\tSecurity\tISIN\tQuantity\tPrice (GBP)\tAmount (GBP){head}
03/11/2026\tBuy\tVodafone Group\tGB00BH4HKS39\t1,000\t0.7200\t720.00{first}
05/11/2026\tSell\tBP PLC\tGB0007980591\t200\t4.1000\t820.00{second}
"""


def _list_rows(head: str, first: str, second: str) -> NoteReading:
    text = _STATEMENT.format(head=head, first=first, second=second).replace("\t", "   ")
    return read(text)


@pytest.mark.parametrize(
    ("head", "first", "second"),
    [
        ("\tStatus", "\tSettled", "\tProposed"),
        ("\tNote", "\tDraft", "\tSettled"),
        ("", " b/f", ""),
    ],
)
def test_a_row_of_which_the_list_says_something_else_is_for_a_person(head: str, first: str, second: str) -> None:
    assert "parts" in _list_rows(head, first, second).doubts


@pytest.mark.parametrize(
    ("head", "first", "second"), [("\tStatus", "\tSettled", "\tExecuted"), ("", " GBP", " GBP"), ("", "", "")]
)
def test_rows_that_were_all_done_have_no_doubt(head: str, first: str, second: str) -> None:
    assert "parts" not in _list_rows(head, first, second).doubts


LIST = """Transaction list
Account number: 40218833
Date  Type  Security  ISIN  Qty  Price (GBP)  Amount (GBP)
12/01/2026  Buy  Alpha SA  FR0000120271  10  20.00  200.00
13/01/2026  {}  Beta AG  DE0008404005  15  31.00  465.00
14/01/2026  Sell  Gamma plc  GB00BH4HKS39  7  50.00  350.00"""


@pytest.mark.parametrize("side", ["Buy (pending)", "Buy order", "Planned buy", "Buy - not settled"])
def test_words_beside_the_side_of_one_row_doubt_the_list(side: str) -> None:
    assert "parts" in read(LIST.format(side)).doubts


@pytest.mark.parametrize("side", ["Buy", "Savings plan buy", "Buy (executed)", "Buy to open", "Market buy"])
def test_a_kind_of_order_or_that_it_was_done_does_not(side: str) -> None:
    assert "parts" not in read(LIST.format(side)).doubts
