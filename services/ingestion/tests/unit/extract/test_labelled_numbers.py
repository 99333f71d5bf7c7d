"""Which of several numbers with a label of an invoice's is its own."""

import pytest
from invoice_rows import read_number


@pytest.mark.parametrize(
    ("title", "other", "own"),
    [
        ("Invoice", "Deposit invoice no. 90", "Invoice no.: 17-3"),
        ("Rechnung", "Anzahlungsrechnung Nr.: 90-1", "Rechnungsnummer: 17-3"),
        ("Invoice", "Bill number: 90-1", "Invoice number: 17-3"),
        ("Rechnung", "Eingangsrechnung Nr. 90-1", "Rechnungs-Nr. 17-3"),
        ("Facture", "Facture d'acompte n° 90-1", "Facture n° 17-3"),
        ("Factuur", "Inkoopfactuurnummer: 90-1", "Factuurnummer: 17-3"),
        ("Factura", "Factura simplificada nº 90-1", "Factura nº 17-3"),
        ("Fattura", "Fattura d'acconto n. 90/1", "Fattura n. 17-3"),
        ("Fatura", "Fatura de adiantamento n.º 90-1", "Fatura n.º 17-3"),
        ("Faktura", "Faktura zaliczkowa nr 90-1", "Faktura VAT nr 17-3"),
        ("Faktura", "Zálohová faktura č. 90-1", "Číslo faktury: 17-3"),
        ("Faktura", "Acontofaktura nr. 90-1", "Fakturanr. 17-3"),
        ("Faktura", "Leverantörsfaktura nr 90-1", "Fakturanummer 17-3"),
        ("Gutschrift", "Rechnungsnummer: 90-1", "Gutschrift-Nr.: 17-3"),
        ("Dobropis", "Původní číslo faktury: 90-1", "Číslo dobropisu: 17-3"),
    ],
)
def test_of_several_numbers_the_one_whose_label_says_what_the_title_says_counts(
    title: str, other: str, own: str
) -> None:
    assert read_number("Example", title, other, own) == read_number("Example", title, own, other) == "17-3"


def test_where_nothing_tells_which_number_is_the_invoices_none_is() -> None:
    assert read_number("Example", "Rechnung", "Rechnungsnummer: 17-3", "Rechnungsnummer: 18-3") is None
    assert read_number("Example", "Rechnung", "Hotelrechnung Nr. 8812") is None
    assert read_number("Handelsrechnung Nr. 8812 vom 06.08.2018", "Warenrechnung") == "8812"
    assert read_number("Example", "Invoice", "Hotel invoice no. 8812") is None
    assert read_number("Example", "Invoice", "No: 17-3", "Replaces invoice no. 90-1") is None
    assert read_number("Example", "Invoice", "Ref. 17-3", "Deposit invoice no. 90-1") is None


def test_the_number_in_the_title_is_not_that_of_another_kind_of_invoice_below() -> None:
    assert read_number("Example", "Rechnung 2026-4471", "Lieferantenrechnungsnummer: 99817") == "2026-4471"


def test_a_label_may_be_repeated_in_another_language() -> None:
    assert read_number("Example", "Rechnung Nr. / Invoice no.: 17-3") == "17-3"
    assert read_number("Example", "Factuurnummer / N° de facture: 17-3") == "17-3"


def test_of_two_values_behind_a_label_of_two_names_the_first_is_what_its_first_name_says() -> None:
    assert read_number("Example", "Invoice", "Invoice no. / Delivery note    17-3 / 88213") == "17-3"
    assert read_number("Example", "Invoice", "Delivery / Invoice no.    88213 / 17-3") is None
    assert read_number("Example", "Invoice", "Invoice no. / Customer no.    2026/118") is None
    assert read_number("Example", "Invoice", "Rechnung / Invoice no.    2026/118") == "2026/118"


@pytest.mark.parametrize("between", ["replaced by", "&", "to", ", formerly"])
def test_of_two_numbers_of_one_form_behind_a_label_none_is_believed(between: str) -> None:
    assert read_number("Example", "Invoice", f"Invoice no.: HM-20390 {between} HM-20441") is None
    assert read_number("Example", "Invoice", "Invoice no.: HM-20390 Order number HM-20441") == "HM-20390"


def test_of_two_blocks_with_a_number_each_nothing_tells_which_is_the_invoices() -> None:
    rows = ["Order             Invoice", "No. 88213         No. HM-20441", "Date 14/10/2026   Date 03/11/2026"]
    assert read_number("Example", "Invoice", "", *rows) is None
    assert read_number("Example", "Invoice", "", "No. HM-20441") == "HM-20441"
