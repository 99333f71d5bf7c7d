"""The numbers of a supplier as a person or a program types them: what has not their form was mistyped."""

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from stdnum import iban as stdnum_iban
from stdnum.eu.vat import MEMBER_STATES

from ingestion.domain.tax_number_forms import may_be_tax_number, split_country
from ingestion.domain.vat_ids import has_form_of_country

# Of Greece under its own letters; those of Northern Ireland are British, and have no form here.
_COUNTRIES = {country.upper() for country in MEMBER_STATES} - {"GR", "XI"} | {"EL"}


def _require_check_digits(text: str) -> str:
    compact = re.sub(r"\s", "", text).upper()
    # Not by lists of banks: one that they lack has accounts all the same.
    if not stdnum_iban.is_valid(compact, check_country=False):
        raise ValueError("its check digits or its length are not those of an IBAN")
    return compact


def _require_form_of_tax_id(text: str) -> str:
    """A VAT id of the EU has the form of its country; other tax numbers have many. Check digits are not looked at: a
    paper may print a number that was never one, and it is given as it is printed."""
    if not may_be_tax_number(text):
        raise ValueError("a VAT id or tax number is needed, alone and with 6 to 20 digits, as DE123456789")
    country, number = split_country(text)
    if country in _COUNTRIES and not has_form_of_country(country, number):
        raise ValueError(f"VAT ids of {country} have another form: is a digit missing, or one too many?")
    return text


IBAN = Annotated[str, StringConstraints(max_length=50), AfterValidator(_require_check_digits)]
TaxId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=50),
    AfterValidator(_require_form_of_tax_id),
]
