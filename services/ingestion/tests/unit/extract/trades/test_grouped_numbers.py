"""Numbers of accounts and orders in groups: the whole number, or none."""

import pytest
from note_texts import GERMAN, read_only

NOTE = GERMAN.replace("zulasten Konto-Nr. 12345678", "zulasten")


@pytest.mark.parametrize(
    ("line", "account"),
    [
        ("Compte titres n° 60180 00040318772  Référence : 24137 004418", "6018000040318772"),
        ("Kontonummer 55 1180 27-0, Valutadatum 19.01.2026", "55118027-0"),
        ("Compte-titres n° 13106 00500 88120047715  Le 05/06/2026", "131060050088120047715"),
        ("ACCOUNT NO    : YP/ 0099214", "YP/0099214"),
        ("Dossier titoli n. 0017 4420815  Intestato a: X", "00174420815"),
        ("Effectenrekening 45 88 10 227", "458810227"),
        ("Conta n.º 0118 044217 903", "0118044217903"),
        ("Número de cuenta: 0049 7712 300118", "00497712300118"),
        ("Depotnummer 3500 7714 29 vom 15.01.2026", "3500771429"),
        ("Depotnummer 3500 7714 15.01.2026", "35007714"),
        ("Depotnummer 3500 7714 209,95 EUR", "35007714"),
        ("Depotnummer 3500 7714 100 Stück", "35007714"),
        ("Depotnummer 3500 7714 209 EUR", "35007714"),
        ("Depotnummer 3500 7714 10:15 Uhr", "35007714"),
        ("Depotnummer 3500 7714 (seit 2019)", "35007714"),
        ("Depotnummer 60180  00040318772", None),  # its groups stand in cells of their own
        ("Depotnummer 60180 *4711", None),
        ("Account number 40218833 1/3", None),
        ("Account number 40218833 1 of 2", None),
        ("Account number 40218833 2nd holder J Smith", None),
        ("Account number 40218833 2026", None),
        ("Account number 40218833 020 7946 0018", None),
        ("Account number 4021 8833 12-month ISA", None),
        ("Account number 4021 8833 1/3", None),
        ("Depotnummer 4471 0029 10 Siemens", None),
        ("Depotnummer 4471002918 10 Siemens", None),
        ("Account number 40218833 A Smith", "40218833"),
        ("Account number 40218833", "40218833"),
        ("Depot-Nr.: 118 / 447188", None),
        ("Depot-Nr.: 4471 0029 - 447188", None),
        ("Depotnummer 1 2 3 4 5 6 7 8 9 10 11 12 13", None),
    ],
)
def test_an_account_in_groups_is_read_whole_or_not_at_all(line: str, account: str | None) -> None:
    assert read_only(f"{line}\n{NOTE.strip()}")["account"] == account


@pytest.mark.parametrize(
    ("line", "reference"),
    [
        ("Référence : 24137 004418", "24137 004418"),
        ("Auftragsnummer 55 1180 27-0", "55 1180 27-0"),
        ("Order no. 2026 0115 AB7  Page 1", None),
        ("Order reference 8842113 14h32", None),
        ("Order reference 8842113 3 Mar", None),
        ("Order reference 8842 1131 14 Mar", None),
        ("Order number 8842113 03/03", None),
        ("Auftragsnummer 882113 0915 Uhr", None),
        ("Order no. 2026 0115 77  Page 1", "2026 0115 77"),
        ("Numero ordine 24137 004418, eseguito", "24137 004418"),
        ("Ordernummer 24137 004418 10:15", "24137 004418"),
        ("Auftragsnummer 40117855 100 Stück", "40117855"),
        ("Auftragsnummer 40117855 vom 15.01.2026", "40117855"),
        ("Auftragsnummer 24137 #4418", None),
    ],
)
def test_a_reference_in_groups_is_read_whole_or_not_at_all(line: str, reference: str | None) -> None:
    assert read_only(f"{line}\n{NOTE.strip()}")["reference"] == reference


def test_a_number_of_business_in_groups_that_is_the_customers_is_no_reference() -> None:
    lines = "Kunden-Nr.: 000 123456\nGeschäfts-Nr. 000 123456\n"
    assert read_only(lines + NOTE.strip())["reference"] is None
