"""A brand over the page and its company in the foot, and names beside which the owner or a street stands."""

from dataclasses import replace

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.parties.company_names import is_domain, parse_name
from ingestion.extract.parties.supplier import Supplier, find_supplier

POSITIONS = [f"Artikel {number}   1   10,00   10,00" for number in range(12)]
FOOT = "Wanderluft Reisen GmbH · Ring 50 · 60325 Frankfurt · HRB 55123, USt-IdNr. DE136695976 · info@wanderluft.example"


def large_head(*rows: str) -> tuple[TextLine, ...]:
    """The first row in letters of twice the width and height."""
    first, *others = Transcript.from_rows(rows).lines
    cells = tuple(replace(cell, right=2 * cell.right - cell.left) for cell in first.cells)
    return (replace(first, height=22.0, cells=cells), *others)


def find(*rows: str) -> Supplier | None:
    return find_supplier(large_head(*rows))


@pytest.mark.parametrize(
    ("brand", "is_certain"),
    [
        ("wanderluft", True),
        ("wanderluft.example", True),
        ("wanderluft reisen", True),
        ("Waldweg", False),
        ("luft", False),
        ("Rechnung", False),
    ],
)
def test_a_brand_in_large_letters_and_the_foots_company_agree(brand: str, is_certain: bool) -> None:
    supplier = find(brand, "", "Thomas Ebert", "Rechnung 7", *POSITIONS, "Gesamt   120,00", FOOT)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Wanderluft Reisen GmbH", is_certain)


def test_a_brand_in_small_letters_is_no_sign() -> None:
    rows = ["wanderluft", "", "Thomas Ebert", "Rechnung 7", *POSITIONS, "Gesamt   120,00", FOOT]
    supplier = find_supplier(Transcript.from_rows(rows).lines)
    assert supplier is not None
    assert not supplier.is_certain


@pytest.mark.parametrize("other", ["Hotel Kunz GmbH\nTel. 030 555 0142", "Verkäufer: Hotel Kunz GmbH"])
def test_whoever_may_sell_under_a_brand_leaves_the_supplier_to_a_person(other: str) -> None:
    rows = ["wanderluft", "", "", *other.split("\n"), "", "Rechnung 7", *POSITIONS, "Gesamt   120,00", FOOT]
    supplier = find(*rows)
    assert supplier is None or not supplier.is_certain or supplier.name == "Hotel Kunz GmbH"


def test_a_number_at_the_tax_office_above_leaves_the_foot_of_a_brand_uncertain() -> None:
    rows = ["wanderluft", "", "Rechnung 7", "Pizzeria Roma", "Ring 3", "10115 Berlin", "St.-Nr. 145/217/50392"]
    supplier = find(*rows, *POSITIONS, "Gesamt   120,00", FOOT)
    assert supplier is None or not supplier.is_certain


def test_a_second_tax_number_leaves_the_foot_of_a_brand_uncertain() -> None:
    rows = ["wanderluft", "", "Rechnung 7", "USt-IdNr. DE129273398", *POSITIONS, "Gesamt   120,00", FOOT]
    supplier = find(*rows)
    assert supplier is None or not supplier.is_certain


@pytest.mark.parametrize(
    ("brand", "domain", "expected"),
    [
        ("bonjour café", "bonjourcafe", True),
        ("havregarn.dk", "havregarn", True),
        ("blåbær", "blaabaer", True),
        ("café", "bonjourcafe", False),
        ("abc", "abc", False),
    ],
)
def test_a_domain_is_a_brand_without_blanks_and_accents(brand: str, domain: str, expected: bool) -> None:
    assert is_domain(brand, domain) is expected


@pytest.mark.parametrize(
    "rows",
    [
        ("Malerbetrieb Kunz", "Anna Kunz", "Ring 3", "10115 Berlin", "USt-IdNr. DE136695976"),
        ("ETS MOREAU PLOMBERIE", "ZA des Chênes", "35170 BRUZ", "Tél. 02 99 55 01 42", "moreau.plomberie@orange.fr"),
        ("Vinařství Pálava, spol. s r.o.", "Náměstí 22", "692 01 Mikulov", "DIČ: CZ29012306"),
    ],
)
def test_the_owner_or_a_place_below_a_name_in_large_letters_is_no_other_name(rows: tuple[str, ...]) -> None:
    rest = [*[""] * 7, "Kunde: Meier AG", "", "Rechnung 7", *POSITIONS]
    supplier = find(*rows, *rest)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == (rows[0], True)


def test_a_slogan_over_a_name_stays_uncertain() -> None:
    rows = ["Farbe Und Form", "Malerbetrieb Kunz", "Ring 3", "10115 Berlin", "USt-IdNr. DE136695976"]
    supplier = find(*rows, *[""] * 7, "Kunde: Meier AG", "", "Rechnung 7", *POSITIONS)
    assert supplier is None or not supplier.is_certain


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Rheinschild Versicherung AG, Riehler Str. 90, 50668 Köln · Dr. Kern",
            "Rheinschild Versicherung AG",
        ),
        ("Promociones Turia 2000, S.L.", "Promociones Turia 2000, S.L."),
    ],
)
def test_a_street_behind_the_legal_form_is_no_part_of_a_name(text: str, name: str) -> None:
    assert parse_name(text) == name


def test_a_street_that_begins_a_line_of_contacts_is_no_rival_of_the_name() -> None:
    contacts = "Via dei Banchi 7 - 53100 Siena - Tel. 0577 555014 - avv.testa@pec.it - P.IVA 01998870366"
    rows = ["AVV. MARCO TESTA", contacts, "", "", "Spett.le", "Immobiliare Orcia S.r.l.", "FATTURA N. 88/2026"]
    supplier = find(*rows)
    assert supplier is not None
    assert supplier.name == rows[0]


@pytest.mark.parametrize(
    ("seller", "buyer", "label"),
    [
        ("Cedente/prestatore (fornitore)", "Cessionario/committente (cliente)", "Denominazione"),
        ("Sprzedawca", "Nabywca", "Nazwa"),
    ],
)
def test_a_name_in_a_form_below_the_sellers_heading_is_the_sellers(seller: str, buyer: str, label: str) -> None:
    left = [seller, "Dane identyfikacyjne", "NIP: 6340125005", f"{label}: Opony Gallo S.A.", "Regime fiscale: RF01"]
    right = [buyer, "Dane identyfikacyjne", "NIP: 6312233445", f"{label}: Kunde Sp. z o.o.", "Indirizzo: Via 3"]
    rows = [f"{one:<60}{other}" for one, other in zip(left, right, strict=True)]
    supplier = find_supplier(Transcript.from_rows(["Fattura 7", *rows, "Totale   10,00"]).lines)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Opony Gallo S.A.", True)


@pytest.mark.parametrize("name", ["Name: Jane Brown", "Nazwa: PKO Bank Polski S.A.", "Název: Komerční banka, a.s."])
def test_a_name_below_the_sellers_company_and_street_is_whom_to_ask_or_a_bank(name: str) -> None:
    rows = ["Supplier", "Harbour Tools Ltd", "12 Quay Street", "Leeds LS1 4AB", name, "Invoice 7", "Total   10.00"]
    supplier = find_supplier(Transcript.from_rows(rows).lines)
    assert supplier is None or supplier.name == "Harbour Tools Ltd"


def test_the_first_name_and_the_surname_in_a_form_are_one_name() -> None:
    rows = ["Cedente/prestatore (fornitore)", "Codice fiscale: RSSMRA70A01H501S", "Nome: MARIO", "Cognome: ROSSI"]
    supplier = find_supplier(Transcript.from_rows(["Fattura 7", *rows, "Totale   10,00"]).lines)
    assert supplier is not None
    assert supplier.name == "MARIO ROSSI"


def test_the_lines_of_a_column_beside_do_not_end_a_block() -> None:
    rows = ["Truhlářství Beneš", "Karel Beneš", "Krkonošská 14", "541 01 Trutnov", "DIČ: CZ26543206"]
    beside = ["", "Datum vystavení:  10.11.2026", "Splatnost:  24.11.2026", "DUZP:  10.11.2026", ""]
    lines = large_head(*(row for row in rows))
    dates = Transcript.from_rows([f"{'':<70}{text}" for text in beside if text]).lines
    mixed = [lines[0], lines[1], *(line for pair in zip(lines[2:5], dates, strict=True) for line in pair)]
    page = tuple(replace(line, top=number * 7.0) for number, line in enumerate(mixed))
    customer = Transcript.from_rows(["Odběratel: JUDr. Hana Malá", "Faktura 26118", *POSITIONS]).lines
    below = tuple(replace(line, top=200 + line.top) for line in customer)
    supplier = find_supplier((*page, *below))
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Truhlářství Beneš", True)


def test_a_place_below_a_company_is_no_sender_of_its_own() -> None:
    rows = ["FRUTAS EL PARQUE, S.L.", "Mercalmería, puesto 14 - 04009 Almería", "CIF: B41234563"]
    customer = ["", "", "Cliente: LA CALA, S.L.", "", "Factura 7", *POSITIONS]
    supplier = find(*rows, *customer)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("FRUTAS EL PARQUE, S.L.", True)


def test_a_legal_form_with_its_capital_below_a_name_is_no_other_company() -> None:
    rows = ["Paysages & Jardins Durand", "SARL au capital de 5 000 €", "42 chemin des Vignes", "33650 La Brède"]
    supplier = find(*rows, "N° TVA : FR83404833048", "", "", "", "", "Client : Syndic Habitat", "Facture 7", *POSITIONS)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Paysages & Jardins Durand", True)
