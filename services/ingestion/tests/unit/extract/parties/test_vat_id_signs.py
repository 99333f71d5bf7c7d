"""Whether a lone tax number is the supplier's."""

import pytest
from invoice_rows import read_vat_id

SUPPLIER = ["Hallbrunn Metallbau GmbH", "Industrieweg 14", "70565 Stuttgart", "Tel. 0711 7788", "", ""]
ROWS = ["Rechnung 17", "Leistungen Oktober   1.000,00", "", ""]
FOOT = ["Hallbrunn Metallbau GmbH", "", ""]


@pytest.mark.parametrize(
    "number",
    ["USt-IdNr. DE123456788", "P.IVA 00623530136", "TVA FR40303265045", "NIP 6832000000", "DIČ CZ00235440"],
)
def test_the_last_line_of_an_addressees_block_is_no_number_of_the_suppliers(number: str) -> None:
    addressee = ["Förderverein Zoo Köln", "Riehler Str. 173", "50735 Köln", number, "", ""]
    assert read_vat_id(*SUPPLIER, *addressee, *ROWS, *FOOT) is None


@pytest.mark.parametrize("contact", ["Tel. +353 91 555 000", "accounts@galway.example", "Charity no. 5566771"])
def test_an_address_without_a_postcode_is_somebody_elses_however_he_is_reached(contact: str) -> None:
    number = "USt-IdNr. IE6388047V"
    block = ["12 Quay Street", "Galway", contact, number, "", ""]
    assert read_vat_id(*SUPPLIER, "Galway Rowing Club", *block, *ROWS, *FOOT) is None
    assert read_vat_id(*SUPPLIER, *ROWS, "Hallbrunn Metallbau GmbH", "12 Industrieweg", contact, number) is not None


@pytest.mark.parametrize(
    "line",
    [
        "This invoice was issued through Billora. VAT IE6388047V",
        "Steuerlicher Vertreter: Kanzlei Huber, USt-IdNr. DE266182271",
        "Transporteur : Trans Rhône, TVA FR40303265045",
        "Software homologado por Facturín NIF B98765431",
        "Bank Wisła Oddział 4, NIP 5260001246",
        "Sparkasse Stuttgart, USt-IdNr. DE147800272",
        "Faktura skickad via Fakturatjänst, momsreg.nr SE556000111101",
    ],
)
def test_a_number_behind_other_words_is_no_suppliers_though_no_other_is_on_the_page(line: str) -> None:
    assert read_vat_id(*SUPPLIER, *ROWS, "Hallbrunn Metallbau GmbH", line) is None


@pytest.mark.parametrize(
    "rows",
    [
        ("Debiteur: 10442", "Btw-nummer: NL001234567B01"),
        ("P.IVA: 00623530136", "Cod. SDI: ABCDEFG"),
        ("Account: 10442", "VAT no: GB999999973"),
        ("Datum 3.11.2026", "USt-IdNr.: DE123456788"),
    ],
)
def test_a_number_among_those_of_the_customer_and_of_the_paper_is_no_suppliers(rows: tuple[str, ...]) -> None:
    assert read_vat_id(*SUPPLIER, "Rechnung 17", *rows, "", "", *ROWS[1:], *FOOT) is None


@pytest.mark.parametrize(
    "foot",
    [
        ("Hallbrunn Metallbau GmbH · USt-IdNr. DE811111119",),
        ("Hallbrunn Metallbau GmbH", "Industrieweg 14, 70565 Stuttgart, USt-IdNr. DE811111119"),
        ("Amtsgericht Stuttgart HRB 4711, USt-IdNr. DE811111119",),
        ("Steuernummer 99/123/45678", "USt-IdNr. DE811111119"),
        ("USt-IdNr. DE811111119",),
    ],
)
def test_a_number_beside_the_suppliers_name_or_registers_or_alone_in_the_foot_is_the_suppliers(
    foot: tuple[str, ...],
) -> None:
    assert read_vat_id(*SUPPLIER, *ROWS, *foot) == "DE811111119"


def test_the_last_line_of_a_letter_is_the_suppliers_number_below_what_we_ask_for() -> None:
    body = [*SUPPLIER, "Rechnung 17", "Leistungen Oktober   1.000,00"]
    paying = "Bitte überweisen Sie den Betrag bis 14.05.2026 auf unser Konto."
    assert read_vat_id(*body, paying, "USt-IdNr.: DE811111119") == "DE811111119"
    assert read_vat_id(*body, "Der Betrag ist bis 14.05.2026 zu zahlen.", "USt-IdNr.: DE811111119") is None
    assert read_vat_id(*body, paying, "USt-IdNr.: DE811111119", "Vielen Dank!") is None


@pytest.mark.parametrize(
    "words", ["Steuerschuldnerschaft des Leistungsempfängers", "Autoliquidation", "Reverse charge", "Btw verlegd"]
)
def test_a_number_below_the_words_that_the_customer_owes_the_tax_is_the_customers(words: str) -> None:
    assert read_vat_id(*SUPPLIER, *ROWS, words, "USt-IdNr. ATU67123454", "", "", *FOOT) is None
    assert read_vat_id(*SUPPLIER, *ROWS, "Vielen Dank", "", "", "USt-IdNr. ATU67123454", "", "", *FOOT) == "ATU67123454"
