"""Amounts in the lists that the commands print."""

from typing import Any

import pytest

from mailroom_cli.money import format_total, join_money


@pytest.mark.parametrize(
    ("extraction", "shown"),
    [
        ({"total_gross": "119.00", "currency": "EUR"}, "119.00 EUR"),
        ({"total_gross": "119.00", "currency": None}, "119.00"),
        ({"total_gross": None, "currency": "EUR"}, ""),
        # The page's own amounts speak against what it calls its total.
        ({"total_gross": None, "currency": "EUR", "page_totals": {"total_gross": "125.00"}}, "125.00 EUR ?"),
        ({"total_gross": "119.00", "currency": "EUR", "page_totals": {"total_gross": "125.00"}}, "119.00 EUR"),
        ({"currency": "EUR", "page_totals": {"total_gross": None}}, ""),
        ({}, ""),
    ],
)
def test_a_total_that_is_doubted_has_a_question_mark(extraction: dict[str, Any], shown: str) -> None:
    assert format_total(extraction) == shown


def test_a_currency_alone_is_no_amount() -> None:
    assert join_money(None, "EUR") == ""
