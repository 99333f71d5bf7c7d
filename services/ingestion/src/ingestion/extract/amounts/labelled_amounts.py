"""The amounts that labels speak of: behind them, to their right, below them in a column."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_blocks import overlap_across

_MAX_ENDS = 6  # each with each other: 64 sums


def list_labelled_ends(page: Sequence[TextLine], label: re.Pattern[str]) -> list[Decimal]:
    """The last amounts of the rows that a label is in; of a column's head the amount below it."""
    found = []
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = label.search(cell.text)
            if match is None:
                continue
            texts = [cell.text[match.end() :], *(other.text for other in line.cells[number + 1 :])]
            amounts = [amount for text in texts for amount in values.find_money(text)]
            found += amounts[-1:] or _list_column(page, index, cell)[-1:]
    return list(dict.fromkeys(found))[:_MAX_ENDS]


def list_labelled_amounts(
    page: Sequence[TextLine], label: re.Pattern[str], unless: re.Pattern[str] | None = None, *, with_sums: bool = False
) -> list[Decimal]:
    """With the sums of columns too, where a summary of several rates has no row that adds them up. None twice."""
    return list(dict.fromkeys(_find_labelled_amounts(page, label, unless, with_sums=with_sums)))


def _find_labelled_amounts(
    page: Sequence[TextLine], label: re.Pattern[str], unless: re.Pattern[str] | None, *, with_sums: bool
) -> Iterator[Decimal]:
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = label.search(cell.text)
            if match and not (unless and unless.search(cell.text)):
                found = _find_amounts_at(page, index, number, match.end())
                yield from found
                column = _list_column(page, index, cell) if with_sums else []
                if len(column) > 1 and found == column[-1:]:
                    yield sum(column, Decimal(0))


def _find_amounts_at(page: Sequence[TextLine], index: int, number: int, end: int) -> list[Decimal]:
    """Behind a label, else to its right up to the next words, else the last one in its column below."""
    line = page[index]
    cell = line.cells[number]
    right: list[Decimal] = []
    for other in line.cells[number + 1 :]:
        amount = values.parse_amount(other.text)
        if amount is None or not values.is_money(other.text):
            if values.find_amounts(other.text) or _is_currency_or_rate(other.text):
                continue
            break
        right.append(amount)
    if right:
        # A row of net, tax and gross in columns names none of them; its column heads do.
        return right[-1:] if len(right) <= 2 else []
    rest = cell.text[end:]
    if inside := values.find_money(rest):
        return inside[-1:]
    # The bottom of the column: the total row stands below those of the rates.
    return _list_column(page, index, cell)[-1:]


def _is_currency_or_rate(text: str) -> bool:
    return bool(re.fullmatch(r"\W*(?:[A-Z]{3}|\d+(?:[.,]\d+)?\s*%)?\W*", text))


def _list_column(page: Sequence[TextLine], index: int, head: TextCell) -> list[Decimal]:
    found: list[Decimal] = []
    top = page[index].top
    for line in page[index + 1 : index + 10]:
        if line.page != page[index].page or line.top - top > 3.5 * max(line.height, page[index].height):
            break
        if found and any(labels.TOTAL_GROSS.search(cell.text) for cell in line.cells):
            break  # what is to be paid in the end is of no column
        for cell in line.cells:
            amount = read_money(cell) if overlap_across(cell, head) else None
            if amount is not None:
                found.append(amount)
                top = line.top
    return found


def read_money(cell: TextCell) -> Decimal | None:
    """The amount that a cell consists of, if it is written with its cents."""
    return values.parse_amount(cell.text) if values.is_money(cell.text) else None


_LABEL_AND_AMOUNT = re.compile(r"(?P<label>[^:]{2,60}):\s*(?P<amount>[^:]{4,24})")
_CAPITAL = re.compile(r"capital|kapital", re.IGNORECASE)  # of a company, in its foot


def list_row_amounts(line: TextLine) -> list[Decimal]:
    """The amounts of a row in cells of their own, or in one behind a label and a colon: none of a sentence."""
    found = (_read_labelled(cell) if ":" in cell.text else read_money(cell) for cell in line.cells)
    return [amount for amount in found if amount is not None]


def _read_labelled(cell: TextCell) -> Decimal | None:
    match = _LABEL_AND_AMOUNT.fullmatch(cell.text.strip())
    if match is None or _CAPITAL.search(match["label"]) or not values.is_money(match["amount"]):
        return None
    return values.parse_amount(match["amount"])
