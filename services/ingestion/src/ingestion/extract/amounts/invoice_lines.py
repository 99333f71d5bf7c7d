"""The table of an invoice: rows between its heads and its totals that make one of the totals."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate, islice, permutations

from ingestion.domain.invoice import InvoiceLine, LineAmounts
from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_labelled_ends
from ingestion.extract.amounts.line_tax_rates import find_head, find_line_tax_rate, list_rates_of_tax
from ingestion.extract.amounts.totals import InvoiceTotals

_CENT = Decimal("0.02")
# Each table is read to the end of the document, and each two numbers of a row are multiplied.
_MAX_TABLES = 10
_MAX_NUMBERS = 8
_MAX_COLUMNS = 5  # of amounts in a row, from its end: net, rate, tax and gross, say
_MAX_SUMMARY_ROWS = 12  # of the tax by its rates, below a table
_SAME_EDGE = 3.0  # points: amounts of a column end below each other
_UNIT = re.compile(r"^(\d[\d.,]*)\s*(?:[A-Za-z%().]{1,10})?$")
_UNIT_WITH_LETTER = re.compile(r"^\d[\d.,]*\s?[^\W\d_]{1,10}$")
_PIECES = re.compile(
    rf"^(\d[\d.,]*)\s*(?!(?:{'|'.join(sorted(values.CURRENCY_CODES))}|kr|zł)\b)[^\W\d_]{{1,10}}\.?$", re.IGNORECASE
)
# What is added to all positions or taken off them, under a heading of its own.
_CHANGES_OF_ALL = re.compile(
    r"\W*(?:zu-?\s*und\s+abschläge|(?:allowances|discounts)\s+and\s+(?:sur)?charges|remises\s+et\s+(?:frais|majorations)"
    r"|descuentos\s+y\s+(?:re)?cargos|sconti\s+e\s+maggiorazioni|kortingen\s+en\s+toeslagen|descontos\s+e\s+encargos)\W*",
    re.IGNORECASE,
)
_RATE = re.compile(r"\W*\d{0,2}(?:[.,]\d+)?\s?%?\W*")
_TAX = re.compile(r"\W*(?:impost[ao]s?|steuer|taxe?s?|impôt|daň)\W*", re.IGNORECASE)
_PRICE = re.compile(
    r"\b(?:\w{0,8}price|\w{0,8}preis|prix|precio|prezzo|\w{0,8}prijs|preço|cena|\w{0,8}pris)\b", re.IGNORECASE
)
_TAX_MARK = re.compile(r"(?<=\d)\s?[A-Z*]$")  # `576.00T`: taxed, as a legend says

_Column = Sequence[int]  # the place of its cell in each row
FoundLines = tuple[tuple[InvoiceLine, ...], LineAmounts]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with amounts, each with the place of its cell. `below` is the line below it, which may describe it."""

    cells: tuple[TextCell, ...]
    amounts: Mapping[int, Decimal]
    below: TextLine | None
    change: Decimal = Decimal(0)  # what a row of its own takes off

    @property
    def ending(self) -> Decimal:
        return self.amounts[max(self.amounts)]


def find_invoice_lines(page: Sequence[TextLine], totals: InvoiceTotals) -> FoundLines:
    """The positions and whether they are net or gross; none at all when their amounts make neither total."""
    changes = list_labelled_ends(page, change_labels.CHARGE)
    changes += [-abs(amount) for amount in list_labelled_ends(page, change_labels.DISCOUNT)]
    heads = (index for index, line in enumerate(page) if _is_table_head(line) and not _is_head_of_rates(line))
    for index in islice(heads, _MAX_TABLES):
        rows = list(_read_rows(page[index + 1 :]))
        if not rows:
            continue
        columns = list(_list_columns(rows))
        if found := _find_sum(rows, columns, list(_list_targets(totals.net, changes))):
            return _build_lines(found, page[index], page), "net"
        # A row ends with what it costs in all.
        if totals.gross is not None and (found := _find_sum(rows, columns[:1], [totals.gross])):
            return _build_lines(found, page[index], page), "gross"
    return (), "net"


def _list_targets(net: Decimal | None, changes: Sequence[Decimal]) -> Iterator[Decimal]:
    """What rows may sum up to: the net total, or what it is before a discount or the carriage."""
    if net is not None:
        yield net
        yield from (net - change for change in changes if change)


def _find_sum(rows: Sequence[_Row], columns: Sequence[_Column], targets: Sequence[Decimal]) -> list[tuple[_Row, int]]:
    """The rows that sum up to a target, with the places of their amounts: all of them, else the first ones: a summary
    of the tax may follow."""
    sums = [list(accumulate(_list_amounts(rows, column))) for column in columns]
    for target in targets:
        for count in range(len(rows), max(0, len(rows) - _MAX_SUMMARY_ROWS), -1):
            for column, until in zip(columns, sums, strict=True):
                if len(until) >= count and abs(until[count - 1] - target) <= _CENT * count:
                    return list(zip(rows[:count], column, strict=False))
    return []


def _list_amounts(rows: Sequence[_Row], column: _Column) -> Iterator[Decimal]:
    return (row.amounts[at] + row.change for row, at in zip(rows, column, strict=False))


def _list_columns(rows: Sequence[_Row]) -> Iterator[_Column]:
    """Columns of amounts, the last first, as far down as each row has one: places counted from the end, or ends below
    each other."""
    for number in range(1, _MAX_COLUMNS + 1):
        yield list(_stop_at_gap(_find_from_end(row, number) for row in rows))
    for at in islice(reversed(list(rows[0].amounts)), _MAX_COLUMNS):
        edge = rows[0].cells[at].right
        yield list(_stop_at_gap(_find_at_edge(row, edge) for row in rows))


def _find_from_end(row: _Row, number: int) -> int | None:
    return list(row.amounts)[-number] if len(row.amounts) >= number else None


def _find_at_edge(row: _Row, edge: float) -> int | None:
    return next((at for at in row.amounts if abs(row.cells[at].right - edge) < _SAME_EDGE), None)


def _stop_at_gap(places: Iterable[int | None]) -> Iterator[int]:
    for place in places:
        if place is None:
            return
        yield place


def _is_table_head(line: TextLine) -> bool:
    texts = [cell.text for cell in line.cells]
    if len(texts) == 2:
        return labels.DESCRIPTION.search(texts[0]) is not None and labels.LINE_AMOUNT.fullmatch(texts[1]) is not None
    if len(texts) < 3 or not any(labels.LINE_AMOUNT.search(text) for text in texts[1:]):
        return False
    # Nothing is over the column of what was sold where it is plain, as over the next it is that of each.
    has_price = labels.LINE_AMOUNT.search(texts[-2]) is not None
    return has_price or any(labels.DESCRIPTION.search(text) or labels.QUANTITY.search(text) for text in texts)


def _read_rows(page: Sequence[TextLine]) -> Iterator[_Row]:
    """Rows up to the totals; what is taken off a row in a line of its own is taken off."""
    last: _Row | None = None
    for number, line in enumerate(page):
        first = line.cells[0].text
        if last is not None and _CHANGES_OF_ALL.fullmatch(first):
            break  # a table of their own, which makes the net total of the positions
        if last is not None and _is_head_of_rates(line):
            break
        if labels.CARRIED.search(first) and len(line.cells) <= 2:
            continue
        if (change := _find_change(line, last)) is not None and last is not None:
            last = replace(last, change=change)
            continue
        if labels.TOTAL_GROSS.search(first) or labels.TOTAL_GROSS_MAYBE.match(first) or labels.TOTAL_NET.search(first):
            if not re.match(r"\W*sub\s?total", first, re.IGNORECASE) or len(line.cells) > 1:
                break
            continue
        if row := _read_row(line, page[number + 1] if number + 1 < len(page) else None):
            if last is not None:
                yield last
            last = row
    if last is not None:
        yield last


def _is_head_of_rates(line: TextLine) -> bool:
    """`Aliquota  Imponibile  Imposta`: below it stand the sums of each rate of tax."""
    texts = [cell.text for cell in line.cells]
    return (
        len(texts) > 1
        and not any(map(values.is_money, texts))
        and any(map(labels.TOTAL_NET.search, texts))
        and any(tax_labels.TOTAL_TAX.search(text) or _TAX.fullmatch(text) for text in texts)
        and not any(label.search(text) for label in (labels.DESCRIPTION, labels.QUANTITY, _PRICE) for text in texts)
    )


def _find_change(line: TextLine, last: _Row | None) -> Decimal | None:
    """What is taken off the row above: `Rabatt  10,00- %  124,00-`, or the net amount that it leaves."""
    amount = _parse_amount(line.cells[-1].text)
    if last is None or amount is None or len(line.cells) > 4:
        return None
    if labels.NET_OF_POSITION.search(line.cells[0].text):
        return amount - last.ending
    is_percent = any("%" in cell.text for cell in line.cells)
    if change_labels.DISCOUNT.search(line.cells[0].text) and is_percent and amount < 0 and len(line.cells) > 2:
        return last.change + amount
    return None


def _parse_amount(text: str) -> Decimal | None:
    text = _TAX_MARK.sub("", text)
    return values.parse_amount(text) if values.is_money(text) else None


def _read_row(line: TextLine, below: TextLine | None) -> _Row | None:
    if len(line.cells) < 2:
        return None
    parsed = {at: _parse_amount(cell.text) for at, cell in enumerate(line.cells) if at}
    amounts = {at: amount for at, amount in parsed.items() if amount is not None}
    if not amounts:
        return None
    last = max(amounts)
    # Behind its amount a row may name the rate of its tax.
    if not all(_RATE.fullmatch(cell.text) for cell in line.cells[last + 1 :]):
        return None
    texts = [cell.text for cell in line.cells[:last]]
    # `P-20050  4 ST  310,00  1.240,00`: what it is stands below.
    is_position = any(map(_is_description, texts)) or (
        len(texts) >= 3 and _find_quantity_and_price(texts, amounts[last]) != (None, None)
    )
    return _Row(line.cells, amounts, below) if is_position else None


def _is_description(text: str) -> bool:
    return re.search(r"[^\W\d_]{3}", text) is not None and not _UNIT.match(text)


def _build_lines(
    found: Sequence[tuple[_Row, int]], head: TextLine, page: Sequence[TextLine]
) -> tuple[InvoiceLine, ...]:
    rates = set(list_rates_of_tax(page))
    return tuple(_build_line(row, at, head, rates) for row, at in found)


def _build_line(row: _Row, at: int, head: TextLine, rates: Set[Decimal]) -> InvoiceLine:
    texts = [cell.text for cell in row.cells]
    listed = row.amounts[at]
    quantity, price = _find_quantity_and_price(texts[:at], listed)
    return InvoiceLine(
        description=_find_description(row, at, head, quantity),
        quantity=quantity,
        unit_price=price,
        amount=listed + row.change,
        tax_rate=find_line_tax_rate(row.cells, head, rates),
    )


def _find_description(row: _Row, at: int, head: TextLine, quantity: Decimal | None) -> str | None:
    texts = [cell.text for cell in row.cells[:at]]
    described = [text for text in texts if _is_description(text)]
    # `HKW-1000-BLK-XXL  Socks`: an article's number may be longer than its name.
    named = [cell.text for cell in row.cells[:at] if labels.DESCRIPTION.search(find_head(cell, head))]
    described = [text for text in described if text in named] or described
    if not described and quantity is not None:
        # `4 Pack` of which two were sold: it looks like a quantity, and is none.
        described = [
            cell.text
            for cell in row.cells[:at]
            if labels.DESCRIPTION.search(find_head(cell, head))
            and _UNIT_WITH_LETTER.match(cell.text)
            and _parse_number(cell.text) != quantity
        ]
    # What stands below describes this row, unless it is a row itself.
    if not described and row.below is not None and not any(_parse_amount(cell.text) for cell in row.below.cells):
        described = [cell.text for cell in row.below.cells[:1] if _is_description(cell.text)]
    return max(described, key=len, default=None)


def _find_quantity_and_price(texts: Sequence[str], amount: Decimal) -> tuple[Decimal | None, Decimal | None]:
    """Two numbers of the row whose product is the amount: that tells them from discounts and article numbers. One with
    a unit is the quantity: `1  Citric acid  1.0000  100 pcs  100.00` is the first position, and a hundred of it."""
    # A rate of tax is no factor: `2  Grinding wheel  1  50.00  25 %` is one.
    numbers = [number for text in texts if "%" not in text and (number := _parse_number(text)) is not None]
    with_unit = {values.parse_amount(match[1]) for text in texts if (match := _PIECES.match(text)) is not None}
    pairs = [
        (first, second)
        for first, second in permutations(numbers[-_MAX_NUMBERS:], 2)
        if abs(first * second - amount) <= Decimal("0.005") and second == _choose_price(numbers, first, second)
    ]
    return next((pair for pair in pairs if pair[0] in with_unit), pairs[0] if pairs else (None, None))


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
