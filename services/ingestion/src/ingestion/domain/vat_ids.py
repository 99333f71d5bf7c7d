"""VAT numbers of the countries that have a form for them."""

import stdnum
from stdnum.exceptions import InvalidChecksum, InvalidComponent, ValidationError


def has_form_of_country(country: str, number: str) -> bool:
    """Whether a number, without its country, has the form of that country's VAT ids. A wrong check digit is let pass: a
    paper may print a number that was never one, and it says what it says."""
    module = stdnum.get_cc_module("GR" if country == "EL" else country, "vat")
    if module is None:
        return False
    try:
        module.validate(country + number)
    except (InvalidChecksum, InvalidComponent):
        return True
    except ValidationError:
        return False
    return True
