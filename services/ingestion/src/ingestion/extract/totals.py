"""Net, tax and gross: candidates by their labels, accepted when they add up."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values

_CENT = Decimal("0.02")
_MAX_CANDIDATES = 12


@dataclass(frozen=True, slots=True)
class InvoiceTotals:
    """`adds_up` is None when there was nothing to add."""

    gross: Decimal | None = None
    net: Decimal | None = None
    tax: Decimal | None = None
    due: Decimal | None = None


def find_totals(page: Sequence[TextLine]) -> InvoiceTotals:
    sure = _drop_repeats(_find_labelled_amounts(page, labels.TOTAL_GROSS))
    maybe = _drop_repeats(_find_labelled_amounts(page, labels.TOTAL_GROSS_MAYBE))
    nets = _drop_repeats(_find_labelled_amounts(page, labels.TOTAL_NET))
    taxes = _drop_repeats(_find_labelled_amounts(page, labels.TOTAL_TAX, unless=labels.NOT_A_TAX_AMOUNT))
    due = _drop_repeats(_find_labelled_amounts(page, labels.AMOUNT_DUE))
    amount_due = due[0] if len(due) == 1 else None
    gross_candidates = list(dict.fromkeys([*sure, *maybe, *due]))
    for gross, net, tax in _list_matching_totals(gross_candidates, nets, taxes):
        return InvoiceTotals(gross, net, tax, amount_due)
    for gross, net, tax in _find_rows_that_add_up(page):
        if gross in gross_candidates:
            return InvoiceTotals(gross, net, tax, amount_due)
    # Not named, but there: a net amount that the page prints somewhere.
    printed = [amount for line in page for cell in line.cells for amount in values.find_amounts(cell.text)]
    for gross, net, tax in _list_matching_totals(
        gross_candidates, [net for net in nets or printed if net], _add_sums_of_pairs(taxes)
    ):
        if tax:
            return InvoiceTotals(gross, net, tax, amount_due)
    gross_alone = _get_only_amount(sure) or _get_only_amount(maybe) or _find_repeated_largest(page, [*sure, *maybe])
    if gross_alone is not None and taxes and not any(taxes):
        return InvoiceTotals(gross_alone, gross_alone, Decimal("0.00"), amount_due)
    return InvoiceTotals(gross_alone, None, None, amount_due)


def _list_matching_totals(
    gross: Sequence[Decimal], net: Sequence[Decimal], tax: Sequence[Decimal]
) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
    """Triples that add up, those with a tax before those without, the largest gross first."""
    found = [
        (total, base, part)
        for total, base, part in product(gross[:_MAX_CANDIDATES], net[:200], tax[:_MAX_CANDIDATES])
        if abs(base + part - total) <= _CENT and abs(part) <= abs(base)
    ]
    yield from sorted(found, key=lambda triple: (triple[2] == 0, -abs(triple[0])))


def _find_rows_that_add_up(page: Sequence[TextLine]) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
    """`Razem: 257,59 59,24 316,83`: a row of net, tax and gross, the last such row first."""
    for line in reversed(page):
        row = [
            amount
            for cell in line.cells
            if values.is_money(cell.text) and (amount := values.parse_amount(cell.text)) is not None
        ]
        for net, tax, gross in zip(row, row[1:], row[2:], strict=False):
            if tax and abs(tax) < abs(net) and abs(net + tax - gross) <= _CENT:
                yield gross, net, tax


def _add_sums_of_pairs(taxes: Sequence[Decimal]) -> list[Decimal]:
    """The taxes of two rates are sometimes not added up on the page."""
    taxes = taxes[:_MAX_CANDIDATES]
    return [*taxes, *(a + b for number, a in enumerate(taxes) for b in taxes[number + 1 :])]


def _find_labelled_amounts(
    page: Sequence[TextLine], label: re.Pattern[str], unless: re.Pattern[str] | None = None
) -> Iterator[Decimal]:
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = label.search(cell.text)
            if match and not (unless and unless.search(cell.text)):
                yield from _find_amounts_at(page, index, number, match.end())


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
    if values.is_money(rest) and (inside := values.find_amounts(rest)):
        return inside[-1:]
    return _find_column_total(page, index, cell)


def _is_currency_or_rate(text: str) -> bool:
    return bool(re.fullmatch(r"\W*(?:[A-Z]{3}|\d+(?:[.,]\d+)?\s*%)?\W*", text))


def _find_column_total(page: Sequence[TextLine], index: int, head: TextCell) -> list[Decimal]:
    """The bottom of a column under its head: the total row stands below those of the rates."""
    found: list[Decimal] = []
    top = page[index].top
    for line in page[index + 1 : index + 10]:
        if line.page != page[index].page or line.top - top > 3.5 * max(line.height, page[index].height):
            break
        for cell in line.cells:
            amount = values.parse_amount(cell.text)
            overlaps = min(cell.right, head.right) - max(cell.left, head.left) > 0
            if overlaps and amount is not None and values.is_money(cell.text):
                found.append(amount)
                top = line.top
    return found[-1:]


def _drop_repeats(amounts: Iterator[Decimal]) -> list[Decimal]:
    return list(dict.fromkeys(amounts))


def _get_only_amount(amounts: Sequence[Decimal]) -> Decimal | None:
    return amounts[0] if len(amounts) == 1 else None


def _find_repeated_largest(page: Sequence[TextLine], amounts: Sequence[Decimal]) -> Decimal | None:
    """Of several sums called total, the largest, if the page says it more than once."""
    if not amounts:
        return None
    largest = max(amounts, key=abs)
    said = sum(values.find_amounts(cell.text).count(largest) for line in page for cell in line.cells)
    return largest if said > 1 else None
