from decimal import Decimal
from typing import Any

import pytest
from generated_invoices import MUSTER_FIELDS
from generated_ubl import UBL

from ingestion.domain.invoice import Invoice
from ingestion.readers.einvoice import claims_to_be_invoice, parse_invoice_xml
from ingestion.readers.ubl import parse_ubl_xml


def read(xml: bytes) -> Any:
    return parse_ubl_xml(xml)


def test_every_field_of_an_invoice_is_read() -> None:
    answer = read(UBL().xml())
    assert answer["document_type"] == "invoice"
    line = {"description": "Beratung", "quantity": "2", "unit_price": "50", "amount": "100.00", "tax_rate": "19"}
    assert answer["invoice"] == {**MUSTER_FIELDS, "lines": [line]}


def test_a_credit_note_has_elements_of_its_own() -> None:
    answer = read(UBL(kind="CreditNote").xml())
    assert answer["document_type"] == "credit_note"
    invoice = Invoice.from_json(answer["invoice"])
    assert (invoice.due_date is not None, invoice.lines[0].quantity) == (True, Decimal(2))


def test_the_tax_total_is_that_in_the_currency_of_the_invoice() -> None:
    assert read(UBL(second_tax=("USD", "21.00")).xml())["invoice"]["total_tax"] == "19.00"


@pytest.mark.parametrize(("price", "base"), [("5000", "100"), ("50", "1"), ("50", "2")])
def test_a_price_for_several_pieces_is_one_for_each(price: str, base: str) -> None:
    """The last is a price for one beside the quantity, which would make half the amount of the line."""
    assert read(UBL(price=price, price_base=base).xml())["invoice"]["lines"][0]["unit_price"] == "50"


def test_a_heading_among_the_lines_is_no_line() -> None:
    assert [line["description"] for line in read(UBL().xml())["invoice"]["lines"]] == ["Beratung"]


@pytest.mark.parametrize(
    "xml",
    [
        b"<Invoice xmlns='urn:oasis:names:specification:ubl:schema:xsd:Order-2'/>",
        b"<Invoice/>",
        UBL().xml()[:300],
        b"<!DOCTYPE x [<!ENTITY e 'a'>]>" + UBL().xml(),
    ],
)
def test_what_is_no_ubl_invoice_is_none(xml: bytes) -> None:
    assert read(xml) is None


def test_broken_ubl_was_meant_to_be_an_invoice() -> None:
    assert claims_to_be_invoice("data.xml", UBL().xml()[:300])
    assert not claims_to_be_invoice("data.xml", b"<Order xmlns='urn:oasis:names:specification:ubl:schema:xsd:Order-2'>")


def test_each_format_is_read_by_its_own_reader() -> None:
    assert parse_invoice_xml(UBL().xml()) is None
