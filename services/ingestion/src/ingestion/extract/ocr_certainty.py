"""Whether what was read off a picture is certain enough that no person has to look."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract import values

_CERTAIN = 0.9  # of the least certain word beside a value
_CERTAIN_NAME = 0.8  # a name with a wrong letter is still recognized; an amount is another one


def was_read_by_ocr(transcript: Transcript) -> bool:
    return any(cell.confidence < 1.0 for line in transcript.lines for cell in line.cells)


def find_uncertain_fields(invoice: Invoice, transcript: Transcript) -> list[str]:
    """The fields whose value stands nowhere but in words that were read with doubt, and a total that nothing confirms.

    A letter more or less, or a point taken for a comma, makes another amount that looks as good: a total has to be the
    sum of its parts, or be printed twice.
    """
    uncertain = [name for name, is_written, least in _list_checks(invoice) if _measure(transcript, is_written) < least]
    if invoice.total_gross is not None and not _is_confirmed(invoice.total_gross, invoice, transcript):
        uncertain.append("total_gross")
    return list(dict.fromkeys(uncertain))


def _list_checks(invoice: Invoice) -> Iterator[tuple[str, Callable[[str], bool], float]]:
    for name, text in (("invoice_number", invoice.invoice_number), ("vat_id", invoice.vat_id), ("iban", invoice.iban)):
        if text:
            yield name, _build_text_check(text), _CERTAIN
    if invoice.supplier_name:
        yield "supplier_name", _build_text_check(invoice.supplier_name), _CERTAIN_NAME
    for name, day in (("issue_date", invoice.issue_date), ("due_date", invoice.due_date)):
        # A due date may follow from the days that a page names.
        if day is not None and name == "issue_date":
            yield name, _build_date_check(day), _CERTAIN
    for name in ("total_gross", "total_net", "total_tax"):
        amount: Decimal | None = getattr(invoice, name)
        # What is not printed was computed of what is.
        if amount:
            yield name, _build_amount_check(amount), _CERTAIN if name == "total_gross" else 0.0


def _build_text_check(text: str) -> Callable[[str], bool]:
    wanted = _strip(text)
    return lambda written: bool(wanted) and wanted in _strip(written)


def _build_date_check(day: date) -> Callable[[str], bool]:
    return lambda written: any(
        found.resolve_date(day_first=day_first) == day
        for found in values.find_dates(written)
        for day_first in (True, False)
    )


def _build_amount_check(amount: Decimal) -> Callable[[str], bool]:
    return lambda written: any(abs(found) == abs(amount) for found in values.find_amounts(written))


def _measure(transcript: Transcript, is_written: Callable[[str], bool]) -> float:
    """How certain the best place is where a value is written: a cell, or several of a line."""
    cells = [cell.confidence for line in transcript.lines for cell in line.cells if is_written(cell.text)]
    if cells:
        return max(cells)
    return max((_measure_line(line.cells) for line in transcript.lines if is_written(line.text)), default=0.0)


def _measure_line(cells: tuple[TextCell, ...]) -> float:
    return min(cell.confidence for cell in cells)


def _is_confirmed(total: Decimal, invoice: Invoice, transcript: Transcript) -> bool:
    if invoice.totals_add_up() and invoice.total_tax:
        return True
    is_written = _build_amount_check(total)
    return sum(_is_written_in(line, is_written) for line in transcript.lines) > 1


def _is_written_in(line: TextLine, is_written: Callable[[str], bool]) -> bool:
    return any(is_written(cell.text) and cell.confidence >= _CERTAIN for cell in line.cells)


def _strip(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
