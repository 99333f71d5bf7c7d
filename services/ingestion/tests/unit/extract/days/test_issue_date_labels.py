"""Which day with a label is the one on which the invoice was written."""

import pytest
from invoice_rows import read_dates


def test_words_behind_a_label_belong_to_it() -> None:
    assert read_dates("Invoice date / Delivery date   12 February 2026")[0] == "2026-02-12"
    assert read_dates("Fecha emisión factura:   08 de abril de 2026")[0] == "2026-04-08"


@pytest.mark.parametrize(
    "other",
    [
        "Permit issue date: 14 October 2026",
        "Permit 447 issue date: 14 October 2026",
        "Lieferschein 88213, Belegdatum 14.10.2026",
        "Invoice date (deposit): 14 October 2026",
        "Invoice date of HM-20390: 14 October 2026",
        "Datum Lieferschein 88213: 14.10.2026",
        "Data e luogo consegna: 14/10/2026",
        "Original invoice date: 14 October 2026",
        "Next invoice date: 3 December 2026",
        "Credit application issued on 14 October 2026",
        "Belegdatum Lieferschein: 14.10.2026",
        "Ursprüngliches Rechnungsdatum: 14.10.2026",
        "Date d'émission du bon de commande : 14/10/2026",
        "Date commande : 14/10/2026",
        "Data emissione ordine: 14/10/2026",
        "Fecha de emisión del pedido: 14/10/2026",
        "Data de emissão da guia: 14/10/2026",
        "Vorige factuurdatum: 14-10-2026",
        "Data wystawienia zamówienia: 14.10.2026",
        "Datum vystavení objednávky: 14.10.2026",
        "Dato for ordre: 14.10.2026",
        "Föregående fakturadatum: 2026-10-14",
    ],
)
def test_words_beside_a_label_make_its_day_that_of_another_paper(other: str) -> None:
    for own in ("Invoice date: 3 November 2026", "Date: 3 November 2026"):
        assert read_dates("Invoice 17", other, own)[0] == "2026-11-03"
        assert read_dates("Invoice 17", own, other)[0] == "2026-11-03"


@pytest.mark.parametrize(
    "own",
    [
        "Our invoice date: 3 November 2026",
        "Invoice date: Tuesday, 3 November 2026",
        "Nr. 17 | Rechnungsdatum: 03.11.2026",
        "Liefer- und Rechnungsdatum: 03.11.2026",
        "Rechnungsdatum (= Lieferdatum): 03.11.2026",
        "Date de facture : Lyon, le 3 novembre 2026",
        "Datum vystavení faktury: 03.11.2026",
        "Datum / Date: 03.11.2026",
        "Data wystawienia i sprzedaży: 03.11.2026",
        "Rechnungs-/Lieferdatum: 03.11.2026",
        "Date 3 November 2026 Due 3 December 2026 Order date 14 October 2026",
    ],
)
def test_words_of_its_own_beside_a_label_leave_it_the_invoices(own: str) -> None:
    assert read_dates("Invoice 17", own)[0] == "2026-11-03"


def test_of_two_days_with_labels_of_an_invoice_nobody_can_tell() -> None:
    assert read_dates("Rechnung 17", "Rechnungsdatum: 03.11.2026", "Rechnungsdatum: 04.11.2026")[0] == "None"
    assert read_dates("Rechnung 17", "Liefer-/Rechnungsdatum: 28.10.2026 / 03.11.2026")[0] == "None"
    assert read_dates("Rechnung 17", "Ausstellungsdatum: 04.11.2026", "Rechnungsdatum: 03.11.2026")[0] == "2026-11-03"
    assert read_dates("Invoice 17", "Tax date: 31 October 2026", "Issued 3 November 2026")[0] == "2026-11-03"


@pytest.mark.parametrize(
    "rows",
    [
        ("Date | Work | £", "14 October 2026 | Doors | 1,000.00"),
        ("Datum    Stunden", "14.10.2026    8"),
        ("Dato    Kørsel    Km", "14.10.2026    Aarhus    12"),
        ("Le 14/10/2026, intervention sur votre chantier",),
        ("Le 14/10/2026 : pose de la porte",),
        ("Datum 14.10.2026 Montage Geländer",),
        ("Date: 14 October 2026, site visit",),
        ("Date of delivery: 14 October 2026",),
        ("Scadenza: 14/10/2026",),
        ("Due 14 October 2026",),
        ("geb. 14.10.1979",),
        ("Invoice date", "Period 01/10/2026 - 14/10/2026"),
    ],
)
def test_a_bare_date_is_one_that_nothing_else_is_said_of(rows: tuple[str, ...]) -> None:
    cells = [row.replace(" | ", "    ") for row in rows]
    assert read_dates("Invoice no. 17", *cells)[0] == "None"
    assert read_dates("Invoice no. 17", *cells, "Date: 3 November 2026")[0] == "2026-11-03"


@pytest.mark.parametrize(
    "rows",
    [
        ("Date: 14 October 2026", "Date: 3 November 2026"),
        ("Order             Invoice", "Date 14/10/2026   Date 03/11/2026"),
        ("Date: 3 November 2026", "Tax point: 2 November 2026"),
        ("Order date / invoice date: 14 October 2026 / 3 Nov",),
        ("Delivery date / Invoice date    14/10/2026 / 03/11/2026",),
        ("Liefer- und Rechnungsdatum: 14.10.2026 / 03.11.2026",),
    ],
)
def test_of_two_days_of_which_nothing_says_whose_they_are_none_is_the_invoices(rows: tuple[str, ...]) -> None:
    assert read_dates("Invoice no. 17", *rows, "Total   £12.00")[0] == "None"


def test_of_two_days_behind_a_label_of_two_names_the_first_is_what_its_first_name_says() -> None:
    row = "Invoice date / Delivery date    03/11/2026 / 14/10/2026"
    assert read_dates("Invoice no. 17", row, "Total   £12.00")[0] == "2026-11-03"


def test_a_day_that_is_called_the_invoices_goes_before_a_bare_one() -> None:
    rows = ("Date: 4 November 2026", "Invoice date: 3 November 2026")
    assert read_dates("Invoice no. 17", *rows, "Total   £12.00")[0] == "2026-11-03"


def test_a_tax_point_on_the_same_day_as_the_date_is_no_doubt() -> None:
    rows = ("Date: 3 November 2026", "Tax point: 3 November 2026")
    assert read_dates("Invoice no. 17", *rows, "Total   £12.00")[0] == "2026-11-03"


def test_a_clause_of_the_law_in_a_label_leaves_it_the_day_of_issue() -> None:
    row = "Data wystawienia, z zastrzeżeniem art. 106na ust. 1 ustawy: 13.11.2026"
    assert read_dates("Faktura podstawowa", "Numer Faktury: FS/93", row)[0] == "2026-11-13"
