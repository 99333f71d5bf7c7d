"""A final invoice names the invoices of parts: their numbers and dates are not its own."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice


def number_and_date(*rows: str) -> tuple[str | None, str]:
    invoice = read_invoice(Transcript.from_rows(rows))[0]
    return invoice.invoice_number, str(invoice.issue_date)


@pytest.mark.parametrize(
    "part",
    [
        "zu unserer Rechnung Nr. 26-0151 vom 03.08.2026",
        "Abschlagsrechnung Nr. 26-0151 vom 03.08.2026   4.760,00",
        "1. Abschlagsrechnung Nr.: 26-0151",
    ],
)
def test_a_final_invoice_has_neither_number_nor_date_of_a_part(part: str) -> None:
    rows = ["Muster GmbH", "Schlussrechnung", part, "Rechnungs-Nr.:  26-0233", "Datum  16.10.2026"]
    assert number_and_date(*rows) == ("26-0233", "2026-10-16")
    assert number_and_date(*rows[:3])[0] is None


def test_the_invoice_of_a_part_has_its_own() -> None:
    assert number_and_date("Muster GmbH", "2. Abschlagsrechnung Nr. 26-0151") == ("26-0151", "None")
