import pytest

from ingestion.extract.parties.company_names import begins_alike, parse_name

_ENDLESS = 100_000  # letters: whoever goes through them once for each of them does not come back


@pytest.mark.parametrize(
    ("name", "domain", "expected"),
    [
        ("Marchbank Design Partnership LLP", "marchbankdesign", True),
        ("Mälarrör i Västerås AB", "malarror", True),
        ("Müller Söhne GmbH", "muellersoehne", True),
        ("Muster GmbH", "musterdrucke", True),
        ("Ever Ltd", "everything", False),  # a short word begins many
        ("Muster GmbH", "kunde", False),
    ],
)
def test_a_domain_may_be_the_beginning_of_a_name(name: str, domain: str, expected: bool) -> None:
    assert begins_alike(name, domain) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Muster GmbH | Ring 3", "Muster GmbH"),
        ("Muster GmbH  –  Ring 3", "Muster GmbH"),
        ("Maison Muster, Ring 3", "Maison Muster"),
        ("Muster, Kunz & Co. Ltd", "Muster, Kunz & Co. Ltd"),  # a full stop follows: no address
        ("Muster SAS   au capital de 20 000 €", "Muster SAS"),
    ],
)
def test_a_name_ends_at_a_mark_at_an_address_and_at_the_capital(text: str, expected: str) -> None:
    assert parse_name(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        " " * _ENDLESS + "x",
        "Muster GmbH" + " " * _ENDLESS + "x",
        "Muster" + ", A" * (_ENDLESS // 3) + ".",
        "\t" * _ENDLESS,
        "Muster" + " -" * (_ENDLESS // 2),
    ],
    ids=["blanks", "blanks behind a company", "commas", "tabs", "dashes"],
)
def test_a_cell_is_gone_through_once_whatever_it_is_full_of(text: str) -> None:
    assert (parse_name(text) or "Muster").startswith("Muster")
