"""The numbers of a supplier as a person or a program types them: what has not their form was mistyped."""

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from stdnum import iban as stdnum_iban
from stdnum.eu.vat import MEMBER_STATES

from ingestion.domain.vat_ids import has_form_of_country

# Of Greece under its own letters; those of Northern Ireland are British, and have no form here.
_COUNTRIES = {country.upper() for country in MEMBER_STATES} - {"GR", "XI"} | {"EL"}
_LEAST_DIGITS = 6
# Not `SIRET 123…`, which is no number of Slovenia.
_COUNTRY = re.compile(r"([A-Za-z]{2})[ .-]?[A-Za-z]{0,2}[0-9]")
# A word that runs into digits is none, but for the numbers of persons in Italy and Mexico.
_WORD_BEFORE_DIGITS = re.compile(r"[A-Za-z]{4,}[0-9]")
_NUMBERS_OF_PERSONS = re.compile(
    r"(?:[A-Z]{2})?[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]|(?:MX)?[A-Z&]{4}[0-9]{6}[A-Z0-9]{3}", re.IGNORECASE
)
_PRINTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./*+-]*")


def _require_check_digits(text: str) -> str:
    compact = re.sub(r"\s", "", text).upper()
    # Not by lists of banks: one that they lack has accounts all the same.
    if not stdnum_iban.is_valid(compact, check_country=False):
        raise ValueError("its check digits or its length are not those of an IBAN")
    return compact


def _require_form_of_tax_id(text: str) -> str:
    """A VAT id of the EU has the form of its country; other tax numbers have many. Check digits are not looked at: a
    paper may print a number that was never one, and it is given as it is printed."""
    is_word = _WORD_BEFORE_DIGITS.match(text) and not _NUMBERS_OF_PERSONS.fullmatch(text)
    if is_word or not _PRINTED.fullmatch(text) or sum(letter.isdigit() for letter in text) < _LEAST_DIGITS:
        raise ValueError(f"a VAT id or tax number is needed, of {_LEAST_DIGITS} digits at least, as DE123456789")
    prefix = _COUNTRY.match(text)
    country, number = text[:2].upper(), re.sub(r"[^A-Z0-9+*]", "", text[2:].upper())
    if prefix is not None and country in _COUNTRIES and not has_form_of_country(country, number):
        raise ValueError(f"VAT ids of {country} have another form: is a digit missing, or one too many?")
    return text


IBAN = Annotated[str, StringConstraints(max_length=50), AfterValidator(_require_check_digits)]
TaxId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=50),
    AfterValidator(_require_form_of_tax_id),
]
