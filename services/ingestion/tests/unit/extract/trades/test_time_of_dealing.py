"""The day of dealing, where a label names the day of booking."""

import pytest
from note_texts import ENGLISH, GERMAN, read

DEALT = "Execution date/time: 15 Jan 2026 08:13:35"


@pytest.mark.parametrize(
    "days",
    [
        "Trade date: 15 January 2026\nDealt: 13 January 2026 16:29",
        "Trade date: 15 January 2026\nBargain struck: 13 January 2026 at 16:29",
        "Trade date: 15 January 2026, effective 13 January 2026",
        "Trade date: 15 January 2026\nAs of: 13 January 2026",
        "Transaction date: 15 January 2026\nDealt: 13 January 2026",
        "Transaction date: 15 January 2026\nFill date 13 January 2026",
        "Transaction date: 15 January 2026\nYour units were bought on 13 January 2026",
        "Geschäftstag 15.01.2026\nAbschlussdatum 13.01.2026",
    ],
)
def test_another_day_with_a_time_or_as_of_leaves_the_trades_day_open(days: str) -> None:
    assert not read(ENGLISH.replace(DEALT, days)).trades[0].is_date_certain


@pytest.mark.parametrize(
    "line",
    [
        "Order placed: 13 January 2026 16:29",
        "Price as of 13 January 2026",
        "Balance of 13 January 2026  1.469,90",
        "Printed 13 January 2026 16:29",
        "Dealt: 15 January 2026 16:29",
        "Account opened 3 March 2020 10:15",
        "Your order of 13 January 2026",
        "Ex-date 13 January 2026",
        "Account activity 10/01/2026 to 31/01/2026",
        "Interest accrued from 8 January 2026",
        "Exchange rate of 13 January 2026",
        "Your letter of 13 January 2026",
    ],
)
def test_a_day_of_the_order_of_a_price_or_of_the_paper_does_not(line: str) -> None:
    assert read(ENGLISH.replace(DEALT, f"Trade date: 15 January 2026\n{line}")).trades[0].is_date_certain
    assert read(GERMAN).trades[0].is_date_certain
