"""Tax numbers by the names that countries have for them."""

import pytest

from ingestion.extract.parties.tax_ids import compare_tax_ids, find_tax_ids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NIP: 774-00-01-454", "7740001454"),
        ("NIF: 46876707Q", "46876707Q"),
        ("C.I.F. B-21114673", "B21114673"),
        ("NIF: 508 830 362", "508830362"),
        ("Contribuinte n.º 508830362", "508830362"),
        ("Contribuinte N.º 508830362", "508830362"),
        ("P.IVA 37894770314 - C.F. RNLPLA75D44A944K", "37894770314"),
        ("Partita IVA: IT37894770314", "IT37894770314"),
        ("Musterby ApS · CVR-nr. 26 66 85 14 · Tlf. 74 42 00 00", "26668514"),
        ("VAT Reg. No. 724 0919 01", "724091901"),
        ("CHE-724.144.923 MWST", "CHE724144923"),
    ],
)
def test_a_number_of_one_country_is_read_behind_its_name_as_it_is_printed(text: str, expected: str) -> None:
    assert find_tax_ids(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "NIF: 46876707R",
        "CVR 26668515",
        "P.IVA 37894770315",
        "Steuernummer: 156/231/40512",
        "CHE-724.144.923",
        "VAT No. 724 0919 02",
    ],
)
def test_a_number_with_another_check_digit_or_of_another_kind_is_none(text: str) -> None:
    assert find_tax_ids(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("ESB21114673", "B21114673"), ("PT508830362", "508830362"), ("CHE-724.144.923 MWST", "CHE724144923")],
)
def test_a_number_is_the_same_with_its_country_and_without_it(one: str, other: str) -> None:
    assert compare_tax_ids(one, other)
    assert not compare_tax_ids(one, other.replace("3", "4"))


@pytest.mark.parametrize(
    "text",
    [
        "DIČ neplátce, účet CZ65 0800 0000 1920 0014 5399",
        "Btw-nr volgt. IBAN BE68 5390 0754 7034",
        "NIP, konto PL61 1090 1014 0000 0712 1981 2874",
    ],
)
def test_the_beginning_of_an_account_is_no_tax_number(text: str) -> None:
    assert find_tax_ids(text) == []
