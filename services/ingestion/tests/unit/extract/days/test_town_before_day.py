"""What may stand before a day and say nothing of it."""

import pytest
from invoice_rows import read_dates

HEAD = ("Muster Ltd", "14 Canal Road, Leeds LS2 7BR", "Invoice 17")


@pytest.mark.parametrize("words", ["Leeds,", "Tuesday,", "Lyon, le"])
def test_a_town_of_the_page_and_a_day_of_the_week_leave_a_day_the_invoices(words: str) -> None:
    assert read_dates(*HEAD, f"Date: {words} 3 November 2026")[0] == "2026-11-03"


@pytest.mark.parametrize("label", ["Date: Order, 14 October 2026", "Datum: Abholung, 14.10.2026"])
def test_any_other_word_before_a_day_is_what_happened_then(label: str) -> None:
    assert read_dates(*HEAD, label)[0] == "None"
    assert read_dates(*HEAD, label, "Date: 3 November 2026")[0] == "2026-11-03"
