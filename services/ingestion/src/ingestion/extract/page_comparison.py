"""Whether the page of an e-invoice says what its XML says: where they differ nobody may pay it unseen."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import Transcript
from ingestion.extract import values
from ingestion.extract.layout_rules import limit_lines
from ingestion.extract.supplier import find_supplier_name, normalize_name


def find_contradictions(invoice: Invoice, transcript: Transcript) -> list[str]:
    """The fields of the XML that the page contradicts. What a page does not print at all cannot be compared."""
    if not transcript.lines:
        return []
    return list(_list_contradictions(invoice, transcript))


def _list_contradictions(invoice: Invoice, transcript: Transcript) -> Iterator[str]:
    text = transcript.text
    if invoice.invoice_number and _strip_punctuation(invoice.invoice_number) not in _strip_punctuation(text):
        yield "invoice_number"
    if invoice.issue_date and (printed := _read_dates(text)) and invoice.issue_date not in printed:
        yield "issue_date"
    if invoice.due_date and (printed := _read_dates(text)) and invoice.due_date not in printed:
        yield "due_date"
    amounts = _read_amounts(transcript)
    for name, amount in (("total_gross", invoice.total_gross), ("total_net", invoice.total_net)):
        if amount is not None and amounts and amount not in amounts:
            yield name
    if not _may_name_supplier(invoice, transcript):
        yield "supplier_name"


def _may_name_supplier(invoice: Invoice, transcript: Transcript) -> bool:
    """Whether the page may be of the supplier that the XML names: layouts that hide the name are no contradiction, a
    head that names somebody else is one."""
    if not invoice.supplier_name:
        return True
    ours = normalize_name(invoice.supplier_name)
    lines = limit_lines(transcript)
    head = _strip_punctuation(" ".join(line.text for line in lines if line.page == 0)[: len(transcript.text) // 2])
    if ours in head:
        return True
    named = find_supplier_name(lines)
    return named is None or normalize_name(named) in ours or ours in normalize_name(named)


def _read_dates(text: str) -> set[date]:
    """Every reading of every date: which of two orders is meant does not matter here."""
    return {
        found
        for written in values.find_dates(text)
        for day_first in (True, False)
        if (found := written.resolve_date(day_first=day_first)) is not None
    }


def _read_amounts(transcript: Transcript) -> set[Decimal]:
    return {amount for line in transcript.lines for cell in line.cells for amount in values.find_amounts(cell.text)}


def _strip_punctuation(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
