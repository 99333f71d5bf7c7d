"""Invoice fields from the lines of a page: what is written behind a label, to its right, or below it.

First rules, made to be right rather than complete: a field that they are not sure of stays unknown. Totals must
add up or be the only candidate; the order of day and month is read off the other dates; an IBAN needs its check digits;
lines count only if their amounts make a total of the page.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeVar

from ingestion.domain.invoice import CORRECTED_INVOICE, CREDIT_NOTE, INVOICE, Invoice
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract import kind_words, labels, values
from ingestion.extract.document_kind import is_from_bank
from ingestion.extract.invoice_lines import find_invoice_lines
from ingestion.extract.ocr_certainty import was_read_by_ocr
from ingestion.extract.supplier import find_supplier_name, is_buyer_cell
from ingestion.extract.totals import InvoiceTotals, find_totals

T = TypeVar("T")

_MAX_LINES = 1500
_MAX_CELL = 300
_MAX_CELLS = 40  # of a line
_LONG_DOCUMENT = 3  # pages in front of the last one, from which on the invoice is looked for


def read_invoice(transcript: Transcript) -> tuple[Invoice, str]:
    """The invoice on these pages and its kind: `invoice`, `credit_note` or `corrected_invoice`."""
    page = limit_lines(transcript)
    currency = values.determine_currency(line.text for line in page)
    # What a reminder asks for is no invoice's total, with its fees and what was paid already.
    totals = InvoiceTotals() if is_reminder(page) else find_totals(page)
    day_first = _determine_day_first(page, currency)
    issued = _find_issue_date(page, day_first)
    due = _find_first_parsed(_list_texts_beside(page, labels.DUE_DATE), lambda text: _read_due_date(text, day_first))
    invoice = Invoice(
        supplier_name=find_supplier_name(page),
        invoice_number=_find_invoice_number(page),
        issue_date=issued,
        # Due before it was written: one of the two is something else.
        due_date=due if due is None or issued is None or due >= issued else None,
        currency=currency,
        total_gross=totals.gross,
        total_net=totals.net,
        total_tax=totals.tax,
        vat_id=_find_vat_id(page),
        iban=_find_iban(page),
        amount_due=totals.due,
    )
    return _add_lines(invoice, page, totals), _determine_kind(page, invoice)


def is_invoice(transcript: Transcript) -> bool:
    """Whether these pages may be an invoice at all. In doubt they are: a person can say no, nobody can say yes to what
    was thrown away."""
    page = limit_lines(transcript)
    if is_from_bank(page):
        return False
    head = [cell.text for line in page[: max(12, len(page) // 3)] for cell in line.cells]
    if any(labels.NO_INVOICE_TITLE.match(text) for text in head) and not any(labels.HEADLINE.match(t) for t in head):
        return any(labels.INVOICE_NUMBER.search(line.text) for line in page)
    has_word = any(labels.INVOICE_WORD.search(line.text) for line in page)
    # Of a picture the total's label may have been misread: then the number's is enough.
    has_word |= was_read_by_ocr(transcript) and any(labels.INVOICE_NUMBER.search(line.text) for line in page)
    has_total = find_totals(page).gross is not None
    return has_word or (has_total and any(values.is_money(line.text) for line in page))


def is_reminder(page: Sequence[TextLine]) -> bool:
    """Whether it calls itself a reminder before it names an invoice."""
    for line in page[: max(12, len(page) // 3)]:
        for cell in line.cells:
            if labels.HEADLINE.match(cell.text):
                return False
            if kind_words.REMINDER_HEADLINE.match(cell.text):
                return True
    return False


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


def _determine_kind(page: Sequence[TextLine], invoice: Invoice) -> str:
    head = [cell.text for line in page[: max(12, len(page) // 3)] for cell in line.cells]
    if any(labels.CORRECTION_WORD.search(text) for text in head):
        return CORRECTED_INVOICE
    if any(labels.HEADLINE.match(text) and labels.CREDIT_WORD.search(text) for text in head):
        return CREDIT_NOTE
    return invoice.determine_document_type() if invoice.total_gross is not None else INVOICE


def _add_lines(invoice: Invoice, page: Sequence[TextLine], totals: InvoiceTotals) -> Invoice:
    lines, line_amounts = find_invoice_lines(page, totals)
    return replace(invoice, lines=lines, line_amounts=line_amounts) if lines else invoice


# Number


def _find_invoice_number(page: Sequence[TextLine]) -> str | None:
    behind = list(_list_texts_beside(page, labels.INVOICE_NUMBER))
    labelled = _find_first_parsed(iter(behind), _parse_number)
    return labelled or _find_number_in_headline(page) or _find_first_parsed(iter(behind), _parse_number_like_a_date)


def _find_number_in_headline(page: Sequence[TextLine]) -> str | None:
    cells = [cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells]
    for text in cells:
        if (match := labels.HEADLINE.match(text)) and (number := _parse_number(text[match.end() :])):
            return number
    if any(labels.BARE_DOCUMENT.match(text) for text in cells[:10]):
        for text in cells[:15]:
            if (match := labels.BARE_NUMBER_SIGN.match(text)) and (number := _parse_number(text[match.end() :])):
                return number
        numbers = map(_parse_number, _list_texts_beside(page[: max(20, len(page) // 2)], labels.BARE_NUMBER))
        distinct = {number for number in numbers if number and re.search(r"\d{3}", number)}
        if len(distinct) == 1:
            return distinct.pop()
    number = _find_first_parsed(_list_texts_below_labels(page, labels.BARE_DOCUMENT), _parse_number)
    return number if number and re.search(r"\d{3}", number) else None


_NUMBER = re.compile(r"[A-Za-z0-9][\w/.\\-]{0,30}")


def _parse_number(text: str) -> str | None:
    """The first word behind a label, if it looks like a document's number: with a digit, no date, no money."""
    words = text.strip(" :#.\t").split()
    if not words:
        return None
    # `F 1234K20/1234/12`: a short prefix stands apart.
    joined = " ".join(words[:2]) if len(words) > 1 and re.fullmatch(r"[A-Z]{1,4}", words[0]) else words[0]
    joined = joined.rstrip(".,;:")
    word = joined.rpartition(" ")[2]
    if not _NUMBER.fullmatch(word) or not any(letter.isdigit() for letter in word):
        return None
    if values.find_dates(joined) or re.fullmatch(r"\d+[.,]\d{2}", word) or len(word) < 2:
        return None
    return joined


def _parse_number_like_a_date(text: str) -> str | None:
    """`Faktura nr 15/03/2026`: the fifteenth of March 2026 by its looks, the fifteenth of that month by its count."""
    match = re.match(r"\s*:?\s*(\d{1,5}/\d{1,2}/\d{4})(?!\S)", text)
    return match[1] if match else None


# Dates


def _determine_day_first(page: Sequence[TextLine], currency: str | None) -> bool | None:
    """The order of day and month: what the dates of this document say, else its language, else its currency."""
    said = {date.says_day_first for line in page for date in values.find_dates(line.text)} - {None}
    if len(said) == 1:
        return said.pop()
    if said:
        return None
    text = "\n".join(line.text for line in page).lower()
    if re.search(
        r"\b(?:rechnung|factuur|faktura|facture|factura|fattura|fatura|avoir|gutschrift|betrag|bedrag|montant|datum|fecha)\b",
        text,
    ):
        return True
    return {"USD": False, "GBP": True, "CHF": True, "PLN": True, "AUD": True, "DKK": True, "CZK": True}.get(
        currency or ""
    )


def _find_issue_date(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    def read(text: str) -> date | None:
        return _find_first_date(text, day_first)

    labelled = _find_first_parsed(_list_texts_beside(page, labels.ISSUE_DATE), read)
    if labelled:
        return labelled
    for line in page:
        for cell in line.cells:
            # "Rechnung Nr. 7 vom 22.05.2014"
            match = labels.ISSUE_DATE_IN_HEADLINE.search(cell.text) if labels.HEADLINE.match(cell.text) else None
            if match and (found := read(cell.text[match.end() :])):
                return found
    if bare := _find_first_parsed(_list_texts_beside(page, labels.BARE_DATE), read):
        return bare
    if any(kind_words.RECEIPT_TITLE.match(cell.text) for line in page[:20] for cell in line.cells):
        paid = _find_first_parsed(_list_texts_beside(page, labels.PAID_DATE), read)
        if paid:
            return paid
    return _find_lone_date(page, day_first)


# `Musterstadt, den 3. Mai 2026`
_TOWN_BEFORE_DATE = re.compile(
    r"^[^\W\d]{2,30}(?:[ ./-]{1,2}[^\W\d]{1,30}){0,2},\s?(?:(?:den|le|the|li|lì|dnia|em|el)\s)?(?=\w)", re.IGNORECASE
)


def _find_lone_date(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    """A date that stands alone near the top, when it is the only one that does."""
    alone = [
        found
        for line in page[: max(12, len(page) // 3)]
        for cell in line.cells[:1]  # what has words to its left is the date of those
        if len(_TOWN_BEFORE_DATE.sub("", cell.text)) <= 20
        and (found := _find_first_date(cell.text, day_first))
        and len(values.find_dates(cell.text)) == 1
    ]
    return alone[0] if len(set(alone)) == 1 else None


def _find_first_date(text: str, day_first: bool | None) -> date | None:
    written = values.find_dates(text)
    return written[0].resolve_date(day_first=day_first) if written else None


def _read_due_date(text: str, day_first: bool | None) -> date | None:
    """The first date, but where there is a cash discount the last: `bis 3.5. mit 2 % Skonto, bis 1.6. ohne Abzug`."""
    written = values.find_dates(text)
    if not labels.CASH_DISCOUNT.search(text):
        return written[0].resolve_date(day_first=day_first) if written else None
    if len(written) == 1 and labels.FOR_CASH_DISCOUNT.search(values.mask_dates(text)):
        return None
    days = [found for each in written if (found := each.resolve_date(day_first=day_first)) is not None]
    return max(days) if days and len(days) == len(written) else None


# Numbers of the supplier


def _find_vat_id(page: Sequence[TextLine]) -> str | None:
    found: list[str] = []
    found_below: list[str] = []
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = labels.VAT_ID.search(cell.text)
            if not match or is_buyer_cell(page, index, number):
                continue
            behind = cell.text[match.start() :]
            beside = line.cells[number + 1].text if number + 1 < len(line.cells) else ""
            for text in (behind, beside):
                ids = values.find_vat_ids(text)
                if not ids and labels.POLISH_TAX_ID.search(cell.text):
                    ids = values.find_polish_tax_ids(text)
                found += ids[:1]
                if ids:
                    break
            else:
                found_below += [
                    vat for text in list_texts_below(page, index, cell) for vat in values.find_vat_ids(text)
                ]
    distinct = list(dict.fromkeys(found or found_below))
    return distinct[0] if len(distinct) == 1 else None


def _find_iban(page: Sequence[TextLine]) -> str | None:
    """The first whose check digits are right: suppliers list several accounts of theirs, customers none."""
    for index, line in enumerate(page):
        for iban in values.find_ibans(line.text):
            if not any(labels.BUYER.search(cell.text) for cell in line.cells) and not is_buyer_cell(page, index, 0):
                return iban
    return None


# Where values stand


def _find_first_parsed(texts: Iterator[str], read: Callable[[str], T | None]) -> T | None:
    return next((found for text in texts if (found := read(text)) is not None), None)


def _list_texts_beside(page: Sequence[TextLine], label: re.Pattern[str]) -> Iterator[str]:
    """The texts that a label may speak of, likeliest first: behind it, to its right, below it."""
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = label.search(cell.text)
            if not match:
                continue
            rest = cell.text[match.end() :].strip(" :.#*\t")
            if rest:
                yield rest
                continue
            if number + 1 < len(line.cells) and not label.search(line.cells[number + 1].text):
                yield line.cells[number + 1].text.lstrip(" :")
            yield from list_texts_below(page, index, cell)


def _list_texts_below_labels(page: Sequence[TextLine], label: re.Pattern[str]) -> Iterator[str]:
    for index, line in enumerate(page):
        for cell in line.cells:
            if label.search(cell.text):
                yield from list_texts_below(page, index, cell)


def list_texts_below(page: Sequence[TextLine], index: int, cell: TextCell, rows: int = 1) -> Iterator[str]:
    """Texts of the next rows under a cell, as far down as a table's row or two."""
    seen = 0
    for line in page[index + 1 : index + 6]:
        if line.page != page[index].page or line.top - page[index].top > 4 * max(page[index].height, line.height):
            return
        under = [other for other in line.cells if min(other.right, cell.right) - max(other.left, cell.left) > 0]
        if under:
            yield under[0].text
            seen += 1
            if seen == rows:
                return
