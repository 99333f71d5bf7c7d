"""Numbers of accounts and orders that are written in groups: `60180 00040318772`, `55 1180 27-0`.

Such a number is read whole or not at all: its first group is that of a branch or a day, and the same for many.
"""

import re

from ingestion.extract import values
from ingestion.extract.trades import labels
from ingestion.extract.trades.numbers import CURRENCIES

_MAX_GROUPS = 10
_WORD = re.compile(r" ([^\s\t]+)")
# All alike. A single digit, a sheet (`1/3`), an ordinal, an hour or a year may be none of the number's.
_GROUP = re.compile(r"\d{2,20}(?:-\d{1,20})*")
_LAST_LETTER = re.compile(r" [A-Z](?=$|[\t,;)])")
# A number that is whole by itself: what stands behind it may be a holder's number, a telephone, a year.
_LONGEST_FIRST = 5
_BEFORE_NAME = re.compile(r" \d{1,2}(?= [A-Z][a-z])")  # of a month, or of a holder
_END_OF_WORD = ",;.)"
# What stands behind a number and is none of its groups: an amount, a time, a quantity.
_AMOUNT = re.compile(
    r"[-+]?\d[\d.'’]*,\d|[-+]?\d[\d,'’]*\.\d{1,6}(?![\w./-])|[-+]?[€$£]|\d{1,2}:\d\d|[\d.,'’]+ ?[%€$£‰@×]"
)
_BEFORE_CURRENCY = re.compile(r"[\d.,'’]+ ([A-Z]{3})\b")
_BEFORE_UNIT = re.compile(r"[\d.,'’]+(?= )")
_PARTED = re.compile(r" [/|–—-] ?\d{3}")  # `118 / 447188`
_GROUP_IN_CELL = re.compile(r"\t\d[\d-]{1,15}(?=\t|$)")


def read_grouped_number(text: str, first: re.Match[str]) -> str | None:
    """From the first group on, as far as groups follow; None where it goes on with something else that has digits."""
    end = first.end()
    for _ in range(_MAX_GROUPS):
        if _PARTED.match(text, end):
            return None
        word = _WORD.match(text, end)
        if word is None or text[end - 1] in _END_OF_WORD or not re.search(r"\d", word[1]):
            break
        if _is_other_value(text, word.start(1)):
            return text[first.start() : end]
        group = word[1].rstrip(_END_OF_WORD)
        is_group = _GROUP.fullmatch(group) is not None and _BEFORE_NAME.match(text, end) is None
        if not is_group or len(first[0]) > _LONGEST_FIRST:
            return text[first.start() : end] if word[1].startswith("(") else None
        end = word.start(1) + len(group)
        if len(group) < len(word[1]):
            return text[first.start() : end]
    if _WORD.match(text, end) and re.match(r" \S*\d", text[end:]) and text[end - 1] not in _END_OF_WORD:
        return None  # more groups than any number has
    if (letter := _LAST_LETTER.match(text, end)) is not None:
        end = letter.end()
    return None if _GROUP_IN_CELL.match(text, end) else text[first.start() : end]


def _is_other_value(text: str, start: int) -> bool:
    if values.DATES.match(text, start) or _AMOUNT.match(text, start):
        return True
    before_currency = _BEFORE_CURRENCY.match(text, start)
    if before_currency is not None and before_currency[1] in CURRENCIES:
        return True
    number = _BEFORE_UNIT.match(text, start)
    return number is not None and labels.QUANTITY_AFTER.match(text[number.end() : number.end() + 40]) is not None
