from decimal import Decimal
from typing import Any

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import invoice_lines
from ingestion.extract.invoice_lines import find_invoice_lines
from ingestion.extract.totals import InvoiceTotals

TABLE = """
Description  Quantity  Price  Amount
Consulting  2  50.00  100.00
Travel  1  19.50  19.50
Total  119.50
"""


def page(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.strip("\n").splitlines()).lines


def test_rows_that_make_the_net_total_are_the_lines() -> None:
    lines, amounts = find_invoice_lines(page(TABLE), InvoiceTotals(net=Decimal("119.50")))
    assert amounts == "net"
    assert [(line.description, line.quantity, line.unit_price, line.amount) for line in lines] == [
        ("Consulting", Decimal(2), Decimal("50.00"), Decimal("100.00")),
        ("Travel", Decimal(1), Decimal("19.50"), Decimal("19.50")),
    ]


def test_rows_that_make_the_gross_total_are_written_with_tax() -> None:
    lines, amounts = find_invoice_lines(page(TABLE), InvoiceTotals(gross=Decimal("119.50")))
    assert (len(lines), amounts) == (2, "gross")


def test_rows_that_make_no_total_are_left_out() -> None:
    assert find_invoice_lines(page(TABLE), InvoiceTotals(net=Decimal("500.00"))) == ((), "net")


def test_two_numbers_whose_product_is_not_the_amount_are_no_quantity_and_price() -> None:
    table = "Description  Pos  Discount  Amount\nConsulting  7  3.00  100.00\nTotal  100.00"
    (line,), _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("100.00")))
    assert (line.quantity, line.unit_price) == (None, None)


def test_a_page_full_of_heads_of_tables_is_read_in_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line was the head of all lines behind it, and each two of its numbers were multiplied."""
    steps = {"rows": 0, "products": 0}
    read_row, choose_price = invoice_lines._read_row, invoice_lines._choose_price

    def count_row(line: TextLine) -> object:
        steps["rows"] += 1
        return read_row(line)

    def count_product(*numbers: Any) -> object:  # Any: its own parameters
        steps["products"] += 1
        return choose_price(*numbers)

    monkeypatch.setattr(invoice_lines, "_read_row", count_row)
    monkeypatch.setattr(invoice_lines, "_choose_price", count_product)
    # Every product is the amount, and none has a price that is the later one.
    hostile = "  ".join(["Item abc", "amount", *["1.00"] * 36, "1.00"])
    find_invoice_lines(page("\n".join([hostile] * 40)), InvoiceTotals())
    assert 0 < steps["rows"] <= 10 * 40
    assert steps["products"] <= steps["rows"] * 8 * 7
