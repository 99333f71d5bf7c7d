"""A table that lists invoices says nothing of the number of this one."""

import pytest
from invoice_rows import read_dates, read_number

TOTALS = ("Net  £1,000.00", "VAT 20%  £200.00", "Total  £1,200.00")
HEADS = "Invoice no.    Date              Amount"


@pytest.mark.parametrize(
    "rows",
    [
        ("HM-20390       1 October 2026    £200.00",),
        ("9-1            1 October 2026    £200.00",),
        ("HM-20389       1 September 2026  £1,200.00", "HM-20390       1 October 2026    £1,200.00"),
    ],
)
def test_earlier_invoices_in_a_table_are_not_this_one(rows: tuple[str, ...]) -> None:
    assert read_number("Invoice", "Our ref: HM-20441", *TOTALS, "", HEADS, *rows) is None
    assert read_number("Invoice", "Our ref: HM-20441", HEADS, *rows, "", *TOTALS) is None
    assert read_number("Invoice", "Invoice no.: HM-20441", *TOTALS, "", HEADS, *rows) == "HM-20441"


def test_an_invoice_may_say_in_a_row_with_heads_what_it_is_itself() -> None:
    assert read_number("Invoice", HEADS, "HM-20441       3 November 2026   £1,200.00", "", *TOTALS) == "HM-20441"


@pytest.mark.parametrize(
    "rows",
    [
        ("Invoice no.    Date", "HM-20390       1 October 2026"),
        ("Invoice no.    Date              Amount", "HM-20390       1 October 2026    200"),
        ("Open items:", "Invoice no. HM-20390 £200.00"),
        ("Invoice no. HM-20390      £200.00",),
    ],
)
def test_what_names_an_invoice_below_the_total_with_less_than_it_is_another_one(rows: tuple[str, ...]) -> None:
    assert read_number("Invoice", "Our ref: HM-20441", *TOTALS, "", *rows) is None
    assert read_number("Invoice", "Our ref: HM-20441", *TOTALS, "", "Invoice no. HM-20441      £1,200.00") == "HM-20441"


@pytest.mark.parametrize(
    "rows",
    [
        ("Invoice no.    Date              Amount", "HM-20390       1 October 2026    £200.00"),
        ("Invoice no.    Invoice date      Amount", "HM-20390       1 October 2026    £200.00"),
        ("Date              Work", "1 October 2026    Doors             £200.00"),
    ],
)
def test_the_day_of_a_row_of_a_table_is_not_that_of_this_invoice(rows: tuple[str, ...]) -> None:
    own = ("Invoice", "Invoice no.: HM-20441")
    assert read_dates(*own, *TOTALS, "", *rows)[0] == "None"
    assert read_dates(*own, "Date: 3 November 2026", *TOTALS, "", *rows)[0] == "2026-11-03"
    assert read_dates(*own, "Invoice date: 3 November 2026", *TOTALS, "", *rows)[0] == "2026-11-03"


def test_a_row_of_heads_on_the_paper_itself_may_have_a_rate_of_exchange_too() -> None:
    rows = ("Data          Vencimento    Câmbio", "2026-11-03    2026-12-03    1,00", "Total  1.200,00")
    assert read_dates("Fatura FT 2026/17", *rows) == ("2026-11-03", "2026-12-03")
