"""The table of an invoice: rows between its heads and its totals that make one of the totals."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice, permutations

from ingestion.domain.invoice import InvoiceLine, LineAmounts
from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.totals import InvoiceTotals

_CENT = Decimal("0.02")
# Each table is read to the end of the document, and each two numbers of a row are multiplied.
_MAX_TABLES = 10
_MAX_NUMBERS = 8
_PERCENT = re.compile(r"(\d{1,2}(?:[.,]\d+)?)\s?%")
_UNIT = re.compile(r"^(\d[\d.,]*)\s*(?:[A-Za-z%().]{1,10})?$")


def find_invoice_lines(page: Sequence[TextLine], totals: InvoiceTotals) -> tuple[tuple[InvoiceLine, ...], LineAmounts]:
    """The positions and whether they are net or gross; none at all when their amounts make neither total."""
    best: tuple[tuple[InvoiceLine, ...], LineAmounts] = ((), "net")
    heads = (index for index, line in enumerate(page) if _is_table_head(line))
    for index in islice(heads, _MAX_TABLES):
        rows = tuple(_read_rows(page[index + 1 :]))
        total = sum((row.amount for row in rows if row.amount is not None), Decimal(0))
        if not rows:
            continue
        if totals.net is not None and abs(total - totals.net) <= _CENT * len(rows):
            return rows, "net"
        if totals.gross is not None and abs(total - totals.gross) <= _CENT * len(rows):
            best = (rows, "gross")
    return best


def _is_table_head(line: TextLine) -> bool:
    texts = [cell.text for cell in line.cells]
    return (
        len(texts) >= 3
        and any(labels.DESCRIPTION.search(text) for text in texts)
        and any(labels.LINE_AMOUNT.search(text) for text in texts[1:])
    )


def _read_rows(page: Sequence[TextLine]) -> Iterator[InvoiceLine]:
    for line in page:
        first = line.cells[0].text
        if labels.TOTAL_GROSS.search(first) or labels.TOTAL_GROSS_MAYBE.match(first) or labels.TOTAL_NET.search(first):
            if not re.match(r"\W*sub\s?total", first, re.IGNORECASE) or len(line.cells) > 1:
                return
            continue
        if row := _read_row(line):
            yield row


def _read_row(line: TextLine) -> InvoiceLine | None:
    texts = [cell.text for cell in line.cells]
    amount = values.parse_amount(texts[-1])
    if len(texts) < 2 or amount is None or not values.is_money(texts[-1]):
        return None
    described = [text for text in texts[:-1] if re.search(r"[^\W\d_]{3}", text) and not _UNIT.match(text)]
    if not described:
        return None
    quantity, price = _find_quantity_and_price(texts[:-1], amount)
    rate = next((match[1] for text in texts for match in _PERCENT.finditer(text)), None)
    return InvoiceLine(
        description=max(described, key=len),
        quantity=quantity,
        unit_price=price,
        amount=amount,
        tax_rate=None if rate is None else Decimal(rate.replace(",", ".")),
    )


def _find_quantity_and_price(texts: Sequence[str], amount: Decimal) -> tuple[Decimal | None, Decimal | None]:
    """Two numbers of the row whose product is the amount: that tells them from discounts and article numbers."""
    numbers = [number for text in texts if (number := _parse_number(text)) is not None]
    for first, second in permutations(numbers[-_MAX_NUMBERS:], 2):
        if abs(first * second - amount) <= Decimal("0.005") and second == _choose_price(numbers, first, second):
            return first, second
    return None, None


def _choose_price(numbers: Sequence[Decimal], first: Decimal, second: Decimal) -> Decimal:
    """Of the pair, the one with cents is the price; with two alike, the later one."""
    cents = [number for number in (first, second) if number.as_tuple().exponent in (-2, -3, -4)]
    if len(cents) == 1:
        return cents[0]
    return max((first, second), key=lambda number: len(numbers) - 1 - numbers[::-1].index(number))


def _parse_number(text: str) -> Decimal | None:
    if match := _UNIT.match(text):
        text = match[1]
    return values.parse_amount(text)
