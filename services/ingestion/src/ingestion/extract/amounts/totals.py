"""Net, tax and gross: candidates by their labels, accepted when they add up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.adjusted_totals import list_adjusted_totals
from ingestion.extract.amounts.amount_due import choose_due, list_amounts_due, may_plan_payments
from ingestion.extract.amounts.asked_below import find_asked_below
from ingestion.extract.amounts.labelled_amounts import list_labelled_amounts, list_labelled_ends, list_row_amounts
from ingestion.extract.amounts.no_tax import says_that_no_tax_is_owed
from ingestion.extract.amounts.paid_words import says_that_all_was_paid
from ingestion.extract.amounts.part_payments import drop_part_rows, find_parts_taken
from ingestion.extract.amounts.payment_evidence import UNKNOWN_DAY, IssueDay
from ingestion.extract.amounts.rival_totals import has_rival_totals
from ingestion.extract.amounts.rows_of_total import list_totals_of_rows
from ingestion.extract.amounts.split_total import is_split_below
from ingestion.extract.amounts.sum_rows import CENT, SumRow, list_sum_rows
from ingestion.extract.amounts.unconfirmed_total import contains_tax, is_doubtful, list_deductions, may_lack_tax
from ingestion.extract.amounts.whole_amounts import write_out_cents

_MAX_CANDIDATES = 12


@dataclass(frozen=True, slots=True)
class InvoiceTotals:
    """`gross` is net and tax, whatever is withheld of it, rounded or paid before; `due` is what is left to pay.

    `doubtful` is what the page calls its total though its own amounts speak against it: no total, but one that an XML
    beside it has to know, and that a person is shown with the only net and tax that the page names beside it.
    """

    gross: Decimal | None = None
    net: Decimal | None = None
    tax: Decimal | None = None
    due: Decimal | None = None
    doubtful: Decimal | None = None
    doubtful_net: Decimal | None = None
    doubtful_tax: Decimal | None = None


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The amounts that labels call so."""

    sure: list[Decimal]
    maybe: list[Decimal]
    unsure: list[Decimal]
    nets: list[Decimal]
    taxes: list[Decimal]
    due: list[Decimal]

    @property
    def gross(self) -> list[Decimal]:
        return list(dict.fromkeys([*self.sure, *self.maybe, *self.unsure, *self.due]))


def find_totals(page: Sequence[TextLine], currency: str | None = None, issued: IssueDay = UNKNOWN_DAY) -> InvoiceTotals:
    """Amounts of another currency than the document's are no totals of it, nor are those of a part payment.

    What is to be paid after the day of issue was not paid.
    """
    own_currency = _drop_foreign(write_out_cents(page, currency), currency)
    totals = _weigh_rows_below(own_currency, _find_totals(own_currency, issued), issued)
    if totals.due and totals.due == totals.gross and _may_be_paid(own_currency, totals, totals.due, issued):
        return replace(totals, due=None)
    return totals


def _may_be_paid(page: Sequence[TextLine], totals: InvoiceTotals, due: Decimal, issued: IssueDay) -> bool:
    """All of it, or a part that no label tells."""
    return says_that_all_was_paid(page, due, issued) or is_split_below(page, due, (totals.net, totals.tax))


def _weigh_rows_below(page: Sequence[TextLine], totals: InvoiceTotals, issued: IssueDay) -> InvoiceTotals:
    """Where rows below ask for another amount, it is due if it is called so; else nobody can tell the total."""
    for base in dict.fromkeys((totals.due, totals.gross)):
        if base is None or base <= 0:
            continue
        asked = find_asked_below(page, base, (totals.net, totals.tax), issued)
        if asked is None or asked.amount in (totals.due, totals.gross):
            continue
        if asked.is_due and totals.due in (None, base):
            return replace(totals, due=asked.amount)
        return InvoiceTotals(doubtful=totals.gross or base, doubtful_net=totals.net, doubtful_tax=totals.tax)
    return totals


def _find_totals(whole_page: Sequence[TextLine], issued: IssueDay) -> InvoiceTotals:
    own = drop_part_rows(whole_page)
    candidates = _find_candidates(own)
    parts = find_parts_taken(whole_page, list_sum_rows(whole_page), candidates.due)
    if parts is not None and parts.whole is None:
        return InvoiceTotals()
    if parts is not None and parts.whole is not None:
        return replace(_build_totals(parts.whole), due=None if parts.may_be_planned(whole_page, issued) else parts.rest)
    roundings = list_labelled_ends(own, change_labels.ROUNDING)
    confirmed = (found for found in _list_confirmed(own, candidates) if not _is_part(found, candidates.sure, roundings))
    totals = next(confirmed, None) or _find_unconfirmed(whole_page, candidates, has_parts=len(own) < len(whole_page))
    if totals.gross is not None and has_rival_totals(whole_page, totals.gross):
        return InvoiceTotals(doubtful=totals.gross, doubtful_net=totals.net, doubtful_tax=totals.tax)
    if totals.due is not None:
        if candidates.due and totals.due not in candidates.due:
            # More is taken off what was rounded: `Öresavr.`, `RUT-avdrag`, `Att betala`.
            return replace(totals, due=choose_due(whole_page, candidates.due, totals.due, issued))
        return replace(totals, due=None) if may_plan_payments(whole_page, totals.due, issued) else totals
    due = choose_due(whole_page, candidates.due, totals.gross, issued)
    charges = list_labelled_ends(whole_page, change_labels.CHARGE)
    if totals.gross not in (None, due) and due is not None and due - totals.gross in charges:
        # Carriage that the total has not in it.
        return _add_doubtful_parts(InvoiceTotals(due=due, doubtful=totals.gross), candidates)
    return replace(_add_doubtful_parts(totals, candidates), due=due)


def _add_doubtful_parts(totals: InvoiceTotals, candidates: _Candidates) -> InvoiceTotals:
    if totals.doubtful is None:
        return totals
    net, tax = _get_only_amount(candidates.nets), _get_only_amount(candidates.taxes)
    return replace(totals, doubtful_net=net, doubtful_tax=tax)


def _find_candidates(page: Sequence[TextLine]) -> _Candidates:
    sure = list_labelled_amounts(page, labels.TOTAL_GROSS, unless=labels.OF_MORE)
    unsure = list_labelled_amounts(page, labels.TOTAL_GROSS) + list_labelled_amounts(page, labels.TOTAL_TO_CONFIRM)
    return _Candidates(
        sure=sure,
        maybe=list_labelled_amounts(page, labels.TOTAL_GROSS_MAYBE),
        unsure=[amount for amount in dict.fromkeys(unsure) if amount not in sure],
        nets=list_labelled_amounts(page, labels.TOTAL_NET, with_sums=True),
        taxes=list_labelled_amounts(page, tax_labels.TOTAL_TAX, unless=tax_labels.NOT_A_TAX_AMOUNT, with_sums=True),
        due=list_amounts_due(page),
    )


def _build_totals(row: SumRow) -> InvoiceTotals:
    return InvoiceTotals(row.gross, row.net, row.tax)


def _is_part(totals: InvoiceTotals, sure: Sequence[Decimal], roundings: Sequence[Decimal]) -> bool:
    """Whether a row of one rate adds up to less than what the page certainly calls its total."""
    gross = totals.gross
    return (
        gross is not None
        and gross not in sure
        and any(
            abs(other) > abs(gross) + CENT for other in sure if other != totals.due and other - gross not in roundings
        )
    )


def _drop_foreign(page: Sequence[TextLine], currency: str | None) -> list[TextLine]:
    if currency is None:
        return list(page)
    return [
        replace(line, cells=cells) if len(cells) < len(line.cells) else line
        for line in page
        if (cells := tuple(cell for cell in line.cells if not values.is_foreign(cell.text, currency)))
    ]


def _list_confirmed(page: Sequence[TextLine], candidates: _Candidates) -> Iterator[InvoiceTotals]:
    """Totals that add up, the most certain first."""
    # The last row first: the sum of a column stands below it.
    rows = sorted(list_sum_rows(page), key=lambda row: -row.index)
    yield from (_build_totals(row) for row in rows if row.is_named and row.gross in candidates.gross)
    yield from _add_rates([_build_totals(row) for row in rows], candidates.sure)
    for gross, net, tax in _list_matching_totals(candidates.gross, candidates.nets, candidates.taxes):
        yield InvoiceTotals(gross, net, tax)
    printed = [amount for line in page for cell in line.cells for amount in values.find_amounts(cell.text)]
    largest = max((abs(amount) for line in page for amount in list_row_amounts(line)), default=0)
    # What only its amounts speak for is the row of a part, or of a position, where more is on the page.
    yield from (
        _build_totals(row)
        for row in rows
        if row.is_named or (row.gross in candidates.gross and abs(row.gross) >= largest)
    )
    taxes = _add_sums_of_pairs(candidates.taxes)
    yield from (
        InvoiceTotals(found.gross, found.net, found.tax, found.paid)
        for found in list_adjusted_totals(page, candidates.gross, candidates.nets, taxes)
    )
    # Not named, but there: a net amount that the page prints somewhere.
    for nets in (candidates.nets, printed):
        for gross, net, tax in _list_matching_totals(candidates.gross, [net for net in nets if net], taxes):
            if tax:
                yield InvoiceTotals(gross, net, tax)
    for found in list_totals_of_rows(page, candidates.sure):
        yield InvoiceTotals(found.gross, None if found.tax is None else found.gross - found.tax, found.tax)
    yield from _list_taxes_in_words(page, candidates)
    # `Summa` may head the net amount: then what it makes with the tax is printed too.
    for gross, net, tax in _list_matching_totals(list(dict.fromkeys(printed)), candidates.maybe, candidates.taxes):
        if tax:
            yield InvoiceTotals(gross, net, tax)


def _list_taxes_in_words(page: Sequence[TextLine], candidates: _Candidates) -> Iterator[InvoiceTotals]:
    """`Momsgrundlag 400,00, moms 25 % 100,00`: what net and total leave, if words have it beside its rate."""
    pairs = [
        (gross, net)
        for gross, net in product(candidates.gross[:_MAX_CANDIDATES], candidates.nets[:_MAX_CANDIDATES])
        if gross > net
    ]
    texts = [line.text for line in page if tax_labels.TAX_WORD.search(line.text)] if pairs else []
    said = [pair for text in texts for pair in _list_amounts_with_rates(text)]
    for gross, net in pairs:
        tax = gross - net
        if any(amount == tax and abs(net * rate / 100 - tax) <= CENT for amount, rate in said):
            yield InvoiceTotals(gross, net, tax)


_MAX_RATES = 6  # that a line names


def _list_amounts_with_rates(text: str) -> Iterator[tuple[Decimal, Decimal]]:
    amounts, rates = dict.fromkeys(values.find_money(text)), dict.fromkeys(values.find_rates(text))
    return product([*amounts][:_MAX_CANDIDATES], [*rates][:_MAX_RATES])


def _add_rates(rows: Sequence[InvoiceTotals], sure: Sequence[Decimal]) -> Iterator[InvoiceTotals]:
    """The rows of several rates, which nothing adds up but the total."""
    rates = list(dict.fromkeys(rows))[:_MAX_CANDIDATES]
    gross, net, tax = (sum((getattr(row, name) for row in rates), Decimal(0)) for name in ("gross", "net", "tax"))
    if len(rates) > 1 and gross in sure:
        yield InvoiceTotals(gross, net, tax)


def _find_unconfirmed(page: Sequence[TextLine], candidates: _Candidates, *, has_parts: bool) -> InvoiceTotals:
    sure, maybe = candidates.sure, candidates.maybe
    taken, due = [part for part in list_deductions(page) if part], set(candidates.due)
    parts = [*taken, sum(taken, Decimal(0))]
    whole = {amount for amount in (*sure, *maybe) for part in parts if part and amount - part in due}
    if len(whole) == 1:
        total = whole.pop()
        part = contains_tax(page, total)
        return InvoiceTotals(total) if part is None else InvoiceTotals(total, total - part, part)
    gross = _get_only_amount(sure) or _get_only_amount(maybe) or _find_repeated_largest(page, [*sure, *maybe])
    gross = gross or _find_largest_with_tax(page, sure)
    if gross is None and not sure and not maybe and (unsure := _get_only_amount(candidates.unsure)) is not None:
        part = contains_tax(page, unsure)
        return InvoiceTotals(doubtful=unsure) if part is None else InvoiceTotals(unsure, unsure - part, part)
    # A part of the sum has a label of its own: what was paid in advance, what is left with a discount.
    if gross is None or any(abs(other) > abs(gross) for other in maybe):
        return InvoiceTotals()
    # A total and the tax that it contains say each other right.
    tax = contains_tax(page, gross)
    if has_parts or is_doubtful(page, gross, [] if tax else candidates.nets, candidates.taxes):
        return InvoiceTotals(doubtful=gross)
    if tax is not None:
        return InvoiceTotals(gross, gross - tax, tax)
    is_exempt = says_that_no_tax_is_owed(page, gross, candidates.nets)
    if not is_exempt and may_lack_tax(page, gross):
        return InvoiceTotals(doubtful=gross)
    is_free = bool(candidates.taxes) or is_exempt
    return (
        InvoiceTotals(gross, gross, Decimal("0.00")) if is_free and not any(candidates.taxes) else InvoiceTotals(gross)
    )


def _list_matching_totals(
    gross: Sequence[Decimal], net: Sequence[Decimal], tax: Sequence[Decimal]
) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
    """Triples that add up, those with a tax before those without, the largest gross first."""
    found = [
        (total, base, part)
        for total, base, part in product(gross[:_MAX_CANDIDATES], net[:200], tax[:_MAX_CANDIDATES])
        if abs(base + part - total) <= CENT and abs(part) <= abs(base)
    ]
    yield from sorted(found, key=lambda triple: (triple[2] == 0, -abs(triple[0])))


def _add_sums_of_pairs(taxes: Sequence[Decimal]) -> list[Decimal]:
    """The taxes of two rates, or all of several, are sometimes not added up on the page."""
    taxes = taxes[:_MAX_CANDIDATES]
    return [*taxes, *(a + b for number, a in enumerate(taxes) for b in taxes[number + 1 :]), sum(taxes, Decimal(0))]


def _get_only_amount(amounts: Sequence[Decimal]) -> Decimal | None:
    return amounts[0] if len(amounts) == 1 else None


def _find_largest_with_tax(page: Sequence[TextLine], amounts: Sequence[Decimal]) -> Decimal | None:
    """Of several, the largest, if the tax that the page says to be in its total is in that one alone: the head of the
    positions may be called a total too (`I alt`)."""
    with_tax = [amount for amount in amounts if contains_tax(page, amount) is not None]
    return with_tax[0] if len(with_tax) == 1 and abs(with_tax[0]) == max(map(abs, amounts)) else None


def _find_repeated_largest(page: Sequence[TextLine], amounts: Sequence[Decimal]) -> Decimal | None:
    """Of several sums called total, the largest, if the page says it more than once."""
    if not amounts:
        return None
    largest = max(amounts, key=abs)
    said = sum(values.find_amounts(cell.text).count(largest) for line in page for cell in line.cells)
    return largest if said > 1 else None
