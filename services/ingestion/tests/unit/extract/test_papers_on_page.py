"""Two papers on one page have two totals, and nothing says which of them is meant."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice

PAPER = """
Hartley & Moss Joinery Ltd
14 Canal Road, Leeds LS2 7BR
Broadfield Estates Ltd
8 Station Parade, Harrogate HG1 1TT
{title}
Invoice no.: {number}
Invoice date: 3 November 2026
Net total  £{net}
VAT 20%  £{tax}
Total due  £{gross}
VAT no. GB123456789
"""
FIRST = PAPER.format(title="Invoice", number="HM-20441", net="1,000.00", tax="200.00", gross="1,200.00")
NEXT = PAPER.format(title="Invoice", number="HM-20442", net="500.00", tax="100.00", gross="600.00")
CREDIT_NOTE = FIRST.replace("Invoice\n", "Credit note\n")
STATEMENT = """
Statement of account at 31 October 2026
Opening balance  £200.00
Total due by 30 November 2026  £1,400.00
"""
REMINDER = "Reminder\nTotal due  £1,240.00"
WITHOUT_LABELS = "Invoice HM-20442\nOther services  500.00\nTotal due  £600.00"


def are_several(*papers: str) -> bool:
    return read_invoice(Transcript.from_rows("\n".join(papers).splitlines())).are_several


@pytest.mark.parametrize("other", [NEXT, CREDIT_NOTE, STATEMENT, REMINDER, WITHOUT_LABELS])
def test_an_invoice_with_another_paper_below_it_is_two(other: str) -> None:
    assert are_several(FIRST, other)


SLIP = "Payment slip\nInvoice no.: HM-20441\nAmount  £1,200.00"
TERMS = "Terms and conditions\nThe deposit is £50.00."
REFERENCE = "Invoice HM-20390 was paid on 1 October 2026."
SAME_STATEMENT = "Statement of account\nTotal due  £1,200.00"
PARTS = "Delivery note 4711  1.00  500.00\nDelivery note 4712  1.00  500.00"


@pytest.mark.parametrize(
    "other", [FIRST, SLIP, TERMS, REFERENCE, SAME_STATEMENT, PARTS, "Credit note\nNone was issued"]
)
def test_its_copy_its_slip_and_its_terms_are_no_other_paper(other: str) -> None:
    assert not are_several(FIRST, other)


GROUPS = """
Hartley & Moss Joinery Ltd
Broadfield Estates Ltd
Invoice
Invoice no.: HM-20441
Invoice date: 3 November 2026
Delivery note 4711
Doors  500.00
Total  £500.00
Delivery note 4712
Windows  500.00
Total  £500.00
Net total  £1,000.00
VAT 20%  £200.00
Total due  £1,200.00
"""


@pytest.mark.parametrize("title", ["Delivery note", "Lieferschein", "Purchase order", "Bestellung"])
def test_an_invoice_for_several_deliveries_is_one(title: str) -> None:
    assert not are_several(GROUPS.replace("Delivery note", title))
