"""Which pages of a file are the invoice's: delivery notes, orders, terms, statements and receipts lie before it or
behind it, and have numbers, days and totals of their own.

The page with a title and a number of its own comes first. A page carries on where it is numbered on, or prints the same
number, and has no title of its own. What is neither that nor another paper by its title is believed in nothing that the
invoice's pages do not say too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.invoice_number import find_invoice_number
from ingestion.extract.titles import kind_words, title_words
from ingestion.extract.titles.other_titles import list_titles

_LINES_OF_HEAD = 15
_HEADLINE_HEIGHT = 1.2  # of the other lines
_WORDS_OF_TITLE = 6
_PAGE_NUMBER = re.compile(
    r"(?:\b(?:page|seite|blatt|p[aá]gina|pag\.?|strona|str\.|strana|side|sida|sidan)\s{0,2}:?\s{0,2}(\d{1,3})\b"
    r"|^\W*(\d{1,3})\s?(?:/|of|von|sur|de|di|van|z|av|af)\s?\d{1,3}\W*$)",
    re.IGNORECASE,
)
_CARRIED_FORWARD = re.compile(
    r"^\W*(?:(?:amount|total|sum|subtotal)\s+)?(?:(?:brought|carried)\s+forward|übertrag|report[ée]?|à\s+reporter|suma\s+(?:y\s+sigue|anterior)"
    r"|(?:a\s+)?riport[oa]\w{0,2}|transporte?|z\s+przeniesienia|převod|overført|overförd|transport)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class InvoicePages:
    """`own` are the invoice's pages for certain, `possible` those and all that have no other paper's title."""

    own: list[TextLine]
    possible: list[TextLine]
    are_several: bool


def find_invoice_pages(lines: Sequence[TextLine], find_total: Callable[[Sequence[TextLine]], object]) -> InvoicePages:
    """All of them where no page has a number of its own, or there is only one."""
    pages: dict[int, list[TextLine]] = {}
    for line in lines:
        pages.setdefault(line.page, []).append(line)
    first = _find_first(pages) if len(pages) > 1 else None
    if first is None:
        return InvoicePages(list(lines), list(lines), are_several=False)
    at, number = first
    own, possible, several = {at}, {at}, False
    for other, page in pages.items():
        if other == at:
            continue
        is_numbered = _is_numbered(page, other - at + 1)
        if _is_another_paper(page) and not is_numbered:
            continue
        possible.add(other)
        own_number = find_invoice_number(page) if _is_titled(page) else None
        if own_number is not None and not is_same_number(own_number, number):
            several = several or _has_money(page)
        elif own_number is None and not is_numbered and _is_unnumbered_invoice(page, number):
            several = several or find_total(page) is not None
        elif other > at and _carries_on(page, pages[at], number, is_numbered=is_numbered):
            own.add(other)
    return InvoicePages(
        [line for line in lines if line.page in own], [line for line in lines if line.page in possible], several
    )


def join_readings(own: Invoice, possible: Invoice) -> Invoice:
    """What the invoice's pages say of themselves, and totals that no possible page speaks against."""
    is_whole = None not in (own.invoice_number, own.issue_date, own.total_gross)
    joined = replace(
        possible,
        invoice_number=own.invoice_number or possible.invoice_number,
        issue_date=own.issue_date or possible.issue_date,
        due_date=own.due_date if is_whole else own.due_date or possible.due_date,
        vat_id=own.vat_id if is_whole else own.vat_id or possible.vat_id,
        iban=own.iban if is_whole else own.iban or possible.iban,
        supplier_name=own.supplier_name or possible.supplier_name,
        currency=own.currency or possible.currency,
    )
    if own.total_gross is None or own.total_gross == possible.total_gross:
        return joined
    return replace(
        joined, total_gross=None, total_net=None, total_tax=None, amount_due=None, lines=(), line_amounts="net"
    )


def _find_first(pages: Mapping[int, Sequence[TextLine]]) -> tuple[int, str] | None:
    """The first page that has money and a number under an invoice's title."""
    for at, page in pages.items():
        if not _has_money(page) or _is_another_paper(page):
            continue
        if (number := find_invoice_number(page)) is not None and _is_titled(page):
            return at, number
    return None


def _is_titled(page: Sequence[TextLine]) -> bool:
    return any(map(labels.HEADLINE.match, list_titles(page[: 2 * _LINES_OF_HEAD])))


def _is_another_paper(page: Sequence[TextLine]) -> bool:
    """Whether it has another paper's title before it names an invoice, or an amount."""
    for line in page[:_LINES_OF_HEAD]:
        if any(values.is_money(values.mask_dates(cell.text)) for cell in line.cells):
            return False
        for text in list_titles([line]):
            if any(title.match(text) for title in _OTHER_TITLES):
                return True
            if labels.HEADLINE.match(text):
                return False
    return False


_OTHER_TITLES = (
    title_words.NO_INVOICE_TITLE,
    title_words.PROFORMA_TITLE,
    title_words.REMITTANCE_TITLE,
    title_words.OTHER_PAPER_TITLE,
    kind_words.REMINDER_HEADLINE,
)


def _is_unnumbered_invoice(page: Sequence[TextLine], number: str) -> bool:
    """Whether it names itself an invoice, and never prints this number."""
    is_named = any(map(labels.BARE_DOCUMENT.match, list_titles(page[:_LINES_OF_HEAD])))
    return is_named and not _prints(page, number)


def is_same_number(one: str, other: str) -> bool:
    """With or without its prefix."""
    return _fold(one) in _fold(other) or _fold(other) in _fold(one)


def _has_money(page: Sequence[TextLine]) -> bool:
    return any(values.is_money(line.text) for line in page)


def _carries_on(page: Sequence[TextLine], first: Sequence[TextLine], number: str, *, is_numbered: bool) -> bool:
    is_next = is_numbered or _prints(page, number) or any(map(_CARRIED_FORWARD.match, _list_texts(page)))
    return is_next and not _has_own_title(page, first)


def _has_own_title(page: Sequence[TextLine], first: Sequence[TextLine]) -> bool:
    """Whether a line of its head stands alone and is drawn larger, or is what the page begins with, and is neither that
    of the invoice's first page nor an invoice's title."""
    known = {line.text for line in first}
    height = median(line.height for line in page)
    new = (line for line in page[:_LINES_OF_HEAD] if line.text not in known and not _PAGE_NUMBER.search(line.text))
    for place, line in enumerate(new):
        is_alone = len(line.cells) == 1 and len(line.text.split()) <= _WORDS_OF_TITLE
        is_set_off = place == 0 or line.height > height * _HEADLINE_HEIGHT
        if is_alone and is_set_off and not re.search(r"\d", line.text) and not _names_continuation(line.text):
            return True
    return False


def _names_continuation(text: str) -> bool:
    return labels.HEADLINE.match(text) is not None or _CARRIED_FORWARD.match(text) is not None


def _is_numbered(page: Sequence[TextLine], place: int) -> bool:
    """Whether it says that it is this page of a paper of several."""
    found = (match for text in _list_texts(page) if (match := _PAGE_NUMBER.search(text)) is not None)
    return place > 1 and any(int(match[1] or match[2]) == place for match in found)


def _prints(page: Sequence[TextLine], number: str) -> bool:
    folded = _fold(number)
    return any(folded in _fold(line.text) for line in page)


def _fold(text: str) -> str:
    return re.sub(r"\W", "", text).lower()


def _list_texts(page: Iterable[TextLine]) -> Iterator[str]:
    return (cell.text for line in page for cell in line.cells)
