"""Tables that list invoices: those before, those of an account that are open. None of their numbers is this one's.

An invoice may say in a row with heads too what it is itself: `Invoice no. | Date | Amount`. Then its amount is the
largest of the page, and no second row follows.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.value_places import is_row_of_heads

_MAX_HEADS = 50  # of a page
_MAX_ROWS = 3  # that are looked at
_NEAR = 4.0  # times a line's height
_OF_AMOUNT = labels.match_any(labels.LINE_AMOUNT.pattern, labels.TOTAL_GROSS.pattern, labels.AMOUNT_DUE.pattern)


def blank_lists_of_invoices(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without the labels of an invoice's number that head such a table."""
    heads = [index for index, line in enumerate(page) if _heads_invoices(line)][:_MAX_HEADS]
    largest = max((amount for line in page for amount in _list_amounts(line)), default=Decimal(0)) if heads else None
    lists = {index for index in heads if largest is not None and _lists_others(page, index, largest)}
    return [_blank_number_label(line) if index in lists else line for index, line in enumerate(page)]


def _heads_invoices(line: TextLine) -> bool:
    texts = [cell.text for cell in line.cells]
    is_named = is_row_of_heads(line) and any(map(labels.OWN_NUMBER.search, texts))
    return is_named and any(map(_OF_AMOUNT.search, texts)) and not any(map(labels.DESCRIPTION.search, texts))


def _lists_others(page: Sequence[TextLine], index: int, largest: Decimal) -> bool:
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
