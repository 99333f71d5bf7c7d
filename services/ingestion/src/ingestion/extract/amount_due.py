"""What is left to pay of an invoice's total: as a label says, or as the deductions below the total lead to it."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

from ingestion.domain.transcript import TextLine
from ingestion.extract import change_labels, labels, values
from ingestion.extract.labelled_amounts import list_labelled_amounts, list_labelled_ends, list_row_amounts
from ingestion.extract.sum_rows import CENT
from ingestion.extract.unconfirmed_total import list_deductions

_MAX_DEDUCTIONS = 6
_MAX_CHANGES = 9  # each with each other: 512 sums
_MAX_ROWS = 60  # below a total
_LARGEST_CASH_DISCOUNT = 10  # of a hundred
_DAYS = re.compile(r"\d\s*(?:days?|tage?n?|jours?|d[ií]as?|giorni|gg|dagen|dni|dnů|dage|dagar)\b", re.IGNORECASE)
_TAKEN = (change_labels.PREPAID, change_labels.CREDITED, change_labels.WITHHELD)
_NOT_TAKEN = (change_labels.FOR_EARLY_PAYMENT, change_labels.ADDED, change_labels.DISCOUNT, labels.TAX_WORD)
# `Deposit 30 % on order`, `Rest bei Lieferung`: a plan of payments, of which nobody knows what was paid.
_PLANNED = (
    r"\b(?:fällig|zahlbar|bei\s+(?:auftrag|bestell|liefer|abnahme|abhol|fertigstell|montage|übergabe)\w*|(?:up)?on\s+(?:order|delivery|completion|collection)"
    r"|required|à\s+la\s+(?:commande|livraison|réception)|a\s+la\s+(?:firma|entrega|recepción)|all['’]ordine|alla\s+(?:consegna|firma)"
    r"|bij\s+(?:opdracht|levering|oplevering)|na\s+(?:encomenda|entrega)|przy\s+\w+|při\s+\w+|ved\s+(?:bestilling|levering)|vid\s+(?:beställning|leverans))\b"
)
_RATE = r"\d\s?%"
# `Solde de votre facture précédente`: it was due before this invoice.
_NOT_DUE_NOW = re.compile(
    rf"^\W*(?:{change_labels.ADDED.pattern})|{change_labels.FOR_EARLY_PAYMENT.pattern}|{_PLANNED}", re.IGNORECASE
)
_NOT_YET_PAID = re.compile(rf"{_PLANNED}|{_RATE}", re.IGNORECASE)


def list_amounts_due(page: Sequence[TextLine]) -> list[Decimal]:
    return list_labelled_amounts(page, labels.AMOUNT_DUE, unless=_NOT_DUE_NOW)


def choose_due(page: Sequence[TextLine], called: Sequence[Decimal], gross: Decimal | None) -> Decimal | None:
    """The only amount that is called so, else the one that deductions lead to from the total."""
    due = [amount for amount in called if not _is_for_others(page, amount, gross)]
    if gross is None:
        return due[0] if len(due) == 1 else None
    if (rest := _find_rest(page, gross)) is not None and (not due or due == [gross] or rest in due):
        return rest  # a label may call the whole so, above what was paid of it
    if len(due) == 1:
        if gross < 0 and due[0] == -gross:
            return gross  # what is given back is written without a sign at its end
        sure = list_labelled_amounts(page, labels.SURELY_DUE, unless=_NOT_DUE_NOW)
        return due[0] if due[0] in sure or due[0] == 0 or _is_explained(page, gross, due[0]) else None
    fitting = [amount for amount in due if _is_explained(page, gross, amount)]
    return fitting[0] if len(fitting) == 1 else None


def _is_explained(page: Sequence[TextLine], gross: Decimal, amount: Decimal) -> bool:
    """Whether what is taken off and added makes of the total what is due."""
    changes = [*list_deductions(page)[:_MAX_DEDUCTIONS]]
    changes += [-added for added in list_labelled_ends(page, change_labels.ADDED)]
    changes = changes[:_MAX_CHANGES]
    sums = {sum(some, Decimal(0)) for size in range(len(changes) + 1) for some in combinations(changes, size)}
    return gross - amount in sums


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
    if change_labels.FOR_EARLY_PAYMENT.search(line.text) or _DAYS.search(line.text) or values.find_dates(line.text):
        return False
    amounts = list_row_amounts(line)
    return any(label.search(line.text) for label in _TAKEN) or (bool(amounts) and amounts[-1] < 0)


def _find_rest(page: Sequence[TextLine], gross: Decimal) -> Decimal | None:
    """What all that is taken off below the total leaves, if a row below prints it, whatever that row is called.

    None where a row below is less than nothing and does not say why: a discount for early payment looks the same.
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
        if is_named and amounts[-1] > 0 and _may_be_planned(line):
            return None
        if is_named and len(amounts) == 1:
            rest, last = rest - abs(amounts[0]), index
    if last is None or rest < 0:
        return None
    printed = any(index > last and rest in list_row_amounts(line) for index, line in below)
    return rest if printed else None


def _is_taken_off(line: TextLine) -> bool:
    text = line.cells[0].text
    return any(label.search(text) for label in _TAKEN) and not any(label.search(text) for label in _NOT_TAKEN)


def _may_be_planned(line: TextLine) -> bool:
    text = line.cells[0].text
    return change_labels.PREPAID.search(text) is not None and _NOT_YET_PAID.search(text) is not None
