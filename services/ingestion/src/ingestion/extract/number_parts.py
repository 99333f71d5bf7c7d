"""The parts of a number that blanks divide: `RE 2026 0441`, `118 / A`, `F2026 - 0118`.

Cut at a blank, it is the number of many invoices: `RE 2026` of all of a year.
"""

import re

from ingestion.extract import values

_MAX_REST = 80  # letters
_MAX_PARTS = 5
# Digits, with what is joined to them; a letter of its own; a second invoice of the same number.
_PART = re.compile(r"\s(?P<mark>[/–-]\s)?(?P<part>\d[A-Z0-9/-]{0,20}|[A-Z]|bis|ter|[A-Z]{1,3}\d{1,10})(?![\w.,/-])")
_MONEY_BEHIND = re.compile(r"\s?(?:%|€|£|\$|EUR|USD|GBP|CHF)")
# What begins anew behind a number: its day, a page, a bracket, or the next label.
_BEGINS_ANEW = re.compile(
    r"\s*(?:$|[|(\[,;:•·]|(?:-|–|/)\s*$|(?:vom|von|dated?|of|du|van|dnia|del?|con|in|emessa|ze|dne|d\.|den|af|fra|från|le|il|il\s+giorno|on|le)\b"
    r"|(?:dat|fech|seite|page|pag|pág|blad|side|sida|stron|stran)\w*|[^\W\d][^:]{2,30}:)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LAST_DIGITS = re.compile(r"\d+$")
_LONGEST_COUNT = 3  # digits
_TWO_NUMBERS = re.compile(r"\d{4,}")


def join_rest(number: str, rest: str) -> str | None:
    """The number with those parts of it that follow it in its cell, directly and to the end of what may be a number;
    None where something else follows them, so that nothing tells where the number ends."""
    rest = rest[:_MAX_REST]
    joined = number
    for _ in range(_MAX_PARTS):
        if _begins_with_date(rest):
            break
        part = _PART.match(rest)
        if part is None or _MONEY_BEHIND.match(rest, part.end()):
            break
        # `Invoice / customer no.: 20441 / 10442`: two numbers.
        if part["mark"] and _are_two_numbers(joined, part["part"]):
            return joined
        # `HM-20441 / 88213` may be one, and may be two.
        if part["mark"] and "/" in part["mark"] and _may_be_two_numbers(joined, part["part"]):
            return None
        joined += part[0]
        rest = rest[part.end() :]
    if joined == number or _begins_with_date(rest) or _BEGINS_ANEW.match(rest):
        return joined
    return None


def _begins_with_date(rest: str) -> bool:
    return values.DATES.match(rest.lstrip(" /–-,")) is not None


def _are_two_numbers(number: str, part: str) -> bool:
    both = (number, part)
    return all(map(_TWO_NUMBERS.fullmatch, both)) and not any(map(_YEAR.fullmatch, both))


def _may_be_two_numbers(number: str, part: str) -> bool:
    ends = (_LAST_DIGITS.search(number), _LAST_DIGITS.search(part))
    return all(end is not None and len(end[0]) > _LONGEST_COUNT and not _YEAR.fullmatch(end[0]) for end in ends)
