"""A document that says all of its trades again has each of them once."""

from note_texts import GERMAN, read
from trade_lists import HEAD, ROWS, is_completed, list_trades


def test_a_note_that_stands_there_twice_is_not_two_trades() -> None:
    assert not is_completed(read(f"{GERMAN}\nZweitschrift\n{GERMAN}"))
    assert "again" in list_trades("Transactions by security", HEAD, *ROWS).doubts
