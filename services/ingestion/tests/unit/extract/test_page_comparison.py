from io import BytesIO

import pytest
from generated_invoices import CII

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import Transcript
from ingestion.extract.page_comparison import find_contradictions
from ingestion.readers import einvoice, pdf_text


def compared(xml: CII, page: CII | None) -> list[str]:
    read = einvoice.parse_invoice_xml(xml.xml())
    assert read is not None
    lines = tuple(pdf_text.read_pdf_text(BytesIO(page.page())).lines) if page else ()
    return find_contradictions(Invoice.from_json(read["invoice"]), Transcript("application/pdf", 1, lines))


def test_a_page_that_says_the_same_agrees() -> None:
    assert compared(CII(), CII()) == []


def test_a_page_without_text_says_nothing_else() -> None:
    assert compared(CII(), None) == []


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        (CII(number="RE-2"), ["invoice_number"]),
        (CII(issued="20250401"), ["issue_date"]),
        (CII(due="20260531"), ["due_date"]),
        (CII(gross="120.00"), ["total_gross"]),
        (CII(gross="-119.00", net="-100.00"), ["total_gross", "total_net"]),
        (CII(seller="Andere AG"), ["supplier_name"]),
    ],
)
def test_a_page_that_says_otherwise_is_named_field_by_field(page: CII, fields: list[str]) -> None:
    assert compared(CII(), page) == fields


def test_a_page_that_leaves_something_out_contradicts_nothing() -> None:
    assert compared(CII(due=None, iban=None), CII()) == []
