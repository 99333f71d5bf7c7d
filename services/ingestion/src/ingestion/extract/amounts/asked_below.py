"""What rows below a total make of it. Where the total less one row (or with it) is what the next row prints, the page
asks for another amount than its total, whatever both rows are called: `Goodwill reduction`, `Your excess`, `Carried
over from September`. Their names need not be known to know that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.cash_discounts import CASH_DISCOUNT
from ingestion.extract.amounts.labelled_amounts import list_row_amounts
from ingestion.extract.amounts.part_payments import is_final_invoice, is_part_row
from ingestion.extract.amounts.payment_evidence import IssueDay, has_heading_of_done, is_planned, was_done
from ingestion.extract.amounts.unconfirmed_total import has_usual_rate
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.titles import kind_words

_MAX_TOTALS = 4  # rows that print the same total
_MAX_ROWS = 8  # below each of them
_MAX_ALONE = 80  # letters of a line that is one row in one cell
_WHOLE = 100  # of a hundred
_TOTALS = (labels.TOTAL_GROSS, labels.TOTAL_GROSS_MAYBE, labels.TOTAL_TO_CONFIRM, labels.AMOUNT_DUE)
# Less is asked of who pays early: nobody knows whether somebody will.
_EARLY = (
    change_labels.FOR_EARLY_PAYMENT,
    CASH_DISCOUNT,
    labels.match_any(change_labels.DAYS, r"\b(?:after|nach|après|después|dopo|após|na|po|efter)\b"),
)
_AT_TILL = (kind_words.PAID_AT_TILL, change_labels.HANDED_OVER)
# `Restbetrag zahlbar` has no day or occasion.
_DUE_ALONE = labels.match_any(r"\b(?:fällig|zahlbar)\b")
_PLANNED = labels.match_any(change_labels.PLANNED, change_labels.DAYS)
# What was invoiced before was booked before: nobody knows whether the total is to be booked again.
_INVOICED_BEFORE = labels.match_any(
    r"\binvoiced\b|\bbilled\b|rechnung|berechnet|\bfactur|\bgefactureerd|\bfattur|\bfatur|faktur",
)


@dataclass(frozen=True, slots=True)
class AskedBelow:
    """`is_due` where the page calls it so, and nothing says that the total has what was invoiced before."""

    amount: Decimal
    is_due: bool


@dataclass(frozen=True, slots=True)
class _Row:
    index: int
    text: str
    amount: Decimal


def find_asked_below(
    page: Sequence[TextLine], total: Decimal, parts: Sequence[Decimal | None], issued: IssueDay
) -> AskedBelow | None:
    """None where nothing is asked but the total; `parts` are its net and its tax."""
    for start in _list_starts(page, total):
        below = (row for row in _list_rows(page, start) if abs(row.amount) != total)
        rows = list(islice(below, _MAX_ROWS))
        for end, asked in enumerate(rows):
            for first in range(end - 1, -1, -1):
                changes = rows[first:end]
                if not _changes_to(total, changes, asked.amount):
                    continue
                taken, left = _put_rest_last(changes, asked)
                if _is_asked(page, total, parts, taken, left, issued):
                    return AskedBelow(left.amount, _is_called_due(page, taken, left))
    return None


def _list_starts(page: Sequence[TextLine], total: Decimal) -> list[int]:
    found = [index for index, line in enumerate(page) if total in list_row_amounts(line)]
    called = [index for index in found if any(label.search(page[index].text) for label in _TOTALS)]
    return (called or found)[-_MAX_TOTALS:]


def _list_rows(page: Sequence[TextLine], start: int) -> Iterator[_Row]:
    """With the amounts of a sentence one by one; a row of several columns is none."""
    for index in range(start + 1, len(page)):
        text = page[index].text
        amounts = list_row_amounts(page[index])
        if len(amounts) > 1:
            continue
        if not amounts:
            amounts = values.find_money(text)
            amounts = amounts if len(amounts) > 1 or len(text) <= _MAX_ALONE else []
        yield from (_Row(index, text, amount) for amount in amounts if amount)


def _changes_to(total: Decimal, changes: Sequence[_Row], asked: Decimal) -> bool:
    amount = sum((abs(change.amount) for change in changes), Decimal(0))
    is_added = all(change.amount > 0 for change in changes)
    return asked > 0 and (total - amount == asked or (is_added and total + amount == asked))


def _put_rest_last(changes: Sequence[_Row], asked: _Row) -> tuple[Sequence[_Row], _Row]:
    """`Residual  1,453.76` may stand above the payment of 623.00 that it is left by."""
    is_above = len(changes) == 1 and labels.AMOUNT_DUE.search(changes[0].text) is not None
    if is_above and changes[0].index != asked.index and labels.AMOUNT_DUE.search(asked.text) is None:
        return (asked,), changes[0]
    return changes, asked


def _is_asked(
    page: Sequence[TextLine],
    total: Decimal,
    parts: Sequence[Decimal | None],
    changes: Sequence[_Row],
    asked: _Row,
    issued: IssueDay,
) -> bool:
    """Whether these rows are no parts of the total, no plan to pay it in, and no discount for who pays early."""
    rows = (*changes, asked)
    if _are_parts(total, parts, rows) or any(_is_early(page, row) for row in rows):
        return False
    if any(pattern.search(row.text) for pattern in _AT_TILL for row in rows):
        return False
    return not _may_be_plan(page, changes, asked, issued)


def _are_parts(total: Decimal, parts: Sequence[Decimal | None], rows: Sequence[_Row]) -> bool:
    if all(row.amount in parts for row in rows) or any(change_labels.WITHIN.search(row.text) for row in rows):
        return True
    if not any(tax_labels.TAX_WORD.search(row.text) or labels.TOTAL_NET.search(row.text) for row in rows):
        return False
    return any(has_usual_rate(total, abs(row.amount)) for row in rows)


def _is_early(page: Sequence[TextLine], row: _Row) -> bool:
    """By its own words, or by those of the heading over it."""
    texts = [row.text]
    if row.index and not values.find_money(page[row.index - 1].text):
        texts.append(page[row.index - 1].text)
    return any(pattern.search(text) for pattern in _EARLY for text in texts)


def _may_be_plan(page: Sequence[TextLine], changes: Sequence[_Row], asked: _Row, issued: IssueDay) -> bool:
    rows = (*changes, asked)
    if all(is_part_row(row.text) for row in rows) or len({_strip_numbers(row.text) for row in rows}) == 1 < len(
        {row.index for row in rows}
    ):
        return True
    rates = [rate for row in rows for rate in values.find_rates(row.text)[:1]]
    if len(rates) == len(rows) and sum(rates, Decimal(0)) == _WHOLE:
        return True
    unknown = [change for change in changes if _INVOICED_BEFORE.search(change.text) is None]
    if any(is_planned(page[change.index], issued) and change.index != asked.index for change in unknown):
        return True
    if any(_may_be_unpaid(page, change, issued) for change in unknown):
        return True
    return _PLANNED.search(_DUE_ALONE.sub("", asked.text)) is not None


def _may_be_unpaid(page: Sequence[TextLine], change: _Row, issued: IssueDay) -> bool:
    """Whether a row's name alone says that it was paid: `Deposit` may be asked for."""
    is_named = change_labels.PREPAID.search(change.text) is not None
    return is_named and not was_done(page[change.index], issued) and not has_heading_of_done(page, change.index)


def _strip_numbers(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalpha())


def _is_called_due(page: Sequence[TextLine], changes: Sequence[_Row], asked: _Row) -> bool:
    # What the customer keeps for the tax office is due to nobody else, whatever the rest is called.
    is_kept = all(change_labels.WITHHELD.search(change.text) for change in changes)
    if labels.AMOUNT_DUE.search(asked.text) is None and not is_kept:
        return False
    is_booked = any(_INVOICED_BEFORE.search(change.text) for change in changes)
    return not is_booked or is_final_invoice(limit_to_head(page))
