"""A table that lists invoices says nothing of the number of this one."""

import pytest
from invoice_rows import read_number

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
    assert read_number("Invoice", "Invoice no.: HM-20441", *TOTALS, "", HEADS, *rows) == "HM-20441"


def test_an_invoice_may_say_in_a_row_with_heads_what_it_is_itself() -> None:
    assert read_number("Invoice", HEADS, "HM-20441       3 November 2026   £1,200.00", "", *TOTALS) == "HM-20441"
