"""Whose tax number it is, where the customer's stands beside it."""

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.layout_rules import read_invoice
from ingestion.extract.parties.payee_numbers import find_vat_id


def vat_id(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows)).invoice.vat_id


def test_of_two_columns_the_one_below_the_seller_counts_however_far_below() -> None:
    rows = ["DODAVATEL                 ODBERATEL", "Jana                      Pekarna", "", ""]
    rows = [row.replace("ODBERATEL", "Odběratel") for row in rows]
    assert vat_id(*rows, "DIČ CZ01626663            DIČ CZ39301401") == "CZ01626663"


@pytest.mark.parametrize(
    ("headings", "own"),
    [("Odběratel                 Dodavatel", "CZ01626663"), ("Dodavatel                 Odběratel", "CZ39301401")],
)
def test_whichever_column_is_the_sellers_its_number_counts(headings: str, own: str) -> None:
    rows = [headings, *["Zboží                     Služby"] * 12, "DIČ CZ39301401            DIČ CZ01626663"]
    assert find_vat_id(read_rows("\n".join(rows)), None) == own


def test_a_sentence_about_the_seller_is_no_heading_of_a_column() -> None:
    rows = ["Odběratel                 Jana", "Pekarna", "Dodavatel odpovídá za vady zboží po celou dobu záruky"]
    assert vat_id(*rows, "DIČ CZ39301401            DIČ CZ01626663") != "CZ39301401"


def test_of_two_blocks_without_a_heading_the_one_below_the_suppliers_name_counts() -> None:
    supplier = ["Suministros Hosteleros Levante, S.L.", "Calle Mayor 21", "CIF B21114673"]
    title = "FACTURA                                           Hotel Playa Azul, S.A."
    assert vat_id(*supplier, "", title, f"{'':50}CIF A08015497") == "B21114673"


def test_a_letter_says_whom_it_is_for() -> None:
    customer = ["Spett.le", "Meccanica Torri S.r.l.", "P.IVA 58657800338"]
    assert vat_id("Studio Rinaldi", "P.IVA 37894770314", "", *customer) == "37894770314"


def read_rows(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.splitlines()).lines


@pytest.mark.parametrize(
    ("foot", "expected"),
    [
        (["Ein Partner der Verbund AG, HRB 12345, USt-IdNr. DE136695976"], None),
        (["Verbund AG      www.verbund.example      USt-IdNr. DE136695976"], None),
        (["Verbund AG, Ring 9", "Amtsgericht Köln HRB 12345, USt-IdNr. DE136695976"], None),
        (["Malerbetrieb Kunz, Ring 3, USt-IdNr. DE136695976"], "DE136695976"),
        (["Ring 3      Stadtbank AG                     USt-IdNr. DE136695976"], "DE136695976"),
        (["Ring 3      Nordgeld AG                      USt-IdNr. DE136695976", f"{'':12}IBAN DE89"], "DE136695976"),
    ],
)
def test_a_number_behind_another_companys_name_is_that_companys(foot: list[str], expected: str | None) -> None:
    assert (
        find_vat_id(read_rows("\n".join(["Malerbetrieb Kunz", "Rechnung 7", *foot])), "Malerbetrieb Kunz") == expected
    )


def test_a_number_at_the_end_of_another_companys_address_is_that_companys() -> None:
    """As that of the customer in an envelope's window, where no word says whose it is."""
    letter = (
        "Muster GmbH, Ring 3, 6020 Innsbruck\n\n{}\nTalweg 1\n83242 Reit im Winkl\nDeutschland\nBayern\nUID DE155448768"
    )
    assert find_vat_id(read_rows(letter.format("Beispiel GmbH")), "Muster GmbH") is None
    assert find_vat_id(read_rows(letter.format("Muster GmbH")), "Muster GmbH") == "DE155448768"
    assert find_vat_id(read_rows(letter.format("Beispiel GmbH").replace("Bayern", "")), "Muster GmbH") == "DE155448768"


def test_a_court_and_a_legal_form_without_a_name_are_no_other_company() -> None:
    name = "Zimmerei Holzapfel GmbH & Co. KG"
    court = read_rows(f"{name}    AG Mannheim HRA 704411    USt-IdNr. DE814327653")
    assert find_vat_id(court, name) == "DE814327653"
    assert find_vat_id(read_rows("SARL au capital de 12 000 € — TVA FR68492837166"), "Ets Moreau") == "FR68492837166"
    other = read_rows("Verbund AG    AG Mannheim HRB 704411    USt-IdNr. DE814327653")
    assert find_vat_id(other, name) is None


def test_a_tax_number_without_a_label_counts_in_the_foot_beside_the_suppliers_name() -> None:
    rows = "Rechnung\nBergbahnen\nUID DE155448768\nTotal 12,00\n"
    foot = "alpensoft IT GmbH          LG Innsbruck\nKaiserjägerstraße 30       ATU67123454          BIC HYPTAT22"
    page = read_rows(rows.replace("UID", "Ihre UID") + foot)
    assert find_vat_id(page, "alpensoft IT GmbH") == "ATU67123454"
    assert find_vat_id(page, "Somebody else GmbH") is None


def test_our_number_is_the_suppliers_whoever_is_addressed_behind_it() -> None:
    row = "Unsere MWST-Nr.: CHE-113.442.566 MWST Ihre Kontaktperson: Nadja Grabherr"
    assert find_vat_id(read_rows(row), "Grabherr Treuhand AG") is not None
    assert find_vat_id(read_rows(row.replace("Unsere", "Die")), "Grabherr Treuhand AG") is None


@pytest.mark.parametrize(
    "row",
    [
        "Unser Kunde USt-IdNr. ATU67123454",
        "Nostro cliente P.IVA IT07643520567",
        "Notre client TVA FR40303265045",
        "Our ref AB/12 Your VAT no. GB999999973",
        "Onze ref. AB Uw btw-nummer NL001234567B01",
        "Vores ref. AB Jeres CVR-nr. DK25313763",
        "Unsere USt-IdNr. siehe Fuß, Ihre USt-IdNr.: ATU67123454",
        # A company stands before it.
        "Ein Unternehmen der Verbund AG Köln HRB 4711 USt-IdNr. DE811111119",
        "SARL unipersonnelle Bâtiplus TVA FR40303265045",
    ],
)
def test_a_number_of_whom_our_line_speaks_is_not_ours(row: str) -> None:
    account = "IBAN DE89 3704 0044 0532 0130 00"
    assert find_vat_id(read_rows(f"Rechnung\n{row}\n{account}"), "Malerbetrieb Kunz") is None


@pytest.mark.parametrize("other", ["Sommerfeld Verlag AG", "Fiskalvertretung Steuerrat Wien"])
def test_a_bare_number_below_another_name_in_the_foot_is_that_ones(other: str) -> None:
    foot = f"Hallbrunn GmbH            {other}\nIndustrieweg 14           ATU67123454"
    assert find_vat_id(read_rows(f"Rechnung\nLeistung\n{foot}"), "Hallbrunn GmbH") is None
