"""Whether what was read off a picture is certain enough that no person has to look."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal

from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import Trade
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract import values

_CERTAIN = 0.96  # of the least certain word that says a value; on blurred receipts wrong ones have up to 0.95
_MAX_WORDS = 60  # of a line; of a longer one all count
_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_CERTAIN_NAME = 0.97  # nothing else confirms a name: no sum, no check digit


def was_read_by_ocr(transcript: Transcript) -> bool:
    return any(cell.confidence < 1.0 for line in transcript.lines for cell in line.cells)


def find_uncertain_fields(invoice: Invoice, transcript: Transcript) -> list[str]:
    """The fields whose value stands nowhere but in words that were read with doubt, and a total that nothing confirms.

    A letter more or less, or a point taken for a comma, makes another amount that looks as good: a total has to be the
    sum of its parts, or be printed twice.
    """
    # No sum and no check digit says whether a name is right: of an unclear page none is believed.
    is_unclear = ReviewReason.OCR_UNCERTAIN in transcript.unread
    uncertain = ["supplier_name"] if is_unclear else []
    uncertain += [name for name, is_written, least in _list_checks(invoice) if _measure(transcript, is_written) < least]
    if invoice.total_gross is not None and not _is_confirmed(invoice.total_gross, invoice, transcript):
        uncertain.append("total_gross")
    return list(dict.fromkeys(uncertain))


def find_uncertain_trade_values(trade: Trade, transcript: Transcript) -> list[str]:
    """The same for a trade. Its arithmetic proves quantity, price and amounts, and neither what was traded nor when."""
    return [name for name, is_written in _list_trade_checks(trade) if _measure(transcript, is_written) < _CERTAIN]


def _list_trade_checks(trade: Trade) -> Iterator[tuple[str, Callable[[str], bool]]]:
    for name in ("isin", "wkn", "ticker", "account", "reference"):
        if text := getattr(trade, name):
            yield name, _build_text_check(text)
    if trade.trade_date is not None:
        yield "trade_date", _build_date_check(trade.trade_date)
    if trade.quantity is not None:
        yield "quantity", _build_number_check(trade.quantity)
    if trade.settled_amount is not None:
        yield "settled_amount", _build_number_check(trade.settled_amount)


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
    wanted = values.fold_number(text)
    return lambda written: bool(wanted) and wanted in values.fold_number(written)


def _build_date_check(day: date) -> Callable[[str], bool]:
    return lambda written: any(
        found.resolve_date(day_first=day_first) == day
        for found in values.find_dates(written)
        for day_first in (True, False)
    )


def _build_amount_check(amount: Decimal) -> Callable[[str], bool]:
    return lambda written: any(abs(found) == abs(amount) for found in values.find_amounts(written))


def _build_number_check(number: Decimal) -> Callable[[str], bool]:
    """Of as many decimals as there may be: a quantity has more than money."""
    wanted = abs(number)
    return lambda written: any(wanted in _list_values(found) for found in _NUMBER.findall(written))


def _list_values(written: str) -> tuple[Decimal, ...]:
    """What a number says whose last mark parts its decimals, and what it says if it does not."""
    *whole, last = re.split(r"\D", written)
    return (Decimal("".join([*whole, last])), Decimal(f"{''.join(whole) or '0'}.{last}"))


def _measure(transcript: Transcript, is_written: Callable[[str], bool]) -> float:
    """How certain the best place is where a value is written: in a cell, or in several of a line."""
    cells = [_measure_words([cell], is_written) for cell in _list_cells(transcript) if is_written(cell.text)]
    if cells:
        return max(cells)
    return max(
        (_measure_words(line.cells, is_written) for line in transcript.lines if is_written(line.text)), default=0.0
    )


def _list_cells(transcript: Transcript) -> Iterator[TextCell]:
    return (cell for line in transcript.lines for cell in line.cells)


def _measure_words(cells: Sequence[TextCell], is_written: Callable[[str], bool]) -> float:
    """How certain the least certain word is of those that say the value: what stands beside them does not count."""
    words = [word for cell in cells for word in cell.list_words()]
    if len(words) <= _MAX_WORDS:
        while len(words) > 1 and is_written(_join(words[1:])):
            del words[0]
        while len(words) > 1 and is_written(_join(words[:-1])):
            del words[-1]
    return min((confidence for _, confidence in words), default=0.0)


def _join(words: Sequence[tuple[str, float]]) -> str:
    return " ".join(word for word, _ in words)


def _is_confirmed(total: Decimal, invoice: Invoice, transcript: Transcript) -> bool:
    if invoice.totals_add_up() and invoice.total_tax:
        return True
    is_written = _build_amount_check(total)
    return sum(_is_written_in(line, is_written) for line in transcript.lines) > 1


def _is_written_in(line: TextLine, is_written: Callable[[str], bool]) -> bool:
    return any(is_written(cell.text) and _measure_words([cell], is_written) >= _CERTAIN for cell in line.cells)
