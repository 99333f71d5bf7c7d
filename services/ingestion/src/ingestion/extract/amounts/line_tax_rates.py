"""Which percentage of a position's row is the rate of its tax: a discount is one, and so is what is in a bottle."""

import re
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import tax_labels
from ingestion.extract.amounts import change_labels
from ingestion.extract.page_blocks import overlap_across

_PERCENT = re.compile(r"(\d{1,2}(?:[.,]\d+)?)\s?%")
_ONLY_PERCENT = re.compile(r"\W*(\d{1,2}(?:[.,]\d{1,2})?)\s?%\W*")
_MAX_TEXT = 300  # letters of a line


def find_line_tax_rate(cells: Sequence[TextCell], head: TextLine, rates_of_tax: Set[Decimal]) -> Decimal | None:
    """The one below the head of a tax, else the one that the page names as a tax's; not one below a discount's head."""
    found = [(cell, rate) for cell in cells if (rate := _read_rate(cell.text)) is not None]
    if not found:
        return None
    heads = [(find_head(cell, head), rate) for cell, rate in found]
    below_tax = {rate for over, rate in heads if tax_labels.TAX_WORD.search(over)}
    if below_tax:
        return below_tax.pop() if len(below_tax) == 1 else None
    rates = {rate for over, rate in heads if rate in rates_of_tax and not change_labels.DISCOUNT.search(over)}
    return rates.pop() if len(rates) == 1 else None


def _read_rate(text: str) -> Decimal | None:
    match = _ONLY_PERCENT.fullmatch(text) or (_PERCENT.search(text) if tax_labels.TAX_WORD.search(text) else None)
    return Decimal(match[1].replace(",", ".")) if match else None


def find_head(cell: TextCell, head: TextLine) -> str:
    over = (other for other in head.cells if overlap_across(other, cell))
    return next((other.text for other in over), "")


def list_rates_of_tax(page: Sequence[TextLine]) -> Iterator[Decimal]:
    for line in page:
        text = line.text[:_MAX_TEXT]
        if tax_labels.TAX_WORD.search(text):
            yield from (Decimal(match[1].replace(",", ".")) for match in _PERCENT.finditer(text))
