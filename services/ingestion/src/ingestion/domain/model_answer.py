"""What a language model answered: read strictly, since whoever wrote the document may have had a part in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import orjson

from ingestion.domain.invoice import DOCUMENT_TYPES, Invoice, InvoiceLine
from ingestion.domain.model_question import INVOICE_FIELDS, LINE_FIELDS, OTHER

MAX_ANSWER_BYTES = 1024 * 1024
# Of one call, as a provider counts them: no model takes so many, and what says more may say anything.
_MAX_TOKENS = 1_000_000_000
_MAX_ANSWER_LETTERS = 200_000
_MAX_LINES = 500
_MAX_TEXT = 500
_DATES = frozenset({"issue_date", "due_date"})
_AMOUNTS = frozenset({"total_gross", "total_net", "total_tax", "amount_due"})
_MAX_DIGITS, _MAX_DECIMALS = 12, 8

T = TypeVar("T")


class ModelFailure(StrEnum):
    """Why the local reader's outcome stands."""

    REFUSED = "refused"  # the model declined to answer
    CUT_OFF = "cut_off"  # the answer was longer than it may be
    BROKEN = "broken"  # the answer has another form than was asked for
    UNAVAILABLE = "unavailable"  # unreachable, overloaded, or broken
    DENIED = "denied"  # the key is wrong, or may not use this model
    REJECTED = "rejected"  # the endpoint does not take such a request
    TOO_SLOW = "too_slow"  # no answer within the time of a document
    DOCUMENT_LIMIT = "document_limit"  # the document may cost more tokens or money than one may
    DAY_LIMIT = "day_limit"  # the tenant has used up its tokens or money of this day
    NOT_CHECKED = "not_checked"  # the parser process could not hold the answer against the page


def classify_status(status: int) -> ModelFailure:
    """What an error status of a model's endpoint means."""
    if status in (401, 403):
        return ModelFailure.DENIED
    return ModelFailure.UNAVAILABLE if status in (408, 409, 429) or status >= 500 else ModelFailure.REJECTED


def count_tokens(value: object) -> int:
    """A count of an untrusted answer, as the database can add it up: beyond a billion it is that."""
    return min(value, _MAX_TOKENS) if isinstance(value, int) and value >= 0 else 0


class ModelUnusable(Exception):
    """There is no answer that can be used. Its text has no part of the document."""

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(failure.value)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ModelTokens:
    """What a call cost, as the provider counts: `read` is all of the input, `cached` the part of it that was cheap."""

    read: int = 0
    cached: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back: a text, or why there is none; either way it was paid for."""

    text: str | None
    tokens: ModelTokens
    failure: ModelFailure | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """`document_type` None: nothing that the doc source is for. `invoice` is empty where no fields were asked."""

    document_type: str | None
    invoice: Invoice


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """Fields of an answer whose value does not stand on the page, and those of which the page has several."""

    unprinted: frozenset[str] = frozenset()
    ambiguous: frozenset[str] = frozenset()


def parse_answer(text: str, *, with_fields: bool) -> ModelAnswer:
    """
    Raises:
        ModelUnusable: it is not of the form that was asked for.
    """
    return read_form(text, partial(_read_answer, with_fields=with_fields))


def read_form(text: str, read: Callable[[Any], T]) -> T:
    """What `read` makes of an answer; it raises a ValueError or its like of another form than was asked for.

    Raises:
        ModelUnusable: it did.
    """
    try:
        if len(text) > _MAX_ANSWER_LETTERS:
            raise ValueError("the answer is too long")
        return read(orjson.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelUnusable(ModelFailure.BROKEN) from error


def _read_answer(answer: Mapping[str, Any], *, with_fields: bool) -> ModelAnswer:
    document_type = answer["document_type"]
    if document_type != OTHER and document_type not in DOCUMENT_TYPES:
        raise ValueError("there is no such type of document")
    kind = None if document_type == OTHER else document_type
    if not with_fields:
        return ModelAnswer(kind, Invoice())
    if answer["line_amounts"] not in ("net", "gross") or len(answer["lines"]) > _MAX_LINES:
        raise ValueError("the lines are not as asked for")
    fields: dict[str, Any] = {name: _read_field(name, answer[name]) for name in INVOICE_FIELDS}
    lines = tuple(_read_line(line) for line in answer["lines"])
    return ModelAnswer(kind, Invoice(**fields, lines=lines, line_amounts=answer["line_amounts"]))


def _read_field(name: str, value: object) -> str | date | Decimal | None:
    if name in _AMOUNTS:
        return read_number(value)
    text = read_text(value)
    if text is None or name not in _DATES:
        return text
    return date.fromisoformat(text)


def _read_line(line: Mapping[str, Any]) -> InvoiceLine:
    numbers = {name: read_number(line[name]) for name in LINE_FIELDS if name != "description"}
    return InvoiceLine(description=read_text(line["description"]), **numbers)


def read_text(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ValueError("a text is too long, or is none")
    # What Postgres cannot hold is on no page.
    return value.replace("\x00", "").strip() or None


def read_number(value: object) -> Decimal | None:
    text = read_text(value)
    if text is None:
        return None
    # No NaN, no infinity, and no exponent that writes out a gigabyte of zeros.
    whole, point, decimals = text.removeprefix("-").partition(".")
    if not _is_digits(whole, _MAX_DIGITS) or (point and not _is_digits(decimals, _MAX_DECIMALS)):
        raise ValueError("an amount is no plain number")
    return Decimal(text)


def _is_digits(text: str, at_most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= at_most
