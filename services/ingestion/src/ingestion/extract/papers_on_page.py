"""Whether one page holds two papers, one below the other: an invoice and the next one, the credit note that takes it
back, or a statement of account. Each has totals and days of its own, and nothing says which of them is meant."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts.amount_due import list_amounts_due
from ingestion.extract.amounts.totals import find_totals
from ingestion.extract.invoice_number import find_invoice_number
from ingestion.extract.invoice_pages import is_same_number
from ingestion.extract.titles import kind_words, title_words
from ingestion.extract.titles.invoice_kind import gives_back

_STATEMENT = re.compile(
    r"^\W*(?:statement(?:\s+of\s+account)?|account\s+statement|kontoauszug|offene[\s-]{1,3}posten\w{0,6}|saldenbestätigung|relevé(?:\s+de\s+compte)?"
    r"|extracto\s+de\s+cuenta|estratto\s+conto|rekeningoverzicht|extrato\s+de\s+conta|zestawienie\s+(?:sald|należności)|výpis\s+(?:z\s+)?účtu"
    r"|kontoudtog|kontoutdrag|kontoutskrift)\b[^:]{0,70}$",
    re.IGNORECASE,
)
_LEAST_LINES = 5  # above a second title
_MAX_TITLES = 4  # for each of them the page is read again
_MAX_TITLE = 90  # letters


def holds_another_paper(page: Sequence[TextLine]) -> bool:
    """Whether a title follows a total, and has a number or a total of its own. The copy below an invoice has neither,
    nor has the slip by which it is paid."""
    for index in list(_list_titles(page))[:_MAX_TITLES]:
        above, below = page[:index], page[index:]
        total = find_totals(above).gross
        if total is None:
            continue
        title = page[index].text
        if gives_back(title) and _list_asked(below):
            return True
        if _is_other(title) and _list_asked(below) - {total}:
            return True
        if _has_another_number(above, below):
            return True
    return False


def _list_titles(page: Sequence[TextLine]) -> Iterator[int]:
    """Lines of one cell that may begin a paper, below the first amount."""
    amounts = (index for index, line in enumerate(page) if values.is_money(values.mask_dates(line.text)))
    first = max(next(amounts, len(page)), _LEAST_LINES)
    return (index for index, line in enumerate(page[first:], start=first) if _may_be_title(line))


def _may_be_title(line: TextLine) -> bool:
    text = line.text
    if len(line.cells) > 1 or len(text) > _MAX_TITLE or values.is_money(values.mask_dates(text)):
        return False
    return labels.HEADLINE.match(text) is not None or gives_back(text) or _is_other(text)


def _is_other(title: str) -> bool:
    """Not a delivery note's or an order's: an invoice for several has their titles over its rows, and sums of each."""
    return any(
        pattern.match(title) for pattern in (_STATEMENT, title_words.PROFORMA_TITLE, kind_words.REMINDER_HEADLINE)
    )


def _list_asked(paper: Sequence[TextLine]) -> set[Decimal]:
    totals = find_totals(paper)
    named = (totals.gross, totals.doubtful, *list_amounts_due(paper))
    return {amount for amount in named if amount is not None}


def _has_another_number(above: Sequence[TextLine], below: Sequence[TextLine]) -> bool:
    own, other = find_invoice_number(above), find_invoice_number(below)
    return own is not None and other is not None and not is_same_number(own, other) and bool(_list_asked(below))
