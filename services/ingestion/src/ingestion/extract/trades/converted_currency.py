"""In which currency a converted amount is that names none: the one to which the exchange rate of the note leads."""

import re
from collections.abc import Sequence

from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import CURRENCIES, Number

_PAIR = 2
_LINES_TO_HEAD = 2
_CODE = re.compile(r"(?<![A-Z])[A-Z]{3}(?![A-Z])")


def find_converted_currency(lines: Sequence[ReadLine], rates: Sequence[Number], priced_in: str | None) -> str | None:
    """`Kurs GBP CHF 1.2588`, where the price is in pounds: francs. None where the note does not say both."""
    for rate in rates:
        pair = set(_list_currencies(lines[rate.line - lines[0].index].text))
        if priced_in is not None and len(pair) == _PAIR and priced_in in pair:
            return (pair - {priced_in}).pop()
    return None


def find_head_currency(lines: Sequence[ReadLine], row: int) -> str | None:
    """What the head of a row says in which nothing else names it: `Stück GBP GBP`."""
    position = row - lines[0].index
    for line in reversed(lines[max(0, position - _LINES_TO_HEAD) : position]):
        named = set(_list_currencies(line.text))
        rest = _CODE.sub("", line.text)
        is_head = not line.numbers and any(place.label is Label.QUANTITY for place in line.labels)
        if is_head and len(named) == 1 and len(rest.split()) == 1:
            return named.pop()
    return None


def _list_currencies(text: str) -> list[str]:
    return [code for code in _CODE.findall(text) if code in CURRENCIES]
