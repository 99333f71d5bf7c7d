import pytest

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import Transcript
from ingestion.extract.parties.supplier_comparison import may_name_supplier, prints_tax_id

VAT = "DE136695976"
PAGE = Transcript.from_rows(
    (
        "Muster GmbH",
        "Musterweg 3, 20095 Hamburg",
        "Rechnung Nr. RE-1",
        "Klick & Mehr Handels GmbH",
        f"USt-IdNr. {VAT[:5]} {VAT[5:]}",
    )
).lines


def agrees(name: str, printed: str | None = "Muster GmbH", vat_id: str | None = None) -> bool:
    return may_name_supplier(Invoice(supplier_name=name, vat_id=vat_id), printed, PAGE)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("MUSTER", "Muster GmbH"),
        ("Muster GmbH", "Muster"),
        ("Müller & Söhne KG", "MULLER & SOHNE"),
        ("Klick&Mehr", "Klick & Mehr GmbH"),
        ("Ελληνική Εταιρεία", "ΕΛΛΗΝΙΚΗ ΕΤΑΙΡΕΙΑ"),
    ],
)
def test_a_name_is_the_same_whatever_its_case_its_accents_and_its_legal_form(name: str, printed: str) -> None:
    assert agrees(name, printed)


@pytest.mark.parametrize("name", ["A", "Mus", "GmbH", "Rechnung", "Hamburg", "ΩΩΩ", "Muster Bau GmbH"])
def test_a_piece_of_the_page_is_not_the_name_of_its_supplier(name: str) -> None:
    """Whose accounts would be those of somebody new."""
    assert not agrees(name)
    assert not agrees(name, vat_id="1")


@pytest.mark.parametrize("name", ["A", "Mus", "GmbH", "Rechnung", "Hamburg", "ΩΩΩ", "Muster Bau GmbH", "Klick"])
def test_not_even_with_the_suppliers_number(name: str) -> None:
    assert not agrees(name, vat_id=VAT)


def test_with_its_number_it_may_be_another_name_that_the_page_has_whole() -> None:
    """The rules took somebody else for the supplier."""
    assert agrees("Klick & Mehr Handels GmbH", vat_id=VAT)
    assert not agrees("Klick & Mehr Handels GmbH", vat_id="DE811115368")


def test_a_page_without_a_name_contradicts_none() -> None:
    assert agrees("Andere AG", printed=None)
    assert agrees("-")  # nobody: routing says that it is missing


@pytest.mark.parametrize(
    ("tax_id", "is_printed"), [(VAT, True), (VAT[2:], True), ("DE136695977", False), ("1", False), ("", False)]
)
def test_a_tax_number_is_found_with_its_country_and_without_it(tax_id: str, is_printed: bool) -> None:
    assert prints_tax_id(tax_id, PAGE) is is_printed
