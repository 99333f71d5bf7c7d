"""Whether a number has the form of its country's VAT ids."""

import pytest

from ingestion.domain.vat_ids import has_form_of_country


@pytest.mark.parametrize(
    ("country", "number"), [("DE", "136695976"), ("EL", "094259216"), ("NL", "004495445B01"), ("DE", "136695977")]
)
def test_a_number_of_its_countrys_form_is_let_pass_whatever_its_check_digit(country: str, number: str) -> None:
    assert has_form_of_country(country, number)


@pytest.mark.parametrize(
    ("country", "number"), [("DE", "13669597"), ("NL", "004495445"), ("US", "123456789"), ("XX", "1")]
)
def test_a_number_of_another_form_or_of_a_country_without_one_is_none(country: str, number: str) -> None:
    assert not has_form_of_country(country, number)
