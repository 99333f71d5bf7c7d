"""What is left to pay of an invoice's total: the total itself, or what deductions and additions make of it. A
name alone does not tell: `Balance on arrival`, `Outstanding on your account`, `Payable within 8 days`."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.cash_discounts import has_days
from ingestion.extract.amounts.labelled_amounts import list_labelled_amounts, list_labelled_ends, list_row_amounts
from ingestion.extract.amounts.part_payments import is_part_row
from ingestion.extract.amounts.payment_evidence import (
    UNKNOWN_DAY,
    IssueDay,
    has_heading_of_done,
    is_planned,
    is_taken_by_nature,
    was_done,
)
from ingestion.extract.amounts.sum_rows import CENT, list_sum_rows
from ingestion.extract.amounts.unconfirmed_total import list_deductions

_MAX_CALLED = 12  # due: for each of them the page is read again
_MAX_DEDUCTIONS = 6
_MAX_CHANGES = 10  # each with each other: 1,024 sums
_MAX_ROWS = 60  # below a total
_LARGEST_CASH_DISCOUNT = 10  # of a hundred
_ADDED = (change_labels.ADDED, change_labels.CHARGE)
_NOT_TAKEN = (change_labels.FOR_EARLY_PAYMENT, change_labels.ADDED, change_labels.DISCOUNT, tax_labels.TAX_WORD)
# `Solde de votre facture précédente`: it was due before this invoice.
_NOT_DUE_NOW = re.compile(
    rf"^\W*(?:{change_labels.ADDED.pattern})|{change_labels.FOR_EARLY_PAYMENT.pattern}|{change_labels.PLANNED}",
    re.IGNORECASE,
)
# Said of the whole: in a cell of its own, or with what it was paid by. A bank's debit may be yet to come.
_PAID_IN_FULL = labels.match_any(
    r"\b(?:paid\s+in\s+full|fully\s+paid|vollständig\s+(?:be|ge)zahlt|payée?\s+(?:en\s+totalité|intégralement)|volledig\s+(?:betaald|voldaan)|totalmente\s+pag(?:ad)?[oa])\b",
    r"^\W*(?:paid|bezahlt|betrag\s+(?:dankend\s+)?erhalten|payée?|acquittée?|pagad[oa]|pagat[oa]|betaald|voldaan|zapłacono|zaplaceno|uhrazeno|betalt|betald)\W*$",
    r"^\W*paid\s+(?:by|with|via)\s+(?:(?:credit|debit)\s+)?(?:card|cash|visa|mastercard|amex|paypal|klarna)\b",
)


def list_amounts_due(page: Sequence[TextLine]) -> list[Decimal]:
    return list_labelled_amounts(page, labels.AMOUNT_DUE, unless=_NOT_DUE_NOW)


def choose_due(
    page: Sequence[TextLine], called: Sequence[Decimal], gross: Decimal | None, issued: IssueDay = UNKNOWN_DAY
) -> Decimal | None:
    """The only amount that is called so, else the one that deductions lead to from the total."""
    due = [amount for amount in called[:_MAX_CALLED] if not _is_for_others(page, amount, gross)]
    if gross is None:
        return due[0] if len(due) == 1 else None
    if (rest := _find_rest(page, gross, issued)) is not None and (not due or due == [gross] or rest in due):
        return rest  # a label may call the whole so, above what was paid of it
    if len(due) == 1 and gross < 0 and due[0] == -gross:
        return gross  # what is given back is written without a sign at its end
    sums = _add_up_changes(page, issued) if any(amount != gross for amount in due) else {Decimal(0)}
    fitting = [amount for amount in due if gross - amount in sums or (amount == 0 and _is_paid_in_full(page))]
    return fitting[0] if len(fitting) == 1 else None


def may_plan_payments(page: Sequence[TextLine], due: Decimal, issued: IssueDay) -> bool:
    """Whether something between the total and what is due may be paid as late as that."""
    for index, line in enumerate(page):
        amounts = values.find_money(line.text) if change_labels.PREPAID.search(line.text) else []
        if amounts and abs(amounts[-1]) != abs(due) and not _is_taken_for_certain(page, index, issued):
            return True
    return False


def _add_up_changes(page: Sequence[TextLine], issued: IssueDay) -> set[Decimal]:
    """What is taken off and added: each alone, and some or all of them together."""
    changes = _list_taken(page, issued)[:_MAX_DEDUCTIONS]
    changes += [-added for label in _ADDED for added in list_labelled_ends(page, label)]
    changes += [sign * coins for coins in list_labelled_ends(page, change_labels.ROUNDING)[:1] for sign in (1, -1)]
    changes = changes[:_MAX_CHANGES]
    return {sum(some, Decimal(0)) for size in range(len(changes) + 1) for some in combinations(changes, size)}


def _is_paid_in_full(page: Sequence[TextLine]) -> bool:
    return any(map(_says_paid_in_full, page))


def _says_paid_in_full(line: TextLine) -> bool:
    return not values.find_money(line.text) and any(_PAID_IN_FULL.search(cell.text) for cell in line.cells)


def _list_taken(page: Sequence[TextLine], issued: IssueDay) -> list[Decimal]:
    """What was paid or is taken off for certain, as often as a row says so; columns have it below their heads."""
    parts = {row.index for row in list_sum_rows(page) if is_part_row(row.label)}
    certain: list[TextLine] = []
    taken: list[Decimal] = []
    for index, line in enumerate(page):
        is_part = index in parts and not is_planned(line, issued)
        amounts = [abs(list_row_amounts(line)[-1])] if is_part else list_deductions((line,))
        may_be_taken = bool(amounts) or any(label.search(line.text) for label in change_labels.TAKEN_OFF)
        if is_part or not may_be_taken or _is_taken_for_certain(page, index, issued):
            certain.append(line)
            taken += amounts
    return taken + [amount for amount in list_deductions(certain) if amount not in taken]


def _is_taken_for_certain(page: Sequence[TextLine], index: int, issued: IssueDay) -> bool:
    line = page[index]
    if change_labels.WITHHELD.search(line.text):
        return True  # until a day that is yet to come
    if is_planned(line, issued) or change_labels.FOR_EARLY_PAYMENT.search(line.text):
        return False
    return is_taken_by_nature(line.text) or was_done(line, issued) or has_heading_of_done(page, index)


def _is_for_others(page: Sequence[TextLine], amount: Decimal, gross: Decimal | None) -> bool:
    """Whether an amount is only due from who pays early, or was due before this invoice."""
    if gross is not None and any(
        part and gross - abs(part) == amount for part in list_labelled_ends(page, change_labels.FOR_EARLY_PAYMENT)
    ):
        return True
    if gross is not None and _is_less_by_a_rate(page, amount, gross):
        return True
    lines = [line for line in page if amount in list_row_amounts(line)]
    patterns = (change_labels.FOR_EARLY_PAYMENT, change_labels.ADDED)
    return bool(lines) and all(any(pattern.search(line.text) for pattern in patterns) for line in lines)


def _is_less_by_a_rate(page: Sequence[TextLine], amount: Decimal, gross: Decimal) -> bool:
    """Whether a percentage that the page takes off for early payment makes the amount: `3 % Skonto, zu zahlen …`."""
    rates = {
        rate
        for line in page
        if not _is_taken_for_good(line)
        for rate in values.find_rates(line.text)
        if 0 < rate <= _LARGEST_CASH_DISCOUNT
    }
    return any(abs(gross * (100 - rate) / 100 - amount) <= CENT for rate in rates)


def _is_taken_for_good(line: TextLine) -> bool:
    """Whether a row takes something off whenever the rest is paid: a retention, a discount without a day."""
    if change_labels.FOR_EARLY_PAYMENT.search(line.text) or has_days(line.text) or values.find_dates(line.text):
        return False
    amounts = list_row_amounts(line)
    return any(label.search(line.text) for label in change_labels.TAKEN_OFF) or (bool(amounts) and amounts[-1] < 0)


def _find_rest(page: Sequence[TextLine], gross: Decimal, issued: IssueDay) -> Decimal | None:
    """What all that is taken off below the total leaves, if a row below prints it, whatever that row is called.

    None where a row below is less than nothing and does not say why: a discount for early payment looks the same; or
    where one may be a plan, of which nobody knows what was paid.
    """
    start = next((index for index, line in enumerate(page) if gross in list_row_amounts(line)), None)
    if start is None or gross <= 0:
        return None
    rest, last = gross, None
    below = list(enumerate(page[start + 1 : start + 1 + _MAX_ROWS], start + 1))
    for index, line in below:
        amounts = list_row_amounts(line)
        if not amounts:
            continue
        is_named = _is_taken_off(line)
        if amounts[-1] < 0 and not is_named:
            return None
        if is_named and not _was_taken(page, index, issued):
            return None
        if is_named and len(amounts) == 1:
            rest, last = rest - abs(amounts[0]), index
    if last is None or rest < 0:
        return None
    # Called due, or the end of all: `Consommation 1 000,00` prints the same by chance.
    end = max(index for index, line in below if list_row_amounts(line))
    printed = [line for index, line in below if index > last and rest in list_row_amounts(line)]
    called = any(labels.AMOUNT_DUE.search(line.text) for line in printed)
    return rest if called or page[end] in printed else None


def _is_taken_off(line: TextLine) -> bool:
    text = line.cells[0].text
    is_named = any(label.search(text) for label in change_labels.TAKEN_OFF)
    return is_named and not any(label.search(text) for label in _NOT_TAKEN)


def _was_taken(page: Sequence[TextLine], index: int, issued: IssueDay) -> bool:
    """More than its name has to say so where nobody calls the rest due."""
    line = page[index]
    if change_labels.WITHHELD.search(line.text):
        return was_done(line, issued)
    return not is_planned(line, issued) and (was_done(line, issued) or has_heading_of_done(page, index))
