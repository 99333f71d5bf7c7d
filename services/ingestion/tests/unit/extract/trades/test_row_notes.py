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
