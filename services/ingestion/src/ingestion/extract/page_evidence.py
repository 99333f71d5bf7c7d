"""Whether a language model's values stand on the page: run in the parser process, since both are untrusted."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, BinaryIO

import orjson

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import values
from ingestion.extract.layout_rules import limit_lines
from ingestion.extract.parties.tax_ids import compare_tax_ids, find_tax_ids
from ingestion.extract.titles.other_titles import asks_for_nothing_new
from mailroom_common.parser import JSON

_SHORTEST_CODE = 8
_AMOUNTS = ("total_gross", "total_net", "total_tax", "amount_due")


def check_invoice(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`unprinted` has the names of fields whose value is nowhere on the page, `ambiguous` those of which it has
    several, or says nothing."""
    asked = orjson.loads(file.read())
    page = limit_lines(Transcript.from_json(asked["transcript"]))
    invoice = Invoice.from_json(asked["invoice"])
    return {"unprinted": list(find_unprinted(invoice, page)), "ambiguous": list(_find_ambiguous(invoice, page))}


def _find_ambiguous(invoice: Invoice, page: Sequence[TextLine]) -> Iterator[str]:
    if len({iban for line in page for iban in values.find_ibans(line.text)}) > 1:
        yield "iban"
    # Zero is seldom printed (no tax, nothing due), and stands in many numbers: whether it does, says nothing. Neither
    # does what a reminder asks for again: booked as an invoice it would be paid twice.
    unclear = asks_for_nothing_new(page)
    yield from (name for name in _AMOUNTS if unclear or getattr(invoice, name) == 0)


def find_unprinted(invoice: Invoice, page: Sequence[TextLine]) -> Iterator[str]:
    text = "\n".join(line.text for line in page)
    words, letters = split_words(text), _strip_punctuation(text)
    if invoice.supplier_name and split_words(invoice.supplier_name) not in words:
        yield "supplier_name"
    # Whole, with its prefix: `17` of `RE-2026/17` would be another number, and stands in many dates too.
    if invoice.invoice_number and split_tokens(invoice.invoice_number) not in split_tokens(text):
        yield "invoice_number"
    yield from (name for name in ("vat_id", "iban") if _is_code_unprinted(name, getattr(invoice, name), letters, page))
    dates = values.list_possible_dates(text)
    yield from (name for name in ("issue_date", "due_date") if (day := getattr(invoice, name)) and day not in dates)
    amounts = _read_amounts(page)
    for name in _AMOUNTS:
        amount: Decimal | None = getattr(invoice, name)
        if amount and amount not in amounts:
            yield name
    if invoice.currency and invoice.currency not in read_currencies(page):
        yield "currency"
    if any(not _is_line_printed(line.description, line.amount, words, amounts) for line in invoice.lines):
        yield "lines"


def _is_code_unprinted(name: str, code: str | None, letters: str, page: Sequence[TextLine]) -> bool:
    """Written in groups, or not; long enough to be found by chance nowhere; and whole: half of an account or of a tax
    number stands on its page too."""
    if not code:
        return False
    plain = _strip_punctuation(code)
    if len(plain) < _SHORTEST_CODE or plain not in letters:
        return True
    if name == "iban":
        return next(values.find_ibans(plain.upper()), "").lower() != plain
    printed = [tax_id.lower() for line in page for tax_id in find_tax_ids(line.text)]
    return any(plain in tax_id and not compare_tax_ids(plain, tax_id) for tax_id in printed)


def _is_line_printed(description: str | None, amount: Decimal | None, words: str, amounts: set[Decimal]) -> bool:
    # A long description runs over several lines of a cell, between which other columns stand.
    printed = all(f" {word} " in words for word in split_words(description or "").split())
    return printed and (amount is None or amount in amounts)


def split_words(text: str) -> str:
    """The words, lower case, with one blank around each; punctuation parts them."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " " + " ".join("".join(sign if sign.isalnum() else " " for sign in plain).split()) + " "


def split_tokens(text: str) -> str:
    """What blanks part, lower case, with one blank around each; punctuation within stays, that around it goes."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace(":", " ").replace("#", " ")
    return " " + " ".join(token.strip(".,;()[]") for token in plain.split()) + " "


def _strip_punctuation(text: str) -> str:
    return split_words(text).replace(" ", "")


def _read_amounts(page: Sequence[TextLine]) -> set[Decimal]:
    return {amount for line in page for cell in line.cells for amount in values.find_amounts(cell.text)}


def read_currencies(page: Sequence[TextLine]) -> set[str]:
    named = {code for line in page for code in values.find_currencies(line.text)}
    settled = values.determine_currency(line.text for line in page)
    return named | ({settled} if settled else set())
