"""Amounts that are written without their cents, as those of crowns often are.

`152` alone may be a quantity or a code. It is an amount where a cell says its currency beside it and nothing else, and
in the row of a total where a page in crowns writes no cents at all.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels

# Their coins of less than one are gone, or hardly used.
_WITHOUT_COINS = frozenset({"CZK", "DKK", "SEK", "NOK", "HUF"})
# `1,250 €` and `$1.250` may have three decimals: a comma parts thousands of dollars and pounds, a point all others'.
_GROUPED = r"\d{1,3}(?:[. \u00a0\u202f]\d{3}){1,2}|\d{1,6}"
_GROUPED_BY_COMMA = r"\d{1,3}(?:,\d{3}){1,2}|\d{1,6}"
_LABEL = r"(?:[^\d:]{2,60}:\s*)?"
_SIGN = r"(?:[-−–]\s?)?"
_DOLLARS = r"(?:[$£]|USD|GBP|CAD|AUD)"
_OTHERS = r"(?:EUR|CHF|PLN|DKK|SEK|NOK|CZK|HUF|Ft|zł|Kč|kr\.?|€)"
_WITH_CURRENCY = re.compile(
    rf"\s*{_LABEL}{_SIGN}(?:"
    rf"{_OTHERS}\s?{_SIGN}(?P<others>{_GROUPED})\s*|{_DOLLARS}\s?{_SIGN}(?P<dollars>{_GROUPED_BY_COMMA})\s*"
    rf"|(?P<before_others>{_GROUPED})\s?{_OTHERS}\s*|(?P<before_dollars>{_GROUPED_BY_COMMA})\s?{_DOLLARS}\s*)",
    re.IGNORECASE,
)
WITHOUT_CENTS = ",——"  # as `,-` says it, and no page writes it
_WITH_TAX_IN_BRACKETS = re.compile(
    rf"(?P<total>[^()]{{4,24}}?)\s*(?P<tax>\((?:{tax_labels.INCLUDING})\s[^()]{{4,40}}\))\s*", re.IGNORECASE
)
_WHOLE = re.compile(rf"\s*[-−–]?\s?(?:{_GROUPED})\s*")
_TOTALS = (labels.TOTAL_GROSS, labels.TOTAL_GROSS_MAYBE, labels.TOTAL_NET, labels.AMOUNT_DUE, tax_labels.TOTAL_TAX)

_CHANGES = (*change_labels.TAKEN_OFF, change_labels.ADDED, change_labels.CHARGE, change_labels.DISCOUNT)


def write_out_cents(page: Sequence[TextLine], currency: str | None) -> list[TextLine]:
    """The page with `WITHOUT_CENTS` behind whole amounts, so that they are read as money."""
    written = [
        replace(line, cells=tuple(_write_out_cell(part) for cell in line.cells for part in _part_cell(cell)))
        for line in page
    ]
    if any(values.is_money(values.mask_dates(cell.text)) for line in page for cell in line.cells):
        return written
    if currency in _WITHOUT_COINS:
        return list(map(_write_out_total, written))
    # What changes the total has no currency beside it, and is no amount: then neither is the total.
    return list(page) if any(map(_may_change_total, page)) else written


def _may_change_total(line: TextLine) -> bool:
    """`Frais de port  20`, `TVA  20 %`, `TVA 20 % en sus`."""
    *others, last = line.cells
    if tax_labels.TAX_WORD.search(line.text) and any(values.find_rates(line.text)):
        return tax_labels.TAX_WITHIN.search(line.text) is None and _WITH_CURRENCY.fullmatch(last.text) is None
    return bool(others and _WHOLE.fullmatch(last.text)) and any(label.search(others[0].text) for label in _CHANGES)


def _part_cell(cell: TextCell) -> tuple[TextCell, ...]:
    """`26,60 € (inkl. 3,14 € MwSt.)` are a total and the tax in it."""
    match = _WITH_TAX_IN_BRACKETS.fullmatch(cell.text)
    if match is None or not values.is_money(match["total"]):
        return (cell,)
    middle = cell.left + (cell.right - cell.left) * match.end("total") / len(cell.text)
    return replace(cell, text=match["total"], right=middle), replace(cell, text=match["tax"], left=middle)


def _write_out_cell(cell: TextCell) -> TextCell:
    match = _WITH_CURRENCY.fullmatch(cell.text)
    if match is None or values.DATES.search(cell.text):
        return cell
    end = max(match.end(name) for name in match.groupdict())
    return replace(cell, text=f"{cell.text[:end]}{WITHOUT_CENTS}{cell.text[end:]}")


def _write_out_total(line: TextLine) -> TextLine:
    """The last cell of a row that a label of a total begins."""
    *others, last = line.cells
    is_total = bool(others) and any(label.search(others[0].text) for label in _TOTALS)
    if not is_total or not _WHOLE.fullmatch(last.text) or any(WITHOUT_CENTS in other.text for other in others):
        return line
    return replace(line, cells=(*others, replace(last, text=f"{last.text.rstrip()}{WITHOUT_CENTS}")))
