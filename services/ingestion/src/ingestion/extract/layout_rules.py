"""Invoice fields from the lines of a page: what is written behind a label, to its right, or below it.

First rules, made to be right rather than complete: a field that they are not sure of stays unknown. Totals must
add up or be the only candidate; the order of day and month is read off the other dates; an IBAN needs its check digits;
lines count only if their amounts make a total of the page.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ingestion.domain.invoice import TOTAL_FIELDS, Invoice
from ingestion.domain.numbers import format_amount
from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts.cash_discounts import AskedAmounts
from ingestion.extract.amounts.invoice_currency import find_currency
from ingestion.extract.amounts.invoice_lines import find_invoice_lines
from ingestion.extract.amounts.payment_evidence import IssueDay
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals
from ingestion.extract.amounts.whole_amounts import write_out_cents
from ingestion.extract.days.due_dates import find_due_date
from ingestion.extract.days.invoice_dates import determine_day_first, find_issue_date, has_undecided_issue_date
from ingestion.extract.invoice_number import find_invoice_number
from ingestion.extract.invoice_pages import find_invoice_pages, join_readings
from ingestion.extract.ocr_certainty import was_read_by_ocr
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.papers_on_page import holds_another_paper
from ingestion.extract.parties.company_names import says_whose_name
from ingestion.extract.parties.payee_accounts import find_iban
from ingestion.extract.parties.payee_numbers import find_vat_id
from ingestion.extract.parties.supplier import find_supplier
from ingestion.extract.parties.tax_ids import find_tax_ids
from ingestion.extract.titles import title_words
from ingestion.extract.titles.document_kind import is_from_bank, names_security
from ingestion.extract.titles.invoice_kind import InvoiceKind, determine_invoice_kind
from ingestion.extract.titles.other_titles import (
    OtherTitle,
    asks_for_nothing_new,
    begins_again_as_invoice,
    find_other_title,
    is_vague_reminder,
    list_titles,
    names_own_number,
)

_MAX_LINES = 1500
_MAX_CELL = 300
_MAX_CELLS = 40  # of a line
_LONGEST_TERM = timedelta(days=366)
_LONG_DOCUMENT = 3  # pages in front of the last one, from which on the invoice is looked for


@dataclass(frozen=True, slots=True)
class PrintedInvoice:
    """What pages say. `has_certain_supplier` is whether signs on them agree whose invoice it is. `doubtful_totals` are
    amounts that the page names and speaks against itself; `are_several` is whether another page is another invoice, or
    a part of one another paper."""

    invoice: Invoice
    kind: InvoiceKind
    has_certain_supplier: bool
    doubtful_totals: Mapping[str, str]
    are_several: bool = False


def read_invoice(transcript: Transcript) -> PrintedInvoice:
    """What the invoice's own pages say: beside it a file may hold other papers."""
    lines = limit_lines(transcript)
    if lines and lines[0].page == lines[-1].page:
        return replace(_read_pages(lines), are_several=holds_another_paper(lines))
    pages = find_invoice_pages(lines, lambda page: find_totals(page).gross)
    # What a reminder asks for is none of an invoice's, whatever lies behind it.
    if pages.own == lines or asks_for_nothing_new(lines):
        return replace(_read_pages(lines), are_several=pages.are_several or _holds_another_paper(pages.own))
    own = _read_pages(pages.own)
    possible = own if pages.are_several else _read_pages(pages.possible)
    # Pages that say which of them is a credit note are not cut off from what they say together.
    whole = determine_invoice_kind(lines, own.invoice)
    is_kind_certain = own.kind.is_certain and whole.is_certain and own.kind.document_type == whole.document_type
    return PrintedInvoice(
        join_readings(own.invoice, possible.invoice),
        replace(own.kind, is_certain=is_kind_certain),
        own.has_certain_supplier,
        possible.doubtful_totals,
        pages.are_several or _holds_another_paper(pages.own),
    )


def _holds_another_paper(lines: Sequence[TextLine]) -> bool:
    pages = ([line for line in lines if line.page == number] for number in dict.fromkeys(line.page for line in lines))
    return any(map(holds_another_paper, pages))


def read_all_pages(transcript: Transcript) -> PrintedInvoice:
    """What any page says, as an XML is compared with it."""
    return _read_pages(limit_lines(transcript))


def _read_pages(page: Sequence[TextLine]) -> PrintedInvoice:
    supplier = find_supplier(page)
    supplier_name = None if supplier is None else supplier.name
    # A name that is not certain may be the customer's, and so its address.
    certain_name = supplier_name if supplier is not None and supplier.is_certain else None
    currency = find_currency(page, certain_name)
    day_first = determine_day_first(page, currency, certain_name)
    issued = None if has_undecided_issue_date(page, day_first) else find_issue_date(page, day_first)
    # What a reminder asks for is no invoice's total, with its fees and what was paid already.
    totals = InvoiceTotals() if asks_for_nothing_new(page) else find_totals(page, currency, IssueDay(issued, day_first))
    number = find_invoice_number(page)
    due = find_due_date(page, day_first, _list_asked(totals), number)
    invoice = Invoice(
        supplier_name=supplier_name,
        invoice_number=number,
        issue_date=issued,
        # Due before it was written, or a year later: one of the two is something else.
        due_date=due if due is None or issued is None or issued <= due <= issued + _LONGEST_TERM else None,
        currency=currency,
        total_gross=totals.gross,
        total_net=totals.net,
        total_tax=totals.tax,
        vat_id=find_vat_id(page, supplier_name),
        iban=find_iban(page, currency, supplier_name),
        amount_due=totals.due,
    )
    # Who writes an invoice to himself stands where a supplier does.
    is_another = any(title_words.SELF_BILLED.search(line.text) or says_whose_name(line.text) for line in page)
    is_certain = supplier is not None and supplier.is_certain and not is_another
    return PrintedInvoice(
        _add_lines(invoice, page, totals), determine_invoice_kind(page, invoice), is_certain, _write_doubtful(totals)
    )


def _write_doubtful(totals: InvoiceTotals) -> dict[str, str]:
    """By the names of the fields, as an extraction has them."""
    amounts = zip(TOTAL_FIELDS, (totals.doubtful, totals.doubtful_net, totals.doubtful_tax), strict=True)
    return {name: text for name, amount in amounts if (text := format_amount(amount)) is not None}


def _list_asked(totals: InvoiceTotals) -> AskedAmounts:
    asked = tuple(amount for amount in (totals.gross, totals.due) if amount is not None)
    return AskedAmounts(asked, tuple(amount for amount in (totals.net, totals.tax) if amount is not None))


def is_invoice(transcript: Transcript) -> bool:
    """Whether these pages may be an invoice at all. In doubt they are: a person can say no, nobody can say yes to what
    was thrown away."""
    page = limit_lines(transcript)
    # Who advises on shares, or is paid by the month, writes as a bank does: but names no security, and adds tax.
    if is_from_bank(page) and (names_security(line.text for line in page) or not _asks_for_tax(page)):
        return False
    titles = list(list_titles(limit_to_head(page)))
    is_named = any(map(labels.OWN_INVOICE.match, titles))
    other = find_other_title(page)
    is_certain = other is not None and not (other is OtherTitle.REMINDER and is_vague_reminder(page))
    if is_certain:
        if is_named or begins_again_as_invoice(page):
            return True
        return names_own_number(page) if other is OtherTitle.PROFORMA else _asks_for_tax(page)
    others = [text for text in titles if title_words.NO_INVOICE_TITLE.match(text)]
    if others and not any(map(labels.HEADLINE.match, titles)) and not any(map(title_words.AND_INVOICE.search, others)):
        return is_named or any(labels.INVOICE_NUMBER.search(line.text) for line in page)
    has_word = any(title_words.INVOICE_WORD.search(line.text) for line in page)
    # Of a picture the total's label may have been misread: then the number's is enough.
    has_word |= was_read_by_ocr(transcript) and any(labels.INVOICE_NUMBER.search(line.text) for line in page)
    if has_word or _asks_for_tax(page) or _asks_for_payment(page) or _names_rate_or_law(page):
        return True
    return find_totals(page).gross is not None and any(values.is_money(line.text) for line in page)


def _asks_for_payment(page: Sequence[TextLine]) -> bool:
    """Whether a letter asks for an amount, whatever it calls itself."""
    return any(values.find_money(line.text) for line in page) and any(
        title_words.PLEASE_PAY.search(line.text) for line in page
    )


_RATE_OR_LAW = re.compile(r"\d\s?%|§\s?19\b|\b293\s?B\b", re.IGNORECASE)


def _names_rate_or_law(page: Sequence[TextLine]) -> bool:
    """Whether a letter or a ticket has an amount, and says how it is taxed: `enth. MwSt. 19 %`, `Gemäß § 19 UStG`."""
    return any(values.is_money(values.mask_dates(line.text)) for line in page) and any(
        tax_labels.TAX_WORD.search(line.text) and _RATE_OR_LAW.search(line.text) for line in page
    )


def _asks_for_tax(page: Sequence[TextLine]) -> bool:
    """Whether whoever has a tax number adds tax, whatever the paper calls itself: a bill, a fee note, a voucher."""
    is_added = any(
        tax_labels.TOTAL_TAX.search(cell.text) and not tax_labels.NOT_A_TAX_AMOUNT.search(cell.text)
        for line in page
        if any(values.is_money(cell.text) for cell in line.cells)
        for cell in line.cells
    )
    return is_added and any(find_tax_ids(line.text) for line in page)


def limit_lines(transcript: Transcript) -> list[TextLine]:
    """Rules take time by the length of what they read; no invoice needs more than this."""
    return cut_lines(transcript.lines[_find_beginning(transcript.lines) :][:_MAX_LINES])


def cut_lines(lines: Sequence[TextLine]) -> list[TextLine]:
    return [
        replace(line, cells=tuple(replace(cell, text=cell.text[:_MAX_CELL]) for cell in line.cells[:_MAX_CELLS]))
        for line in lines
    ]


def _find_beginning(lines: Sequence[TextLine]) -> int:
    """Where the invoice begins in a long document: terms may stand in front of it, as many pages as they like."""
    if not lines or lines[-1].page < _LONG_DOCUMENT:
        return 0
    named: set[int] = set()
    start: dict[int, int] = {}
    for number, line in enumerate(lines):
        start.setdefault(line.page, number)
        texts = [cell.text[:_MAX_CELL] for cell in line.cells[:_MAX_CELLS]]
        if any(labels.INVOICE_NUMBER.search(text) or labels.HEADLINE.match(text) for text in texts):
            named.add(line.page)
        if line.page in named and any(values.is_money(text) for text in texts):
            return start[line.page]
    return 0


def _add_lines(invoice: Invoice, page: Sequence[TextLine], totals: InvoiceTotals) -> Invoice:
    lines, line_amounts = find_invoice_lines(write_out_cents(page, invoice.currency), totals)
    return replace(invoice, lines=lines, line_amounts=line_amounts) if lines else invoice
