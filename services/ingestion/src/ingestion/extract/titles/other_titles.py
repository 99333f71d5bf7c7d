"""What says in its title that it is no invoice: a reminder, a pro-forma invoice, what is open of an account, or paid.

Each of them lists what invoices ask for, and would be paid twice if it were taken for one.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.titles import kind_words, title_words

_BARE_PROFORMA = re.compile(r"^\W*pr[oó][\s-]?forma\W*$", re.IGNORECASE)
# The pro-forma invoice that an invoice follows was paid, or is named as what it is of.
_SETTLED = labels.match_any(
    r"\b(?:paid|settled|received|bezahlt|beglichen|erhalten|gemäß|laut|zu[rm]?|payée?|réglée?|acquittée?|pagad[oa]|pagat[oa]|saldat[oa]|paga|betaald|voldaan)\b",
    r"\b(?:opłacon\w|zapłacon\w|uhrazen\w|zaplacen\w|betalt|betald)\b",
)
_OWN_NUMBER = re.compile(rf"{labels.HEADLINE.pattern}(\w[\w/.-]{{0,30}}\d[\w/.-]{{0,30}}|\d)(?!\w)", re.IGNORECASE)
_PROFORMA_NUMBER = re.compile(r"\W*p(?:rof?|fr?|f|i)\b|\W*p(?:f|ro)", re.IGNORECASE)
_LINES_OF_HEAD = 15  # of a further page: an invoice that begins there says so here
_CELLS_OF_TITLE = 3  # a line with more of them is a table's


class OtherTitle(StrEnum):
    REMINDER = "reminder"  # an invoice was not paid
    PROFORMA = "proforma"  # what an invoice will ask for
    STATEMENT = "statement"  # of account: the invoices that are open
    REMITTANCE = "remittance"  # a customer tells what it paid


def find_other_title(page: Sequence[TextLine]) -> OtherTitle | None:
    """The title of what asks for nothing that an invoice does not ask for; None where an invoice names itself too."""
    head = limit_to_head(page)
    if _is_reminder(head):
        return OtherTitle.REMINDER
    titles = list(list_titles(head))
    # What is named first: an invoice may refer to the pro-forma invoice that it follows.
    first = next((text for text in titles if labels.HEADLINE.match(text) or title_words.PROFORMA_TITLE.match(text)), "")
    if title_words.PROFORMA_TITLE.match(first) and not (
        any(map(labels.BARE_DOCUMENT.match, titles)) or (_SETTLED.search(first) and names_own_number(page))
    ):
        return OtherTitle.PROFORMA
    if _has_proforma_below_title(head):
        return OtherTitle.PROFORMA
    if any(map(labels.HEADLINE.match, titles)) or any(map(labels.INVOICE_NUMBER.search, titles)):
        return None
    if any(map(title_words.REMITTANCE_TITLE.match, titles)):
        return OtherTitle.REMITTANCE
    is_statement = any(map(title_words.BARE_STATEMENT.match, titles))
    # A statement lists invoices; a bill for water may be called one, and lists none.
    is_open = is_statement and all(
        any(word.search(line.text) for line in page) for word in (title_words.OPEN_ITEMS, title_words.INVOICE_WORD)
    )
    return OtherTitle.STATEMENT if is_open else None


def names_own_number(page: Sequence[TextLine]) -> bool:
    """Whether an invoice's number stands anywhere that is not that of the pro-forma invoice."""
    texts = [cell.text for line in page if len(line.cells) <= _CELLS_OF_TITLE for cell in line.cells]
    proforma = "".join(text for text in texts if title_words.PROFORMA_TITLE.match(text))
    numbers = (
        match[1] for text in texts if (match := _OWN_NUMBER.match(text)) and not title_words.PROFORMA_TITLE.match(text)
    )
    return any(not _PROFORMA_NUMBER.match(number) and number not in proforma for number in numbers)


def is_vague_reminder(page: Sequence[TextLine]) -> bool:
    """Whether only the beginning of a title is that of a reminder: `Friendly reminder to all our customers`, `Rappel de
    votre commande`. It may stand over an invoice."""
    titles = list(_list_reminder_titles(page[: max(12, len(page) // 3)]))
    return bool(titles) and not any(map(_is_whole_title, titles))


def _is_whole_title(text: str) -> bool:
    if (headline := kind_words.REMINDER_BEGINNING.match(text)) is None:
        return True  # the subject of a letter
    words = re.findall(r"[^\W\d_]{3,}", text[headline.end() :])
    return all(kind_words.WORD_OF_REMINDER.fullmatch(word) or word.lower() in values.MONTH_NAMES for word in words)


def _has_proforma_below_title(head: Sequence[TextLine]) -> bool:
    """`Rechnung` in one line, and `Proforma` alone in the next: one title."""
    return any(
        len(one.cells) == 1
        and len(other.cells) == 1
        and labels.BARE_DOCUMENT.match(one.text) is not None
        and _BARE_PROFORMA.match(other.text) is not None
        for one, other in pairwise(head)
    )


def asks_for_nothing_new(page: Sequence[TextLine]) -> bool:
    """Whether a total on this paper is none of an invoice, and only a person may say otherwise."""
    return find_other_title(page) is not None or _asks_for_delay(page)


def _asks_for_delay(page: Sequence[TextLine]) -> bool:
    """Whether a row asks for what a delay costs, and nothing calls itself an invoice: a reminder by another title."""
    titles = list_titles(limit_to_head(page))
    return not any(map(labels.HEADLINE.match, titles)) and any(
        kind_words.DELAY_FEE.search(line.cells[0].text) and any(values.is_money(cell.text) for cell in line.cells[1:])
        for line in page
    )


def begins_again_as_invoice(page: Sequence[TextLine]) -> bool:
    """Whether a later page is one: a reminder may have the invoice behind it."""
    for number in sorted({line.page for line in page})[1:]:
        own = [line for line in page if line.page == number]
        is_named = any(map(labels.HEADLINE.match, list_titles(own[:_LINES_OF_HEAD])))
        if is_named and any(values.is_money(line.text) for line in own):
            return True
    return False


def _is_reminder(head: Sequence[TextLine]) -> bool:
    return any(True for _ in _list_reminder_titles(head))


def _list_reminder_titles(head: Sequence[TextLine]) -> Iterator[str]:
    """Where it calls itself a reminder before it names an invoice."""
    for line in head:
        is_position = any(values.is_money(values.mask_dates(cell.text)) for cell in line.cells)
        for cell in line.cells:
            if labels.HEADLINE.match(cell.text):
                return
            if is_position:
                continue  # `1. Reminder service plan renewal   120.00`
            if labels.COMPANY.search(cell.text):
                continue  # `Inkasso Nord GmbH`
            if kind_words.REMINDER_HEADLINE.match(cell.text) or kind_words.REMINDER_SUBJECT.match(cell.text):
                yield cell.text


def list_titles(lines: Sequence[TextLine]) -> Iterator[str]:
    return (cell.text for line in lines if len(line.cells) <= _CELLS_OF_TITLE for cell in line.cells)
