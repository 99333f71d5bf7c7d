import pytest

from ingestion.extract.company_names import begins_alike


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
