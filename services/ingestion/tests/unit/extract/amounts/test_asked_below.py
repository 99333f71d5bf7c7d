from datetime import date
from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.payment_evidence import IssueDay
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals

ISSUED = IssueDay(date(2026, 11, 3), day_first=True)
TOTALS = "Nettobetrag   1.000,00\nUSt 19 %   190,00\nRechnungsbetrag   1.190,00\n"


def read(text: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(text.strip("\n").splitlines()).lines, issued=ISSUED)


@pytest.mark.parametrize(
    "rows",
    [
        "Nachlass Kulanz   100,00\nEndbetrag   1.090,00",
        "Nachlass Kulanz   100,00\nEndbetrag: 1.090,00",
        "Nachlass Kulanz 100,00 €, Endbetrag 1.090,00 €",
        "Übernimmt Ihre Versicherung   800,00\nIhr Selbstbehalt   390,00",
        "Gutgeschrieben   100,00\nErlassen   90,00\nJetzt zu überweisen   1.000,00",
        "Saldo Vormonat   60,00\nZu überweisen   1.250,00",
    ],
)
def test_a_total_is_doubtful_where_the_rows_below_it_ask_for_another_amount(rows: str) -> None:
    found = read(TOTALS + rows)
    assert (found.gross, found.due, found.doubtful) == (None, None, Decimal("1190.00"))
    assert (found.doubtful_net, found.doubtful_tax) == (Decimal("1000.00"), Decimal("190.00"))


def test_what_is_left_below_a_total_is_due_if_it_is_called_so() -> None:
    found = read(TOTALS + "Tauschprämie   100,00\nZahlbetrag   1.090,00")
    assert (found.gross, found.due) == (Decimal("1190.00"), Decimal("1090.00"))


def test_what_is_left_may_stand_above_what_it_is_left_by() -> None:
    found = read(TOTALS + "Restbetrag   567,00\nSEPA-Überweisung 17.10.2026   623,00")
    assert (found.gross, found.due) == (Decimal("1190.00"), Decimal("567.00"))


def test_a_total_stays_one_above_a_row_of_the_whole_and_a_cent() -> None:
    assert read(TOTALS + "Leistung   1.190,00\nDatenverkehr   0,01").gross == Decimal("1190.00")


def test_a_total_that_is_called_due_is_not_where_less_is_asked_below_it() -> None:
    found = read(
        "Total amount due   1,000.00\nGoodwill reduction   100.00\nAmount charged   900.00\nNot VAT registered."
    )
    assert (found.gross, found.due) == (None, None)


@pytest.mark.parametrize("label", ["Bisher in Rechnung gestellt", "Bisherige Abschlagsrechnungen"])
def test_nobody_can_tell_whether_a_total_that_was_invoiced_in_part_is_to_be_booked_again(label: str) -> None:
    found = read(TOTALS + f"{label}   700,00\nZahlbetrag   490,00")
    assert (found.gross, found.doubtful) == (None, Decimal("1190.00"))


def test_a_final_invoice_has_the_whole_as_its_total_and_the_rest_as_due() -> None:
    found = read("Schlussrechnung\n" + TOTALS + "Bisher in Rechnung gestellt   700,00\nZahlbetrag   490,00")
    assert (found.gross, found.due) == (Decimal("1190.00"), Decimal("490.00"))


@pytest.mark.parametrize(
    "rows",
    [
        # less is asked of who pays early
        "2 % Skonto   23,80\nZahlbetrag bei Skonto   1.166,20",
        "Zahlung innerhalb von 8 Tagen abzgl. 23,80 € = 1.166,20 €",
        "Bei Zahlung mit Skonto:\nAbzug   23,80\nBetrag   1.166,20",
        # a plan of payments
        "Rate A   595,00\nRate A   595,00",
        "Auftrag 30 %   357,00\nLieferung 70 %   833,00",
        "bei Auftrag   357,00\nRest   833,00",
        "Vorher   357,00\nRest bei Lieferung   833,00",
        "Anzahlung   357,00\nRest   833,00",
        "1. Abschlagszahlung   357,00\n2. Abschlagszahlung   833,00",
        # parts of the total
        "davon Lohn   690,00\nMaterial   500,00",
        "MwSt.   190,00\nohne   1.000,00",
        "Steuersatz voll   190,00\nBasis   1.000,00",
        # what the customer gave, and got back
        "Rückgeld   10,00\nBar   1.200,00",
    ],
)
def test_a_total_stays_one_above_what_asks_for_no_other_amount(rows: str) -> None:
    assert read(TOTALS + rows).gross == Decimal("1190.00")


def test_a_retention_that_the_customer_keeps_leaves_what_is_due_whatever_it_is_called() -> None:
    rows = ["Totale imponibile   1.508,00", "IVA 22%   331,76", "Importo totale documento:   1.839,76"]
    ends = ["Ritenuta: 20,00 % - 290,00", "Modalità: bonifico Importo: 1.549,76"]
    found = find_totals(Transcript.from_rows([*rows, *ends]).lines)
    assert (found.gross, found.due) == (Decimal("1839.76"), Decimal("1549.76"))
    other = find_totals(Transcript.from_rows([*rows, "Riduzione: - 290,00", ends[1]]).lines)
    assert (other.gross, other.due) == (None, None)
