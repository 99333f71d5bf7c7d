from typing import Any

import pytest
from model_answers import PAGE, ROWS, FakeChecker, change_answer

from ingestion.domain.model_answer import PageEvidence, parse_answer
from ingestion.domain.transcript import Transcript

EXPECTED = parse_answer(change_answer(), with_fields=True).invoice
IBAN, VAT_ID = str(EXPECTED.iban), str(EXPECTED.vat_id)


async def check(transcript: Transcript = PAGE, **answered: Any) -> PageEvidence:
    answer = parse_answer(change_answer(**answered), with_fields=True)
    return await FakeChecker().check_invoice(transcript, answer.invoice)


async def test_values_that_are_printed_are_found_however_they_are_written() -> None:
    assert await check() == PageEvidence()


@pytest.mark.parametrize(
    "changed",
    [
        {"supplier_name": "Other GmbH"},
        {"invoice_number": "RE-2026/171"},
        {"invoice_number": "17"},
        {"invoice_number": "2026"},
        {"issue_date": "2026-01-05"},
        {"due_date": "2026-05-01"},
        {"currency": "USD"},
        {"total_gross": "1190.00"},
        {"total_gross": "-119.00"},
        {"amount_due": "1.23"},
        {"vat_id": "DE123456789"},
        {"vat_id": "DE8"},
        {"iban": "DE02120300000000202051"},
        {"iban": IBAN[:-2]},
        {"iban": IBAN[2:]},
        {"vat_id": VAT_ID[:-1]},
    ],
)
async def test_a_value_that_is_not_printed_is_named(changed: dict[str, Any]) -> None:
    assert (await check(**changed)).unprinted == {next(iter(changed))}


async def test_lines_are_taken_only_if_each_of_them_is_printed() -> None:
    line = {"description": "Paper A4", "quantity": "2", "unit_price": "50.00", "amount": "100.00", "tax_rate": None}
    assert (await check(lines=[line, {**line, "description": "Gold"}])).unprinted == {"lines"}
    assert (await check(lines=[{**line, "amount": "77.00"}])).unprinted == {"lines"}


async def test_two_accounts_on_a_page_are_told() -> None:
    page = Transcript.from_rows([*ROWS, "IBAN DE02 1203 0000 0000 2020 51"])
    assert (await check(page)).ambiguous == {"iban"}


async def test_a_zero_that_is_not_printed_is_neither_taken_nor_an_invention() -> None:
    assert await check(amount_due="0.00") == PageEvidence(ambiguous=frozenset({"amount_due"}))


@pytest.mark.parametrize("title", ["Zahlungserinnerung", "Proforma-Rechnung"])
async def test_the_amounts_of_a_reminder_are_nobodys_total(title: str) -> None:
    """A model reads the sum that is asked for again, and each of its parts is on the page."""
    rows = [row for row in ROWS if "Proforma" not in title or not row.startswith("Invoice")]
    assert (await check(Transcript.from_rows([title, *rows]))).ambiguous == {
        "total_gross",
        "total_net",
        "total_tax",
        "amount_due",
    }
