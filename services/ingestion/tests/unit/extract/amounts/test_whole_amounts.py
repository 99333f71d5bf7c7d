"""Amounts without their cents: those with their currency beside them, and the totals of a page in crowns."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals
from ingestion.extract.amounts.whole_amounts import write_out_cents


def total(*rows: str, currency: str | None) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(rows).lines, currency)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("3 500 Kč", "3 500,—— Kč"),
        ("7.750 kr.", "7.750,—— kr."),
        ("SEK 18 538", "SEK 18 538,——"),
        ("€ 140", "€ 140,——"),
        ("$1,250", "$1,250,——"),
        ("Total: 500 kr", "Total: 500,—— kr"),
        # Of three decimals, with cents, of a unit, of nothing.
        ("1,250 €", "1,250 €"),
        ("$1.250", "$1.250"),
        ("12,50 €", "12,50 €"),
        ("12 EUR/Std", "12 EUR/Std"),
        ("Aktiekapital 500 000 kr", "Aktiekapital 500 000 kr"),
        ("200", "200"),
    ],
)
def test_a_whole_number_with_its_currency_and_nothing_else_is_an_amount(cell: str, written: str) -> None:
    assert write_out_cents(Transcript.from_rows([cell]).lines, None)[0].cells[0].text == written


def test_totals_with_their_currency_need_no_cents() -> None:
    rows = ["Základ daně 21 %   724,79 Kč", "DPH 21 %   152,21 Kč", "Celkem s DPH   877 Kč"]
    found = total(*rows, currency="CZK")
    assert (found.gross, found.net, found.tax) == (Decimal(877), Decimal("724.79"), Decimal("152.21"))


def test_the_totals_of_a_page_in_crowns_that_writes_no_cents_are_amounts() -> None:
    rows = ["Bokhylla   1   8 800   8 800", "Summa exkl moms   8 800", "Moms 25%   2 200", "Att betala   11 000 kr"]
    found = total(*rows, currency="SEK")
    assert (found.gross, found.net, found.tax) == (Decimal(11000), Decimal(8800), Decimal(2200))


def test_a_whole_number_beside_cents_or_of_another_currency_is_no_total() -> None:
    rows = ["Summa exkl moms   8 800", "Moms 25%   2 200", "Att betala   11 000"]
    assert total("Frakt   49,50", *rows, currency="SEK").gross is None
    assert total(*rows, currency="EUR").gross is None


def test_a_larger_whole_amount_is_no_rival_of_a_total_with_cents() -> None:
    assert total("Selbstbeteiligung   500 €", "Gesamtbetrag   140,00 €", currency="EUR").gross == Decimal("140.00")
    assert total("Gesamtpreis   500 €", "Selbst   700 €", currency="EUR").gross is None


@pytest.mark.parametrize(
    "tax", ["(inkl. 3,14 € MwSt.)", "(inkl. 3,14 € 13,4 % MwSt.)", "(dont 3,14 € TVA)", "(incl. 3,14 € VAT)"]
)
def test_a_total_with_its_tax_in_brackets_behind_it_is_two_amounts(tax: str) -> None:
    found = total("Versand   4,90 €", f"Gesamt   26,60 € {tax}", currency="EUR")
    assert found.gross == Decimal("26.60")
    assert total("Gesamt   26,60 € (Lieferung 3,14 €)", currency="EUR").gross is None


@pytest.mark.parametrize(
    "row", ["Frais de port   20", "Remise   150", "TVA   20 %", "TVA 20 % en sus", "Acompte   500"]
)
def test_a_total_in_euros_is_none_where_what_changes_it_has_no_currency(row: str) -> None:
    assert total("Total   1 500 €", row, currency="EUR").gross is None
    assert total("Total   1 500 €", "Prix TVA 20 % comprise", currency="EUR").gross == Decimal(1500)


def test_a_number_behind_a_total_that_has_its_currency_is_no_amount() -> None:
    assert total("Att betala   12 500 kr   441258", currency="SEK").due in (None, Decimal(12500))
    assert total("Att betala   12 500 kr   441258", currency="SEK").gross in (None, Decimal(12500))
