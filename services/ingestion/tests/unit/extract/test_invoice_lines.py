from decimal import Decimal

from ingestion.domain.transcript import TextLine, Transcript
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
