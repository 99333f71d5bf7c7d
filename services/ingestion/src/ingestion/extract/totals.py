"""Net, tax and gross: candidates by their labels, accepted when they add up."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, product

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.invoice_currency import is_foreign

_CENT = Decimal("0.02")
_MAX_CANDIDATES = 12
_MAX_DEDUCTIONS = 6  # each with each other: 64 sums


@dataclass(frozen=True, slots=True)
class InvoiceTotals:
    """`gross` is net and tax, whatever is withheld of it, rounded or paid before; `due` is what is left to pay."""

    gross: Decimal | None = None
    net: Decimal | None = None
    tax: Decimal | None = None
    due: Decimal | None = None


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The amounts that labels call so."""

    sure: list[Decimal]
    maybe: list[Decimal]
    nets: list[Decimal]
    taxes: list[Decimal]
    due: list[Decimal]

    @property
    def gross(self) -> list[Decimal]:
        return list(dict.fromkeys([*self.sure, *self.maybe, *self.due]))


def find_totals(page: Sequence[TextLine], currency: str | None = None) -> InvoiceTotals:
    """Amounts of another currency than the document's are no totals of it."""
    own = _drop_foreign(page, currency)
    candidates = _Candidates(
        sure=_drop_repeats(_find_labelled_amounts(own, labels.TOTAL_GROSS)),
        maybe=_drop_repeats(_find_labelled_amounts(own, labels.TOTAL_GROSS_MAYBE)),
        nets=_drop_repeats(_find_labelled_amounts(own, labels.TOTAL_NET, with_sums=True)),
        taxes=_drop_repeats(
            _find_labelled_amounts(own, labels.TOTAL_TAX, unless=labels.NOT_A_TAX_AMOUNT, with_sums=True)
        ),
        due=_drop_repeats(_find_labelled_amounts(own, labels.AMOUNT_DUE)),
    )
    confirmed = (totals for totals in _list_confirmed(own, candidates) if not _is_part(totals, candidates.sure))
    totals = next(confirmed, None) or _find_unconfirmed(own, candidates)
    return replace(totals, due=_choose_due(own, candidates.due, totals) if totals.due is None else totals.due)


def _is_part(totals: InvoiceTotals, sure: Sequence[Decimal]) -> bool:
    """Whether a row of one rate adds up to less than what the page certainly calls its total."""
    gross = totals.gross
    return gross is not None and gross not in sure and any(abs(other) > abs(gross) + _CENT for other in sure)


def _drop_foreign(page: Sequence[TextLine], currency: str | None) -> list[TextLine]:
    if currency is None:
        return list(page)
    return [
        replace(line, cells=cells) if len(cells) < len(line.cells) else line
        for line in page
        if (cells := tuple(cell for cell in line.cells if not is_foreign(cell.text, currency)))
    ]


def _list_confirmed(page: Sequence[TextLine], candidates: _Candidates) -> Iterator[InvoiceTotals]:
    """Totals that add up, the most certain first."""
    rows = list(_find_rows_that_add_up(page))
    yield from (totals for totals, is_named in rows if is_named and totals.gross in candidates.gross)
    yield from _add_rates([totals for totals, _ in rows], candidates.sure)
    for gross, net, tax in _list_matching_totals(candidates.gross, candidates.nets, candidates.taxes):
        yield InvoiceTotals(gross, net, tax)
    yield from (totals for totals, is_named in rows if is_named or totals.gross in candidates.gross)
    taxes = _add_sums_of_pairs(candidates.taxes)
    yield from _list_adjusted(page, candidates, taxes)
    # Not named, but there: a net amount that the page prints somewhere.
    printed = [amount for line in page for cell in line.cells for amount in values.find_amounts(cell.text)]
    for nets in (candidates.nets, printed):
        for gross, net, tax in _list_matching_totals(candidates.gross, [net for net in nets if net], taxes):
            if tax:
                yield InvoiceTotals(gross, net, tax)
    # `Summa` may head the net amount: then what it makes with the tax is printed too.
    for gross, net, tax in _list_matching_totals(list(dict.fromkeys(printed)), candidates.maybe, candidates.taxes):
        if tax:
            yield InvoiceTotals(gross, net, tax)


def _add_rates(rows: Sequence[InvoiceTotals], sure: Sequence[Decimal]) -> Iterator[InvoiceTotals]:
    """The rows of several rates, which nothing adds up but the total."""
    rates = list(dict.fromkeys(rows))[:_MAX_CANDIDATES]
    gross, net, tax = (sum((getattr(row, name) for row in rates), Decimal(0)) for name in ("gross", "net", "tax"))
    if len(rates) > 1 and gross in sure:
        yield InvoiceTotals(gross, net, tax)


def _list_adjusted(
    page: Sequence[TextLine], candidates: _Candidates, taxes: Sequence[Decimal]
) -> Iterator[InvoiceTotals]:
    """Totals with something between net, tax and what is paid: tax that is withheld, coins that are rounded off, the
    carriage."""
    after = [-abs(amount) for amount in list_labelled_ends(page, labels.WITHHELD)]
    after += list_labelled_ends(page, labels.ROUNDING)
    before = list_labelled_ends(page, labels.CHARGE)
    before += [-abs(amount) for amount in list_labelled_ends(page, labels.DISCOUNT)]
    triples = product(candidates.gross[:_MAX_CANDIDATES], candidates.nets[:_MAX_CANDIDATES], taxes[:_MAX_CANDIDATES])
    for paid, net, tax in triples:
        if not tax or abs(tax) > abs(net):
            continue
        if any(change and abs(net + tax + change - paid) <= _CENT for change in after):
            yield InvoiceTotals(net + tax, net, tax, paid)
        if any(change and abs(net + change + tax - paid) <= _CENT for change in before):
            yield InvoiceTotals(paid, paid - tax, tax)


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
            found += amounts[-1:] or _find_column_total(page, index, cell)
    return _drop_repeats(iter(found))[:_MAX_DEDUCTIONS]


def _find_unconfirmed(page: Sequence[TextLine], candidates: _Candidates) -> InvoiceTotals:
    sure, maybe = candidates.sure, candidates.maybe
    taken = [abs(amount) for amount in _list_deductions(page)]
    whole = {amount for amount in (*sure, *maybe) for part in taken if part and amount - part in candidates.due}
    if len(whole) == 1:
        return InvoiceTotals(whole.pop())
    gross = _get_only_amount(sure) or _get_only_amount(maybe) or _find_repeated_largest(page, [*sure, *maybe])
    # A part of the sum has a label of its own: what was paid in advance, what is left with a discount.
    if gross is not None and any(abs(other) > abs(gross) for other in maybe):
        return InvoiceTotals()
    # What is left after a deduction is no total, and of a total alone nobody knows whether it is.
    if gross is not None and any(0 < part < abs(gross) for part in taken):
        return InvoiceTotals()
    if gross is not None and candidates.taxes and not any(candidates.taxes):
        return InvoiceTotals(gross, gross, Decimal("0.00"))
    tax = _get_only_amount(list_labelled_ends(page, labels.TAX_CONTAINED))
    if gross is not None and tax is not None and _has_usual_rate(gross, tax):
        return InvoiceTotals(gross, gross - tax, tax)
    return InvoiceTotals(gross)


def _has_usual_rate(gross: Decimal, tax: Decimal) -> bool:
    """Whether a tax that the total contains is a whole or half percentage of the rest, as rates of Europe are."""
    if not 0 < tax < gross / 3:
        return False
    rate = (200 * tax / (gross - tax)).to_integral_value() / 200
    return abs((gross - tax) * rate - tax) <= _CENT


def _list_deductions(page: Sequence[TextLine]) -> list[Decimal]:
    return [*list_labelled_ends(page, labels.WITHHELD), *list_labelled_ends(page, labels.PREPAID)][:_MAX_DEDUCTIONS]


def _choose_due(page: Sequence[TextLine], due: Sequence[Decimal], totals: InvoiceTotals) -> Decimal | None:
    """What is left to pay: the only amount that is called so, else the one that deductions lead to from the total."""
    gross = totals.gross
    if len(due) == 1:
        # What is given back is written without a sign at its end.
        return gross if gross is not None and gross < 0 and due[0] == -gross else due[0]
    if gross is None:
        return None
    taken = [abs(amount) for amount in _list_deductions(page)]
    sums = {sum(some, Decimal(0)) for size in range(len(taken) + 1) for some in combinations(taken, size)}
    fitting = [amount for amount in due if gross - amount in sums]
    return fitting[0] if len(fitting) == 1 else None


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


def _find_rows_that_add_up(page: Sequence[TextLine]) -> Iterator[tuple[InvoiceTotals, bool]]:
    """`Razem: 257,59 59,24 316,83`: a row of net, tax and gross, and whether it says so; the last such row first."""
    for line in reversed(page):
        is_named = any(labels.TOTAL_ROW.match(cell.text) for cell in line.cells)
        row = [
            amount
            for cell in line.cells
            if values.is_money(cell.text) and (amount := values.parse_amount(cell.text)) is not None
        ]
        for net, tax, gross in zip(row, row[1:], row[2:], strict=False):
            if tax and abs(tax) < abs(net) and abs(net + tax - gross) <= _CENT:
                yield InvoiceTotals(gross, net, tax), is_named


def _add_sums_of_pairs(taxes: Sequence[Decimal]) -> list[Decimal]:
    """The taxes of two rates, or all of several, are sometimes not added up on the page."""
    taxes = taxes[:_MAX_CANDIDATES]
    return [*taxes, *(a + b for number, a in enumerate(taxes) for b in taxes[number + 1 :]), sum(taxes, Decimal(0))]


def _find_labelled_amounts(
    page: Sequence[TextLine], label: re.Pattern[str], unless: re.Pattern[str] | None = None, *, with_sums: bool = False
) -> Iterator[Decimal]:
    """With the sums of columns too, where a summary of several rates has no row that adds them up."""
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
    return _find_column_total(page, index, cell)


def _is_currency_or_rate(text: str) -> bool:
    return bool(re.fullmatch(r"\W*(?:[A-Z]{3}|\d+(?:[.,]\d+)?\s*%)?\W*", text))


def _find_column_total(page: Sequence[TextLine], index: int, head: TextCell) -> list[Decimal]:
    """The bottom of a column under its head: the total row stands below those of the rates."""
    return _list_column(page, index, head)[-1:]


def _list_column(page: Sequence[TextLine], index: int, head: TextCell) -> list[Decimal]:
    found: list[Decimal] = []
    top = page[index].top
    for line in page[index + 1 : index + 10]:
        if line.page != page[index].page or line.top - top > 3.5 * max(line.height, page[index].height):
            break
        if found and any(labels.TOTAL_GROSS.search(cell.text) for cell in line.cells):
            break  # what is to be paid in the end is of no column
        for cell in line.cells:
            overlaps = min(cell.right, head.right) - max(cell.left, head.left) > 0
            amount = values.parse_amount(cell.text) if overlaps and values.is_money(cell.text) else None
            if amount is not None:
                found.append(amount)
                top = line.top
    return found


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
