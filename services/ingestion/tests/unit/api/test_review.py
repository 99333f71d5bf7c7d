"""The fields of an invoice as a review gives them."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from ingestion.api.review import CorrectedFields


@pytest.mark.parametrize("name", ["issue_date", "due_date"])
@pytest.mark.parametrize("day", ["1926-12-09", "2206-11-09", "0001-01-01"])
def test_a_day_of_another_century_is_refused_with_those_that_there_are(name: str, day: str) -> None:
    with pytest.raises(ValidationError, match="a day from 1970-01-01 to"):
        CorrectedFields.model_validate({name: day})
    assert CorrectedFields.model_validate({name: "2026-12-09"}).to_json() == {name: "2026-12-09"}


def test_an_invoice_that_is_dated_over_a_year_ahead_is_refused() -> None:
    ahead = (datetime.now(UTC).date() + timedelta(days=400)).isoformat()
    with pytest.raises(ValidationError, match="an invoice is not dated a year ahead"):
        CorrectedFields.model_validate({"issue_date": ahead})
    assert CorrectedFields.model_validate({"due_date": ahead}).to_json() == {"due_date": ahead}


@pytest.mark.parametrize(
    ("given", "mistake"),
    [
        ({"currency": "XXX"}, "XXX is no currency of ISO 4217"),
        ({"currency": "eur"}, "currency"),
        ({"iban": "DE00370400440532013000"}, "check digits"),
        ({"iban": "hello"}, "check digits"),
        ({"total_gross": "1.234"}, "total_gross: 1.234 has more decimals than money has"),
        ({"total_net": "1.000"}, "as 1234.56"),
        ({"amount_due": "12.5000", "currency": "KWD"}, "more decimals than money has"),
        ({"vat_id": "hello"}, "a VAT id or tax number is needed"),
        ({"vat_id": "hello123456"}, "a VAT id or tax number is needed"),
        ({"vat_id": "hello 123456"}, "a VAT id or tax number is needed, alone"),
        ({"vat_id": "army 123456"}, "a VAT id or tax number is needed"),
        ({"vat_id": "best 1234567"}, "a VAT id or tax number is needed"),
        ({"vat_id": "123456 hello"}, "a VAT id or tax number is needed"),
        ({"vat_id": "ab 123456"}, "a VAT id or tax number is needed"),
        ({"vat_id": "123456789012345678901"}, "a VAT id or tax number is needed"),
        ({"vat_id": "VAT no. DE123456789"}, "a VAT id or tax number is needed, alone"),
        ({"vat_id": "DE"}, "a VAT id or tax number is needed"),
        ({"vat_id": "DE12345678"}, "VAT ids of DE have another form"),
        ({"vat_id": "nl 123456789"}, "VAT ids of NL have another form"),
    ],
)
def test_a_number_without_the_form_of_its_kind_is_refused_with_what_is_needed(
    given: dict[str, str], mistake: str
) -> None:
    with pytest.raises(ValidationError, match=mistake):
        CorrectedFields.model_validate(given)


@pytest.mark.parametrize(
    "tax_id",
    [
        "DE123456789",
        "DE 123.456.789",
        "ATU12345678",
        "ES B12345678",
        "CHE-123.456.789 MWST",
        "B12345678",
        "RSSMRA85T10A562S",
        "VECJ880326XXX",
        "12/345/67890",
        "NO 123 456 789 MVA",
        "SIRET 123 456 789 00012",
        "EL123456789",
        "XI 123456789",
        "PL 123-456-78-90",
        "FRXX123456789",
        "IE1A23456B",
        "IE 1+23456B",
        "NL123456789B01",
        "CHE123456789",
        "NIF 12345678Z",
        "22AAAAA0000A1Z5",
        "123456789 RT0001",
        "AE 100123456700003",
        "US 12-3456789",
        "UA 123456789012",
        "91350211M000100Y43",
    ],
)
def test_a_tax_id_is_taken_as_papers_print_it(tax_id: str) -> None:
    """Its check digit too: a paper may print one that was never right."""
    assert CorrectedFields.model_validate({"vat_id": tax_id}).to_json() == {"vat_id": tax_id}


def test_an_amount_has_the_decimals_of_its_currency() -> None:
    given = {"total_gross": "1.234", "currency": "KWD"}
    assert CorrectedFields.model_validate(given).to_json() == given
    assert CorrectedFields.model_validate({"total_gross": "1234.5"}).to_json() == {"total_gross": "1234.50"}


def test_an_account_of_a_bank_that_a_list_lacks_is_taken_as_readers_take_it() -> None:
    assert CorrectedFields.model_validate({"iban": "be68 5390 0754 7034"}).to_json() == {"iban": "BE68539007547034"}


@pytest.mark.parametrize("code", ["EUR", "CHF", "ISK", "DEM"])
def test_a_currency_that_papers_since_1970_are_in_is_taken(code: str) -> None:
    assert CorrectedFields.model_validate({"currency": code}).to_json() == {"currency": code}
