"""Whether the page of an e-invoice says what its XML says: where they differ nobody may pay it unseen.

Whoever sends an invoice writes both; who wants another account to be paid writes one of them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ingestion.domain.invoice import CREDIT_NOTE, INVOICE, Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import values
from ingestion.extract.amounts.asked_below import find_asked_below
from ingestion.extract.amounts.payment_evidence import UNKNOWN_DAY
from ingestion.extract.amounts.totals import find_totals
from ingestion.extract.layout_rules import is_invoice, limit_lines, read_all_pages
from ingestion.extract.parties.payee_accounts import find_payee_accounts, list_read_lines
from ingestion.extract.parties.supplier_comparison import list_tax_ids, may_name_supplier, prints_tax_id
from ingestion.extract.parties.tax_ids import compare_tax_ids
from ingestion.extract.titles.other_titles import asks_for_nothing_new, begins_again_as_invoice

# A page of these cannot be held against anything.
_PAGE_IS_NOT_SHOWN = frozenset({ReviewReason.NO_TEXT_LAYER, ReviewReason.TEXT_GARBLED, ReviewReason.FORM_NOT_READ})

_MIN_SHARE_OF_NUMBER = 0.6  # of the page's, that the XML's has
_ROUNDED_UP = 1  # where there are no smaller coins, cash is rounded to a whole crown


def find_reason_for_no_comparison(invoice: Invoice, transcript: Transcript) -> ReviewReason | None:
    """Why the page says nothing of this invoice: it is a picture, say, or there is none."""
    if not transcript.lines:
        return next(iter(transcript.unread), ReviewReason.NO_TEXT_LAYER)
    hidden = next((reason for reason in transcript.unread if reason in _PAGE_IS_NOT_SHOWN), None)
    return None if hidden is None or _prints_what_is_paid(invoice, transcript) else hidden


def _prints_what_is_paid(invoice: Invoice, transcript: Transcript) -> bool:
    """Whether the letters say for which invoice how much is paid, and to whom: beside a picture of a whole invoice a
    line with its number alone says nothing of what the picture shows."""
    text = transcript.text
    number = values.fold_number(invoice.invoice_number or "")
    amounts = {
        amount for line in limit_lines(transcript) for cell in line.cells for amount in values.find_amounts(cell.text)
    }
    return (
        bool(number)
        and number in values.fold_number(text)
        and invoice.total_gross in amounts
        and (invoice.iban is None or names_account(invoice.iban, transcript))
    )


def find_contradictions(invoice: Invoice, transcript: Transcript) -> dict[str, Any]:
    """The fields of the XML that the page contradicts, with what the page seems to say (null: another value, unclear
    which). What a page does not print at all cannot be compared."""
    page = limit_lines(transcript)
    printed = _read_printed(transcript, page)
    names = dict.fromkeys(
        [
            *_list_missing_values(invoice, transcript, page, printed),
            *_list_other_values(invoice, printed),
            *(["amount_due"] if _asks_for_less(invoice, page) else []),
        ]
    )
    seen = printed.to_json()
    return {name: seen[name] if seen[name] != invoice.to_json()[name] else None for name in names}


def _read_printed(transcript: Transcript, page: Sequence[TextLine]) -> Invoice:
    """With a total that the page's own amounts speak against: an XML has to know it all the same."""
    printed = read_all_pages(transcript).invoice
    if printed.total_gross is not None or asks_for_nothing_new(page):
        return printed
    return replace(printed, total_gross=find_totals(page, printed.currency).doubtful)


def is_another_kind(document_type: str, transcript: Transcript) -> bool:
    """Whether the page takes back what the XML asks for, or the other way round, or nothing tells which; or the page is
    no invoice at all, or asks for nothing that an invoice has not asked for: a reminder is sent with the XML of its
    invoice."""
    page = limit_lines(transcript)
    if asks_for_nothing_new(page) and not begins_again_as_invoice(page):
        return True
    if not page:
        return False
    kind = read_all_pages(transcript).kind
    return document_type in (INVOICE, CREDIT_NOTE) and (
        kind.document_type != document_type or not kind.is_certain or not is_invoice(transcript)
    )


def _list_missing_values(
    invoice: Invoice, transcript: Transcript, page: Sequence[TextLine], printed: Invoice
) -> Iterator[str]:
    """Fields whose value stands nowhere on the pages, where others of its kind do."""
    text = transcript.text
    if invoice.invoice_number and values.fold_number(invoice.invoice_number) not in values.fold_number(text):
        yield "invoice_number"
    dates = values.list_possible_dates(text)
    for name, day in (("issue_date", invoice.issue_date), ("due_date", invoice.due_date)):
        if day is not None and dates and day not in dates:
            yield name
    amounts = {amount for line in page for cell in line.cells for amount in values.find_amounts(cell.text)}
    for name in ("total_gross", "total_net", "total_tax", "amount_due"):
        amount: Decimal | None = getattr(invoice, name)
        # Zero is seldom printed: no tax, nothing due. Of a tax that is withheld the total may only be worked out.
        if amount and amounts and amount not in amounts and amount != getattr(printed, name):
            yield name
    if invoice.iban and not _may_be_paid_to(invoice.iban, page, transcript, printed):
        yield "iban"
    if invoice.vat_id and any(list_tax_ids(page)) and not prints_tax_id(invoice.vat_id, page):
        yield "vat_id"
    if not may_name_supplier(invoice, printed.supplier_name, page):
        yield "supplier_name"


def _list_other_values(invoice: Invoice, printed: Invoice) -> Iterator[str]:
    """Fields that the page names, and names otherwise."""
    number, printed_number = (
        values.fold_number(text or "") for text in (invoice.invoice_number, printed.invoice_number)
    )
    # `1` and `2026` stand in many numbers. Without its prefix it may be the same one.
    if number and printed_number and not _may_be_same_number(number, printed_number):
        yield "invoice_number"
    if invoice.currency and printed.currency and invoice.currency != printed.currency:
        yield "currency"
    if invoice.vat_id and printed.vat_id and not compare_tax_ids(invoice.vat_id, printed.vat_id):
        yield "vat_id"
    for name in ("issue_date", "due_date"):
        # Both stand on the page, and may have changed places.
        if getattr(invoice, name) and getattr(printed, name) and getattr(invoice, name) != getattr(printed, name):
            yield name
    if _asks_for_another_amount(invoice, printed):
        yield "amount_due"
    if printed.totals_add_up():
        for name in ("total_gross", "total_net", "total_tax"):
            ours, theirs = getattr(invoice, name), getattr(printed, name)
            # A credit note that is positive in one of them and negative in the other is for a person too.
            if ours is not None and theirs is not None and ours != theirs:
                yield name
    elif printed.total_gross is not None and not _has_total(invoice, printed.total_gross):
        # It may be a net total, or what is left to pay; one that the XML does not know at all is another invoice's.
        yield "total_gross"


def _may_be_same_number(number: str, printed: str) -> bool:
    short, long = sorted((number, printed), key=len)
    return short in long and (len(number) >= len(printed) or len(number) >= _MIN_SHARE_OF_NUMBER * len(printed))


def _asks_for_another_amount(invoice: Invoice, printed: Invoice) -> bool:
    """Whether more is to be paid than the total, or another amount than the page asks for: a credit limit, a deposit or
    the net total may stand there too."""
    if invoice.amount_due is None or invoice.amount_due == printed.amount_due:
        return False
    if printed.amount_due is not None:
        return True
    return invoice.total_gross is not None and abs(invoice.amount_due) > abs(invoice.total_gross) + _ROUNDED_UP


def _asks_for_less(invoice: Invoice, page: Sequence[TextLine]) -> bool:
    """Whether rows below the amount that the XML asks for make another one of it: what was paid before, say."""
    due = invoice.total_gross if invoice.amount_due is None else invoice.amount_due
    if due is None or due <= 0:
        return False
    asked = find_asked_below(page, due, (invoice.total_net, invoice.total_tax), UNKNOWN_DAY)
    return asked is not None and asked.amount not in (due, invoice.total_gross)


def _has_total(invoice: Invoice, amount: Decimal) -> bool:
    totals = (invoice.total_gross, invoice.total_net, invoice.total_tax, invoice.amount_due)
    return any(total is not None and abs(total) == abs(amount) for total in totals)


_WRITTEN_IBAN = re.compile(r"\bIBAN\b\W{0,3}([A-Z]{2}\d{2}(?:[ \u00a0]?[A-Z0-9]){10,30})")


def _may_be_paid_to(iban: str, page: Sequence[TextLine], transcript: Transcript, printed: Invoice) -> bool:
    """Whether the page names this account as one to pay to, or none at all. Of two in different places one may be the
    old one, or somebody else's who is to be paid now."""
    if names_account(iban, transcript):
        accounts = find_payee_accounts(page, printed.currency, printed.supplier_name)
        return not accounts.ibans or (accounts.is_certain and iban.upper() in accounts.ibans)
    # Written with a wrong check digit it is another account as well.
    return not any(_WRITTEN_IBAN.search(line.text) or next(values.find_ibans(line.text), None) for line in page)


def names_account(iban: str, transcript: Transcript) -> bool:
    """Whether a person who looks at the page for the account finds this one. Half of an account's number stands there
    too, and is none."""
    if next(values.find_ibans(iban.upper()), None) != iban.upper():
        return False
    text = "\n".join(line.text for line in list_read_lines(limit_lines(transcript), transcript.lines))
    return iban.upper() in re.sub(r"[\s\u00a0]", "", text).upper()
