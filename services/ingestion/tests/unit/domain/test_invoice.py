from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.invoice import CORRECTED_INVOICE, CREDIT_NOTE, INVOICE, Invoice, InvoiceLine

AMOUNTS = st.none() | st.decimals(min_value=-(10**9), max_value=10**9, places=2)
NUMBERS = st.none() | st.decimals(min_value=0, max_value=10**6, places=4)
TEXTS = st.none() | st.text(max_size=20)
LINES = st.builds(
    InvoiceLine, description=TEXTS, quantity=NUMBERS, unit_price=NUMBERS, amount=AMOUNTS, tax_rate=NUMBERS
)
INVOICES = st.builds(
    Invoice,
    supplier_name=TEXTS,
    invoice_number=TEXTS,
    issue_date=st.none() | st.dates(),
    due_date=st.none() | st.dates(),
    currency=st.sampled_from([None, "EUR", "USD"]),
    total_gross=AMOUNTS,
    total_net=AMOUNTS,
    total_tax=AMOUNTS,
    vat_id=TEXTS,
    iban=TEXTS,
    lines=st.lists(LINES, max_size=3).map(tuple),
    line_amounts=st.sampled_from(["net", "gross"]),
    amount_due=AMOUNTS,
)


@given(INVOICES)
def test_an_invoice_survives_its_json(invoice: Invoice) -> None:
    assert Invoice.from_json(invoice.to_json()) == invoice


def test_amounts_are_written_as_money_and_numbers_as_short_as_they_are() -> None:
    line = InvoiceLine(
        quantity=Decimal("5.0000"), unit_price=Decimal("4.10"), amount=Decimal("20.5"), tax_rate=Decimal(20)
    )
    assert line.to_json() == {
        "description": None,
        "quantity": "5",
        "unit_price": "4.1",
        "amount": "20.50",
        "tax_rate": "20",
    }
    assert Invoice(total_gross=Decimal(1200), amount_due=Decimal("0.00")).to_json()["total_gross"] == "1200.00"
    assert Invoice(total_gross=Decimal("1.234567")).to_json()["total_gross"] == "1.234567"
    assert Invoice(issue_date=date(2026, 4, 1)).to_json()["issue_date"] == "2026-04-01"


@pytest.mark.parametrize(
    ("gross", "net", "tax", "adds_up"),
    [
        ("119", "100", "19", True),
        ("119.02", "100", "19", True),
        ("118.98", "100", "19", True),
        ("119.03", "100", "19", False),
        ("119", None, "19", None),
        (None, "100", "19", None),
    ],
)
def test_totals_add_up_to_two_cents_or_are_not_judged(
    gross: str | None, net: str | None, tax: str | None, adds_up: bool | None
) -> None:
    def amount(text: str | None) -> Decimal | None:
        return None if text is None else Decimal(text)

    invoice = Invoice(total_gross=amount(gross), total_net=amount(net), total_tax=amount(tax))
    assert invoice.totals_add_up() is adds_up


@pytest.mark.parametrize(
    ("gross", "type_code", "document_type"),
    [
        ("119", None, INVOICE),
        ("119", "380", INVOICE),
        ("0", None, INVOICE),
        (None, None, INVOICE),
        ("119", "381", CREDIT_NOTE),
        ("-119", "381", CREDIT_NOTE),
        ("119", "384", CORRECTED_INVOICE),
        (None, "384", CORRECTED_INVOICE),
        ("-0.01", "380", CORRECTED_INVOICE),
    ],
)
def test_the_type_code_says_what_it_is_and_a_negative_total_makes_it_a_correction(
    gross: str | None, type_code: str | None, document_type: str
) -> None:
    invoice = Invoice(total_gross=None if gross is None else Decimal(gross))
    assert invoice.determine_document_type(type_code) == document_type
