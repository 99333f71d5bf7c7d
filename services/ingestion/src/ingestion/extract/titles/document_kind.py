"""Which kind of document some pages are, from what stands on them.

Only what is certain is told apart: where nothing speaks for a kind, or as much for another, it is unknown, and whoever
asks errs towards processing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from stdnum import isin

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.titles import kind_words as words
from ingestion.extract.titles import title_words

_HEAD_LINES = 40  # a bank's letter head, and the table of who and where, stand in front of a title
_MAX_TITLE = 90  # letters; a title stands alone, or with a number and a date
_ISIN = re.compile(r"\b[A-Z]{2}[A-Z0-9]{9}\d\b")
_MAX_ISINS = 40  # numbers that are looked at


class DocumentKind(StrEnum):
    INVOICE = "invoice"  # goods or services are to be paid, corrected ones too
    CREDIT_NOTE = "credit_note"  # money is given back
    RECEIPT = "receipt"  # it was paid already
    CONTRACT_NOTE = "contract_note"  # a trade in securities
    ACTIVITY_STATEMENT = "activity_statement"  # of an account or a custody account; trades may be listed in it
    BANK_NOTICE = "bank_notice"  # income, tax or a transfer of securities: money or securities moved, and no trade
    REMINDER = "reminder"  # of an invoice that was not paid
    DELIVERY_NOTE = "delivery_note"  # what came with goods, without a price
    OTHER = "other"  # an offer, an order, what NO_INVOICE_TITLE names
    UNKNOWN = "unknown"  # no title says what it is


_TITLES_OF_NOTES = frozenset({DocumentKind.CONTRACT_NOTE, DocumentKind.BANK_NOTICE})
BANK_KINDS = frozenset({DocumentKind.CONTRACT_NOTE, DocumentKind.ACTIVITY_STATEMENT, DocumentKind.BANK_NOTICE})

# The first that stands in a title decides, in the order of the page; in one line the earlier of these.
_TITLES = (
    (DocumentKind.BANK_NOTICE, words.INCOME_TITLE),
    (DocumentKind.BANK_NOTICE, words.TRANSFER_TITLE),
    (DocumentKind.CONTRACT_NOTE, words.CONTRACT_NOTE_TITLE),
    (DocumentKind.ACTIVITY_STATEMENT, words.STATEMENT_TITLE),
)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How much of a page speaks of a bank, and whether it calls itself an invoice."""

    title: DocumentKind | None
    has_security_number: bool
    security_lines: int
    deal_lines: int
    balance_lines: int
    is_invoice_by_title: bool
    has_invoice_number: bool


def classify_lines(page: Sequence[TextLine]) -> DocumentKind:
    evidence = _gather_evidence(page)
    if (kind := _find_bank_kind(evidence)) is not None:
        return kind
    return _find_trade_kind(page, evidence)


def is_from_bank(page: Sequence[TextLine]) -> bool:
    """Whether these pages are a bank's or a broker's on securities or an account, and no invoice of theirs."""
    return _find_bank_kind(_gather_evidence(page)) is not None


def find_title(page: Sequence[TextLine]) -> DocumentKind | None:
    """What kind of a bank's document a line near the top says."""
    for line in page[:_HEAD_LINES]:
        for text in (cell.text for cell in line.cells):
            if len(text) > _MAX_TITLE:
                continue
            for kind, pattern in _TITLES:
                if pattern.search(text):
                    return kind
    return None


def has_title(page: Sequence[TextLine], kind: DocumentKind) -> bool:
    """Whether a line near the top says so, whatever others say."""
    texts = [cell.text for line in page[:_HEAD_LINES] for cell in line.cells if len(cell.text) <= _MAX_TITLE]
    return any(pattern.search(text) for own, pattern in _TITLES if own is kind for text in texts)


def _gather_evidence(page: Sequence[TextLine]) -> _Evidence:
    texts = [line.text for line in page]
    return _Evidence(
        title=find_title(page),
        has_security_number=names_security(texts),
        security_lines=_count_lines(texts, words.SECURITY_WORD),
        deal_lines=_count_lines(texts, words.SECURITY_DEAL),
        balance_lines=_count_lines(texts, words.BALANCE),
        is_invoice_by_title=any(
            len(cell.text) <= _MAX_TITLE
            and words.INVOICE_ITSELF.search(cell.text)
            and not words.INVOICE_NUMBER_ITSELF.search(cell.text)
            for line in page[:_HEAD_LINES]
            for cell in line.cells
        ),
        has_invoice_number=any(words.INVOICE_NUMBER_ITSELF.search(text) for text in texts),
    )


def names_security(texts: Iterable[str]) -> bool:
    """Whether a number of a security (ISIN) stands there, with its check digit."""
    numbers = (match[0] for text in texts for match in _ISIN.finditer(text))
    return any(isin.is_valid(number) for number in islice(numbers, _MAX_ISINS))


def _find_bank_kind(evidence: _Evidence) -> DocumentKind | None:
    # A broker may well send an invoice, and a supplier may write of funds and shares. Some brokers number their notes
    # as invoices, for the tax office.
    is_certain = evidence.title in _TITLES_OF_NOTES and evidence.has_security_number and evidence.deal_lines >= 2
    if evidence.is_invoice_by_title or (evidence.has_invoice_number and not is_certain):
        return None
    is_on_securities = evidence.security_lines >= 1 and (
        evidence.has_security_number or evidence.security_lines + evidence.deal_lines >= 4
    )
    match evidence.title:
        case DocumentKind.ACTIVITY_STATEMENT if evidence.balance_lines >= 1 or is_on_securities:
            return DocumentKind.ACTIVITY_STATEMENT
        case DocumentKind.CONTRACT_NOTE | DocumentKind.BANK_NOTICE if is_on_securities:
            return evidence.title
        case _:
            pass
    is_deal = evidence.has_security_number and evidence.security_lines >= 1
    if is_deal or (evidence.security_lines >= 3 and evidence.deal_lines >= 3):
        return evidence.title or DocumentKind.CONTRACT_NOTE
    return None


def _find_trade_kind(page: Sequence[TextLine], evidence: _Evidence) -> DocumentKind:
    """The kinds that suppliers send."""
    head = [cell.text for line in limit_to_head(page) for cell in line.cells if len(cell.text) <= _MAX_TITLE]
    if any(title_words.CREDIT_WORD.search(text) and labels.HEADLINE.match(text) for text in head):
        return DocumentKind.CREDIT_NOTE
    # Invoices name the delivery note, the order and the offer that they are for.
    if evidence.is_invoice_by_title or evidence.has_invoice_number:
        return DocumentKind.INVOICE
    if (title := next((text for text in head if title_words.NO_INVOICE_TITLE.match(text)), None)) is not None:
        return _name_other(title)
    return DocumentKind.RECEIPT if any(map(words.RECEIPT_TITLE.match, head)) else DocumentKind.UNKNOWN


def _name_other(title: str) -> DocumentKind:
    if words.REMINDER_TITLE.search(title):
        return DocumentKind.REMINDER
    return DocumentKind.DELIVERY_NOTE if words.DELIVERY_NOTE_TITLE.search(title) else DocumentKind.OTHER


def _count_lines(texts: Iterable[str], pattern: re.Pattern[str]) -> int:
    return sum(1 for text in texts if pattern.search(text))
