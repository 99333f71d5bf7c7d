"""Tables and lines that list invoices: those before, those of an account that are open. None of their numbers is this
one's.

An invoice may say in a row with heads too what it is itself: `Invoice no. | Date | Amount`. Then its amount is the
largest of the page, no second row follows, and no total stands above.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.value_places import is_row_of_heads

_MAX_NAMED = 200  # lines of a page that name an invoice's number
_MAX_ROWS = 3  # that are looked at
_NEAR = 4.0  # times a line's height
_OF_AMOUNT = labels.match_any(labels.LINE_AMOUNT.pattern, labels.TOTAL_GROSS.pattern, labels.AMOUNT_DUE.pattern)


def blank_lists_of_invoices(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without the labels of an invoice's number that head such a table, or stand in such a line."""
    lists = _find_lists(page)
    return [_blank_number_label(line) if index in lists else line for index, line in enumerate(page)]


def drop_lists_of_invoices(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without such lines and heads: their days are those of other invoices too."""
    lists = _find_lists(page)
    return [line for index, line in enumerate(page) if index not in lists]


def heads_smaller_amounts(page: Sequence[TextLine], index: int, largest: Decimal) -> bool:
    """Whether a row of heads stands over one with an amount that is less than what the page asks for: a position's, or
    a payment's."""
    below = page[index + 1] if index + 1 < len(page) else None
    if below is None or below.page != page[index].page or not is_row_of_heads(page[index]):
        return False
    return any(amount < largest for amount in _list_amounts(below))


def find_largest_amount(page: Sequence[TextLine]) -> Decimal:
    return max((amount for line in page for amount in _list_amounts(line)), default=Decimal(0))


def _find_lists(page: Sequence[TextLine]) -> set[int]:
    named = [index for index, line in enumerate(page) if _names_number(line)][:_MAX_NAMED]
    if not named:
        return set()
    largest = find_largest_amount(page)
    total = next((index for index, line in enumerate(page) if _is_total(line)), len(page))
    return {index for index in named if _lists_others(page, index, largest, is_below_total=index > total)}


def _names_number(line: TextLine) -> bool:
    return any(labels.OWN_NUMBER.search(cell.text) for cell in line.cells)


def _is_total(line: TextLine) -> bool:
    first = line.cells[0].text
    is_named = labels.TOTAL_GROSS.search(first) is not None or labels.TOTAL_GROSS_MAYBE.match(first) is not None
    return is_named and any(values.is_money(cell.text) for cell in line.cells)


def _lists_others(page: Sequence[TextLine], index: int, largest: Decimal, *, is_below_total: bool) -> bool:
    line = page[index]
    if is_row_of_heads(line):
        return is_below_total or (_heads_invoices(line) and _has_rows_of_others(page, index, largest))
    amounts = [abs(amount) for cell in line.cells for amount in values.find_money(cell.text)]
    return is_below_total and any(amount < largest for amount in amounts)


def _heads_invoices(line: TextLine) -> bool:
    texts = [cell.text for cell in line.cells]
    return any(map(_OF_AMOUNT.search, texts)) and not any(map(labels.DESCRIPTION.search, texts))


def _has_rows_of_others(page: Sequence[TextLine], index: int, largest: Decimal) -> bool:
    amounts = [max(found) for line in _list_rows(page, index) if (found := _list_amounts(line))]
    return len(amounts) > 1 or (len(amounts) == 1 and amounts[0] < largest)


def _list_rows(page: Sequence[TextLine], index: int) -> list[TextLine]:
    """The rows below heads, of which each has a number and an amount."""
    rows: list[TextLine] = []
    above = page[index]
    for line in page[index + 1 : index + 1 + _MAX_ROWS]:
        if line.page != above.page or line.top - above.top > _NEAR * max(above.height, line.height):
            break
        if len(line.cells) < 2 or not _list_amounts(line) or not _NUMBER.search(line.cells[0].text):
            break
        rows.append(line)
        above = line
    return rows


_NUMBER = re.compile(r"\d")


def _list_amounts(line: TextLine) -> list[Decimal]:
    parsed = (values.parse_amount(cell.text) for cell in line.cells if values.is_money(cell.text))
    return [abs(amount) for amount in parsed if amount is not None]


def _blank_number_label(line: TextLine) -> TextLine:
    cells = (replace(cell, text="") if labels.OWN_NUMBER.search(cell.text) else cell for cell in line.cells)
    return replace(line, cells=tuple(cells))
