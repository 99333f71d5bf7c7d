import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.parties.account_holder import find_account_holder


def holders(text: str) -> list[str | None]:
    page = Transcript.from_rows(text.splitlines()).lines
    return [find_account_holder(page, index, 0) for index in range(len(page))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kontoinhaberin: Anna Kunz", "Anna Kunz"),
        ("Account name  Muster Ltd", "Muster Ltd"),
        ("Please pay Muster Partnership LLP", "Muster Partnership LLP"),
        ("Payable on receipt by check or ACH to Anna Kunz", "Anna Kunz"),
        ("Titulaire du compte : Anna Kunz, Banque Exemple", "Anna Kunz"),
        ("Payable on receipt", None),
        ("Please pay to our account", None),
    ],
)
def test_the_holder_of_the_account_stands_behind_its_label(text: str, expected: str | None) -> None:
    assert holders(text) == [expected]


def test_the_holder_of_an_account_that_is_debited_is_the_customer() -> None:
    assert holders("SEPA-Mandat\nKontoinhaber: Kunde AG") == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "Zahlungsempfänger: Fidelia Factoring GmbH",
        "Payment to be made to Barrow Finance Limited",
        "Payments to Klarna Bank AB",
        "This invoice has been assigned\nPayable to Muster Ltd",
        "Wierzytelność przeniesiona\nwłaściciel rachunku: Muster Sp. z o.o.",
    ],
)
def test_who_bought_the_debt_or_passes_the_money_on_is_no_holder(text: str) -> None:
    assert set(holders(text)) == {None}
