"""Totals with something between net, tax and what is paid: tax that is withheld, a voucher, coins that are rounded off,
the carriage. By its name alone nobody can tell whether it changes the net or what is paid of the total: a deposit, a
voucher and a late fee stand in front of the tax as well. The place of its row tells, and what the tax was reckoned of.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

from ingestion.domain.transcript import TextLine
from ingestion.extract import tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_labelled_ends
from ingestion.extract.amounts.sum_rows import CENT

_MAX_CANDIDATES = 12
_MAX_RATES = 12  # of which one may be the tax's
_MAX_COLUMN = 10  # lines from a head to its amounts
_OF_PAID = (change_labels.TAKEN_OFF, (change_labels.ROUNDING, change_labels.ADDED))
_OF_NET = ((change_labels.DISCOUNT,), (change_labels.CHARGE, change_labels.UNTAXED))
_Place = tuple[int, int]  # a line and its cell


@dataclass(frozen=True, slots=True)
class AdjustedTotals:
    """`paid` only where it is another amount than `gross`."""

    gross: Decimal
    net: Decimal
    tax: Decimal
    paid: Decimal | None = None


@dataclass(frozen=True, slots=True)
class _Change:
    """One alone, or all together; `first` is where the first of them stands."""

    amount: Decimal
    first: _Place


def list_adjusted_totals(
    page: Sequence[TextLine], grosses: Sequence[Decimal], nets: Sequence[Decimal], taxes: Sequence[Decimal]
) -> Iterator[AdjustedTotals]:
    of_paid, of_net = _list_changes(page, *_OF_PAID), _list_changes(page, *_OF_NET)
    if not of_paid and not of_net:
        return
    printed = {amount for line in page for amount in values.find_money(line.text)}
    triples = product(grosses[:_MAX_CANDIDATES], nets[:_MAX_CANDIDATES], taxes[:_MAX_CANDIDATES])
    for paid, net, tax in triples:
        if not tax or abs(tax) > abs(net):
            continue
        for change in of_paid:
            if abs(net + tax + change.amount - paid) <= CENT:
                yield from _weigh(page, change, AdjustedTotals(net + tax, net, tax), paid, printed)
        if any(abs(net + change.amount + tax - paid) <= CENT for change in of_net):
            yield AdjustedTotals(paid, paid - tax, tax)


def _weigh(
    page: Sequence[TextLine], change: _Change, totals: AdjustedTotals, paid: Decimal, printed: set[Decimal]
) -> Iterator[AdjustedTotals]:
    """The total before the change, or that of the changed net, or none: a total that the page does not print is
    believed only if its tax is of the net, or comes before the change."""
    changed_net = totals.net + change.amount
    rates = _list_rates(page)
    is_of_net = any(abs(totals.net * rate / 100 - totals.tax) <= CENT for rate in rates)
    is_of_changed = any(abs(changed_net * rate / 100 - totals.tax) <= CENT for rate in rates)
    if is_of_changed and not is_of_net:
        yield AdjustedTotals(paid, paid - totals.tax, totals.tax)
    elif totals.gross in printed or (is_of_net and not is_of_changed) or change.first > _find_last(page, totals.tax):
        yield replace(totals, paid=paid)


def _list_rates(page: Sequence[TextLine]) -> list[Decimal]:
    """Those that rows of tax name."""
    lines = (line.text for line in page if tax_labels.TAX_WORD.search(line.text) and values.find_money(line.text))
    return [*dict.fromkeys(rate for text in lines for rate in values.find_rates(text) if rate)][:_MAX_RATES]


def _find_last(page: Sequence[TextLine], tax: Decimal) -> _Place:
    """Where a tax stands; the sum of several rates behind the last of their rows."""
    places = list(_find_places(page, {abs(tax)})) or [
        (index, len(line.cells))
        for index, line in enumerate(page)
        if tax_labels.TOTAL_TAX.search(line.text) and values.find_money(line.text)
    ]
    return max(places, default=(len(page), 0))


def _find_places(page: Sequence[TextLine], amounts: set[Decimal]) -> Iterator[_Place]:
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            if any(abs(amount) in amounts for amount in values.find_money(cell.text)):
                yield index, number


def _list_changes(
    page: Sequence[TextLine], taken: Sequence[re.Pattern[str]], added: Sequence[re.Pattern[str]]
) -> list[_Change]:
    """Each change alone, and all of them together."""
    changes = [
        _Change(-abs(amount) if label in taken else amount, _find_row(page, label, amount))
        for label in (*taken, *added)
        for amount in list_labelled_ends(page, label)
    ]
    if len(changes) > 1:
        total = sum((change.amount for change in changes), Decimal(0))
        changes.append(_Change(total, min(change.first for change in changes)))
    return [change for change in changes if change.amount]


def _find_row(page: Sequence[TextLine], label: re.Pattern[str], amount: Decimal) -> _Place:
    """Where the label's amount stands: in its row, or in its column below."""
    for start, line in enumerate(page):
        if not label.search(line.text):
            continue
        end = start + 1 if values.find_money(line.text) else start + _MAX_COLUMN
        places = _find_places(page[start:end], {abs(amount)})
        if (place := next(places, None)) is not None:
            return start + place[0], place[1]
    return 0, 0
