"""A final invoice names the invoices of parts: their numbers, dates and amounts are not its own."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import find_totals
from ingestion.extract.layout_rules import read_invoice


def number_and_date(*rows: str) -> tuple[str | None, str]:
    invoice = read_invoice(Transcript.from_rows(rows)).invoice
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


HEAD = "Leistung                Netto         MwSt        Brutto"
WHOLE = "Bisherige Leistungen    2.000,00      380,00      2.380,00"


def row(label: str, sign: str = "") -> str:
    return f"{label:<24}{sign}1.000,00      {sign}190,00      {sign}1.190,00"


def read_totals(*rows: str) -> tuple[Decimal | None, Decimal | None]:
    totals = find_totals(Transcript.from_rows(rows).lines)
    return totals.gross, totals.due


@pytest.mark.parametrize(
    "part",
    [
        "Abschlag 1",
        "1. Abschlagsrechnung",
        "Stage 1 invoiced",
        "Situation n° 1",
        "Certificación 1",
        "SAL n. 1",
        "1e termijn",
        "Auto n.º 1",
        "Zaliczka 1",
        "Dílčí faktura 1",
        "Aconto 1",
        "Delfaktura 1",
    ],
)
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_row_of_a_part_payment_is_neither_the_total_nor_what_makes_it(part: str, sign: str) -> None:
    whole, rest = Decimal(2380), Decimal(1190)
    assert read_totals(HEAD, WHOLE, row(part, sign), row("Restforderung")) == (whole, rest)
    totals = ["Nettobetrag   2.000,00", "MwSt 19 %   380,00", "Gesamtbetrag   2.380,00"]
    assert read_totals(*totals, row(part, sign), "Restbetrag   1.190,00") == (whole, rest)
    assert read_totals("Umbau   1.600,00", row(part, sign), "Restbetrag   1.190,00") == (None, rest)


def test_what_an_unknown_row_takes_off_may_be_a_part_or_a_correction() -> None:
    assert read_totals(HEAD, WHOLE, row("Fassade"), row("Dach")) == (None, None)
    assert (
        read_totals(HEAD, WHOLE.replace("Bisherige Leistungen", "Summe".ljust(20)), row("AR"), row("Rest"))[0] == 2380
    )


def test_a_discount_in_columns_makes_the_total_less() -> None:
    assert read_totals(HEAD, WHOLE, row("Rabatt", "-"), row("Summe"), "Gesamtbetrag   1.190,00")[0] == 1190


def test_positions_and_rates_lead_up_to_their_sum() -> None:
    positions = [WHOLE, row("Dach"), row("Fassade")]
    assert read_totals(HEAD, *positions, "Summe   4.000,00   760,00   4.760,00")[0] == 4760
    assert read_totals(HEAD, *positions, "Gesamtbetrag   4.760,00")[0] == 4760


def test_the_invoice_of_a_part_has_its_totals_in_the_row_of_the_part() -> None:
    assert read_totals(HEAD, row("Anzahlung 50 %"), "Gesamtbetrag   1.190,00")[0] == 1190


def test_parts_that_are_asked_for_leave_nothing_that_is_known_to_be_due() -> None:
    plan = [row("Anzahlung bis 15.11.26"), row("Rest bis 15.12.26")]
    assert read_totals(HEAD, WHOLE, *plan) == (Decimal(2380), None)
