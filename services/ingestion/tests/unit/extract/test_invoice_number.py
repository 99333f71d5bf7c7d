"""The number of an invoice, wherever its supplier's program prints it."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice


def number(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows)).invoice.invoice_number


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Facture d'acompte n° FA-2026-0061", "FA-2026-0061"),
        ("Factura rectificativa nº R-2026/009", "R-2026/009"),
        ("Fattura di acconto n. 27/2026", "27/2026"),
        ("Fatura-recibo FR 2026/31", "FR 2026/31"),
        ("Faktura korygująca nr FK/4/06/2026", "FK/4/06/2026"),
        ("Faktura – daňový doklad 2026-0042", "2026-0042"),
        ("Slutfaktura 5087", "5087"),
        ("ZÁLOHOVÁ FAKTURA  ZF260131", "ZF260131"),
        ("Voorschotfactuur 2026-118", "2026-118"),
    ],
)
def test_a_part_or_a_correction_of_an_invoice_has_a_number_too(title: str, expected: str) -> None:
    assert number("Example", title) == expected


@pytest.mark.parametrize(
    ("written", "expected"), [("FV/31/03/2026", "FV/31/03/2026"), ("FV 12/03/2026", "FV 12/03/2026")]
)
def test_a_count_of_the_month_is_no_date(written: str, expected: str) -> None:
    assert number("Papiernia", f"Faktura VAT nr {written}") == expected


@pytest.mark.parametrize("written", ["vom 12.05.2026", "DU 12/05/2026", "12/05/26", "vom12.05.2026"])
def test_a_date_behind_a_title_is_no_number(written: str) -> None:
    assert number("Example", f"Rechnung Nr. {written}") is None


def test_a_number_and_a_date_may_share_a_label_under_their_title() -> None:
    rows = ["Rechnung", "Nummer/Datum", "90012345 / 14.03.2026", "Auftragsnummer/Datum", "4500781 / 02.03.2026"]
    invoice = read_invoice(Transcript.from_rows(rows)).invoice
    assert (invoice.invoice_number, str(invoice.issue_date)) == ("90012345", "2026-03-14")
    assert number("Lieferschein", *rows[1:]) is None


def test_a_street_to_the_right_of_a_label_is_no_number() -> None:
    assert number("Invoice Number    3/18 Foundry Road", "INV-0451          SEVEN HILLS") == "INV-0451"


def test_a_number_may_stand_at_the_other_edge_of_the_title() -> None:
    assert number("Invoice                                2026-000117", "Seller:") == "2026-000117"
    assert number("FAKTURA         nr 2026/04/117", "Sprzedawca:") == "2026/04/117"
    assert number("Invoice                                Page 1", "Seller:") is None


def test_who_writes_few_invoices_counts_from_one() -> None:
    assert number("Marco Bellini", "Fattura n. 8 del 14/07/2026") == "8"
    assert number("Marco Bellini", "Fattura n. 8 pagine") is None


def test_a_bare_label_below_many_lines_is_the_numbers_where_a_title_says_of_what() -> None:
    head = [f"Line {row} of the head" for row in range(12)]
    assert number(*head, "Factuur           Nummer     2026-17", *head) == "2026-17"
    assert number("FACTURA", "N.º       FT A/20871", "Data      2026.06.05") == "FT A/20871"
    assert number(*head, "Offerte           Nummer     2026-17", *head) is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["Ticket-Nr.: 48813", "Rechnungsnummer: RE-2026-17"], "RE-2026-17"),
        (["Ticket-Nr.: 48813", "Rechnung RE-2026-17"], "RE-2026-17"),
        (["Ticket-Nr.: 48813", "Total  12,00 EUR"], "48813"),
    ],
)
def test_a_ticket_counts_where_the_invoice_has_no_number_of_its_own(rows: list[str], expected: str) -> None:
    assert number("Muster GmbH", *rows) == expected


@pytest.mark.parametrize(
    ("written", "expected"), [("90 448 137", "90 448 137"), ("26104 55120", "26104 55120"), ("904 Main Street", "904")]
)
def test_a_number_in_groups_is_whole(written: str, expected: str) -> None:
    assert number("Fjordlys A/S", f"Fakturanr.  {written}") == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("Inv. No. 0042", "0042"),
        ("Fra. nº: A/2026/118", "A/2026/118"),
        ("Rg.-Nr.: 2026-0441", "2026-0441"),
        ("Re.-Nr.  2026-0441", "2026-0441"),
        ("RgNr  2026-0441", "2026-0441"),
        ("Inv. #  2026-0441", "2026-0441"),
        ("Fact. n° 2026-0441", "2026-0441"),
        ("Fatt. n. 2026-0441", "2026-0441"),
        ("Fakt.nr.: 2026-0441", "2026-0441"),
        ("Factnr  2026-0441", "2026-0441"),
        ("Nr FV  2026-0441", "2026-0441"),
        ("Ref.-Nr.: 2026-0441", None),
        ("Repnr. 2026-0441", None),
        ("Honorarnote Nr. 2026-31", "2026-31"),
        ("Note d'honoraires n° 2026-31", "2026-31"),
        ("Documento commerciale N. 0031-0017", "0031-0017"),
        ("Paragon fiskalny nr 00317", "00317"),
        ("Kassenbeleg Nr. 00317", "00317"),
        ("NOTA DE CREDITO n. NC/31", "NC/31"),
        ("Inv.-Nr. 4711", None),
    ],
)
def test_papers_that_ask_for_money_have_many_names(row: str, expected: str | None) -> None:
    assert number("Example", row, "Total   12.00") == expected


@pytest.mark.parametrize(
    "row",
    [
        "Doc. nº: 90012",
        "Dok. nr  90012",
        "Bilagsnr.  90012",
        "N° pièce : 90012",
        "Document No: 90012",
        "Číslo dokladu: 90012",
        "Número de documento   90012",
    ],
)
def test_the_number_of_a_document_is_the_invoices_where_a_title_says_what_it_is(row: str) -> None:
    assert number("Example", "INVOICE", row) == "90012"
    assert number("Example", "INVOICE", row, "Invoice number: 7-118") == "7-118"
    assert number("Example", "Delivery", row) is None


@pytest.mark.parametrize("written", ["38 / 2026", "2026 - 117"])
def test_a_year_may_stand_apart_from_its_count(written: str) -> None:
    assert number("Example", f"Rechnung Nr. {written}") == written
    assert number("Example", f"Rechnung Nr. {written}", "Datum 3.5.2026") == written
    assert number("Example", "Rechnung Nr. 4711 / 10382") == "4711"


def test_a_certified_number_may_stand_beside_the_title_of_a_sheet() -> None:
    assert number("FATURA-RECIBO ORIGINAL   FR ATSIRE01FR/84", "Total   12.00") == "FR ATSIRE01FR/84"
    assert number("INVOICE COPY   PO 45001", "Total   12.00") is None


def test_a_prefix_may_stand_apart_beside_the_title() -> None:
    assert number("Hotel Seeblick", "Beratung AG          Rechnung    R 88231") == "R 88231"
    assert number("Hotel Seeblick", "Beratung AG          Rechnung    FA 88231/2") == "FA 88231/2"


@pytest.mark.parametrize("other", ["PO 45001", "KD 88231", "D 80331", "R 88", "R 88231 Zimmer"])
def test_what_else_stands_beside_the_title_is_no_number(other: str) -> None:
    assert number("Hotel Seeblick", f"Beratung AG          Rechnung    {other}") is None


@pytest.mark.parametrize("between", ["de fecha", "emessa il", "af", "of", "in data"])
def test_a_single_digit_may_stand_before_the_date(between: str) -> None:
    assert number("Example", f"Factura nº 5 {between} 03/04/2026") == "5"


@pytest.mark.parametrize(
    "title",
    [
        "Factura nº 1 de 2",
        "Factura nº 2, de 3 envíos",
        "Faktura nr. 2 af 3",
        "Rechnung Nr. 2 von 3",
        "Invoice no. 10 of 12",
        "Invoice no. 2, in duplicate",
        "Fattura n. 2 in copia",
        "Fattura n. 1 con allegati",
    ],
)
def test_one_of_several_sheets_is_no_number(title: str) -> None:
    assert number("Example", title) is None
    assert number("Example", "Invoice", title, "Document no.: 2026-118") == "2026-118"
    assert number("Example", "Invoice no. 12 of 3 May 2026") == "12"


def test_a_bill_reference_counts_where_it_begins_its_cell_and_nothing_else_is_called_the_number() -> None:
    assert number("Delivery bill ref: 77812", "Invoice number: BJ-20441") == "BJ-20441"
    assert number("Bill ref. of landlord: L-5512", "Invoice number: BJ-20441") == "BJ-20441"
    assert number("Delivery bill ref: 77812") is None
    assert number("Bill ref: 77812") == "77812"


def test_a_number_within_a_sentence_is_not_taken_against_the_title() -> None:
    paid = "Mit Rechnungsnr.: 2026-4400 wurde die Anzahlung berechnet"
    assert number("Rechnung Nr. 2026-4471", paid) == "2026-4471"
    assert number("Rechnung 2026-4471", paid) is None
    assert number("Rechnung 2026-4471", "Zahlung bitte mit Rechnungsnr.: 2026-4471") == "2026-4471"
    assert number("Credit note CN-118", "Relates to invoice no. 20440 | Date: 14/10/2026") == "CN-118"


@pytest.mark.parametrize("written", ["2026-", "A/2026/", "2026- 4471"])
def test_a_number_that_ends_with_a_dash_is_cut_off(written: str) -> None:
    assert number("Example", f"Rechnung Nr. {written}") is None


def test_a_shortened_label_may_end_its_cell() -> None:
    assert number("Fattura", "Fattura n.      Data fattura", "118/2026        03/11/2026") == "118/2026"


def test_heads_and_their_values_belong_together_by_their_order() -> None:
    rows = ["Order date        Invoice no.        Invoice date", "14/10/2026    HM-20441    03/11/2026"]
    invoice = read_invoice(Transcript.from_rows(["Invoice", *rows, "Total  £10.00"])).invoice
    assert (invoice.invoice_number, str(invoice.issue_date)) == ("HM-20441", "2026-11-03")


def test_a_date_below_a_label_is_no_number() -> None:
    assert number("Example", "Faktura nr 15/03/2026") == "15/03/2026"
    assert number("Example", "Faktura nr", "15/03/2026") is None


def test_a_bare_label_below_a_title_numbers_the_invoice() -> None:
    assert number("Example", "Invoice", "Number: 2026-117") == "2026-117"
    assert number("Example", "Invoice", "Supplier invoice no.: 90-1", "Our invoice number: 17-3") == "17-3"


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Rechnung 10/2026", "Nr.: 2026-4471"),
        ("Invoice 3/12", "No.: HM-20441"),
        ("Faktura X/2026", "Nr: FV/118/2026"),
        ("Factuur wk45", "Nummer: 20260118"),
        ("Fattura 10/2026", "Numero documento: 118/2026"),
    ],
)
def test_what_stands_behind_the_title_is_not_the_number_where_a_bare_label_has_another(title: str, other: str) -> None:
    assert number("Muster", title, other) is None
    assert number("Muster", title) is not None
    assert number("Muster", "Rechnung Nr. 4711", "Nr.: 549910") == "4711"  # the supplier's, or the customer's


@pytest.mark.parametrize(
    ("first", "rest"), [("INV/2026/11", "/004471"), ("RE20261103", "4471"), ("FV/118/11", "/2026")]
)
def test_a_number_that_goes_on_in_the_line_below_is_not_cut_there(first: str, rest: str) -> None:
    head = f"{'Customer':20}Invoice number"
    assert number("Invoice", head, f"{'4711-A':20}{first}", f"{'':20}{rest}") is None
    assert number("Invoice", head, f"{'4711-A':20}{first}", "", f"{'':20}{rest}") == first


def test_a_number_sign_beside_a_word_for_something_else_is_that_ones() -> None:
    assert number("Factura", "Número   VE-2026-3391", "Pedido   #20418", "Total   578,90 €") == "VE-2026-3391"
    assert number("Factura   #20418", "Total   578,90 €") == "20418"


def test_a_code_of_the_italian_format_is_a_title_beside_the_documents_number() -> None:
    heads = "Tipologia documento   Numero documento   Data documento"
    assert number(heads, "TD01 fattura          1184/A             10-11-2026") == "1184/A"


def test_a_number_may_stand_behind_two_titles_in_capitals() -> None:
    assert number("AVIS D'ÉCHÉANCE - FACTURE N° 2026-118745", "Total TTC   10,00 €") == "2026-118745"
    assert number("Avec votre paiement - facture n° 2026-118745", "Facture", "Total TTC   10,00 €") is None


@pytest.mark.parametrize("other", ["AVOIR", "ACOMPTE", "COMMANDE", "NOTA DI CREDITO"])
def test_behind_the_title_of_another_paper_in_capitals_the_number_is_another_invoices(other: str) -> None:
    assert number(f"{other} - FACTURE N° 2026-1187", "Numéro: AV-2026-014", "Total TTC   10,00 €") != "2026-1187"


def test_a_number_of_a_portuguese_series_stands_beside_its_title() -> None:
    assert number("FATURA   FAC 26/302", "Total   10,00 €") == "FAC 26/302"
    assert number("FATURA   ENC 26/302", "Total   10,00 €") is None


@pytest.mark.parametrize("label", ["Rg.-Nr.", "Inv. #", "Fact. n°", "Fatt. n.", "Nr dok.", "Nº fra.", "RgNr"])
def test_a_number_near_the_title_is_of_anything_where_a_short_label_has_another(label: str) -> None:
    for title in ("Rechnung          0551/123456", "Rechnung\n26-0817"):
        rows = ["Muster GmbH", *title.splitlines()]
        assert number(*rows, f"{label}     2026-0441") in (None, "2026-0441"), title
        assert number(*rows, f"{label} 2026-0441") in (None, "2026-0441"), title
        assert number(*rows, "Kd.-Nr.     10442") == title.split()[-1]
