"""Tax numbers as they are printed: with the letters of their country, and by the name that a country has for its own.

A number without its country is only believed with a right check digit, but for the Polish one, which nothing else is
called by. It is read as it is printed.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from stdnum.ch import uid as swiss
from stdnum.dk import cvr as danish
from stdnum.es import nif as spanish
from stdnum.gb import vat as british
from stdnum.it import iva as italian
from stdnum.pt import nif as portuguese

from ingestion.extract import values

_MAX_NUMBERS = 20  # in one text
_BETWEEN = r"\W{0,4}(?:(?i:n)(?:[.º°o]|um|r|úm){0,2}\.?\s?[:º°]?\s?)?"
_SPANISH = r"(?:ES[-\s]?)?(?:[A-Z][-\s.]?\d[\d.]{6,8}[-\s]?[A-Z]?|\d[\d.]{7,9}[-\s]?[A-Z])"
# The name of the number, its form, and whether it is one.
_NATIONAL: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = tuple(
    (re.compile(rf"\b(?i:{name})\b{_BETWEEN}({form})(?![\w])"), is_valid)
    for name, form, is_valid in (
        (r"n\.?\s?i\.?\s?f|c\.?\s?i\.?\s?f", _SPANISH, spanish.is_valid),
        (
            r"n\.?\s?i\.?\s?f|nipc|contribuinte",
            r"(?:PT[-\s]?)?\d{3}[ .]?\d{3}[ .]?\d{3}",
            portuguese.is_valid,
        ),
        (r"p(?:art(?:ita)?)?\.?\s?iva|p\.\s?i", r"(?:IT[-\s]?)?\d{11}", italian.is_valid),
        (r"cvr(?:[-\s]?n(?:r|ummer))?", r"(?:DK[-\s]?)?\d{2} ?\d{2} ?\d{2} ?\d{2}", danish.is_valid),
        (
            r"vat(?:\s+reg(?:istration)?)?(?:\.?\s+(?:no|number))?",
            r"(?:GB\s?)?\d{3} ?\d{4} ?\d{2}",
            british.is_valid,
        ),
        (r"nip", r"\d{3}-?\d{3}-?\d{2}-?\d{2}|\d{3}-?\d{2}-?\d{2}-?\d{3}", lambda _number: True),
    )
)
# `CHE-123.456.789 MWST`: the number of any Swiss company, which pays the tax if the word says so.
_SWISS = re.compile(r"\b(CHE[-\s]?\d{3}[. ]?\d{3}[. ]?\d{3})(?:\s?(?:MWST|TVA|IVA|VAT))?\b", re.IGNORECASE)
_SWISS_TAX = re.compile(r"\b(?:MWST|TVA|IVA|VAT|TAX)\b", re.IGNORECASE)


def find_tax_ids(text: str) -> list[str]:
    """Tax numbers of a text, in capitals without blanks and points."""
    return [*_find_swiss(text), *(values.find_vat_ids(text) or _find_national(text))]


def compare_tax_ids(one: str, other: str) -> bool:
    """Whether two are the same number, with its country or without it."""
    return drop_country(one) == drop_country(other)


def drop_country(tax_id: str) -> str:
    compact = re.sub(r"[^A-Z0-9]", "", tax_id.upper())
    compact = re.sub(r"^(CHE\d{9})(?:MWST|TVA|IVA|VAT)$", r"\1", compact)
    return re.sub(r"^[A-Z]{2}(?=[A-Z]?\d{7})", "", compact)


def _find_swiss(text: str) -> list[str]:
    if not _SWISS_TAX.search(text):
        return []
    numbers = (re.sub(r"[^A-Z0-9]", "", match[1].upper()) for match in _SWISS.finditer(text))
    return [number for number in islice(numbers, _MAX_NUMBERS) if swiss.is_valid(number)]


def _find_national(text: str) -> Iterator[str]:
    for label, is_valid in _NATIONAL:
        for match in islice(label.finditer(text), _MAX_NUMBERS):
            number = re.sub(r"[ .-]", "", match[1])
            if is_valid(number):
                yield number
