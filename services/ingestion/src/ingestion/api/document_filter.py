"""The filters of the list of documents and of its export."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from fastapi import Query

from ingestion.api.currency_fields import CurrencyCode
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason, parse_reason
from ingestion.domain.search_words import fold_words
from ingestion.ports.documents import DocumentFilter
from mailroom_common.api_requests import DocSourceFilter, refuse_value, require_range
from mailroom_common.events import Profile, ResultStatus

_MAX_WORDS = 10

_Words = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="Whole words, in any order; accents and case do not count."),
]
_Amount = Annotated[Decimal | None, Query(max_digits=20, decimal_places=6, allow_inf_nan=False)]
# All that a document may be: a test compares it with the domain's.
DocumentType = Literal[
    "invoice", "credit_note", "corrected_invoice", "contract_note", "activity_statement", "observation"
]


def read_filter(
    doc_source_id: DocSourceFilter = None,
    status: ResultStatus | None = None,
    content_sha256: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
    profile: Profile | None = None,
    document_type: DocumentType | None = None,
    reason: Annotated[str | None, Query(max_length=100, description="A skip or review reason.")] = None,
    supplier: _Words = None,
    number: Annotated[str | None, Query(min_length=1, max_length=200, description="The whole number.")] = None,
    text: _Words = None,
    amount_from: _Amount = None,
    amount_to: _Amount = None,
    currency: Annotated[CurrencyCode | None, Query(description="Of the amounts asked for.")] = None,
    issued_from: date | None = None,
    issued_to: date | None = None,
    possible_duplicate: Annotated[
        bool | None, Query(description="Whether another document has its supplier, number, date and total.")
    ] = None,
) -> DocumentFilter:
    """A dependency: the filters as query parameters. `text` looks into the mail's sender, subject and file name, and
    what was read of the document.

    Raises:
        HTTPProblem: 422, for a filter that nothing can match or that has no index.
    """
    _require_words("supplier", supplier)
    _require_words("text", text)
    require_known_reason(reason)
    require_range("amount_from", amount_from, "amount_to", amount_to)
    require_range("issued_from", issued_from, "issued_to", issued_to)
    if currency is not None and amount_from is None and amount_to is None:
        raise refuse_value("currency", "it needs an amount: give amount_from or amount_to with it")
    return DocumentFilter(
        doc_source_id=None if doc_source_id is None else str(doc_source_id),
        status=status,
        content_sha256=content_sha256,
        profile=profile,
        document_type=document_type,
        reason=reason,
        supplier=supplier,
        number=number,
        text=text,
        amount_from=amount_from,
        amount_to=amount_to,
        currency=currency,
        issued_from=issued_from,
        issued_to=issued_to,
        possible_duplicate=possible_duplicate,
    )


def _require_words(name: str, words: str | None) -> None:
    if words is None:
        return
    folded = fold_words(words)
    if not folded or len(folded) > _MAX_WORDS:
        raise refuse_value(name, f"one to {_MAX_WORDS} words of letters or digits are needed")


def require_known_reason(reason: str | None, *, place: str = "query") -> None:
    """
    Raises:
        HTTPProblem: 422, for what is neither a skip reason nor a review reason; it lists all of them.
    """
    if reason is None:
        return
    try:
        parse_reason(reason)
    except ValueError:
        there_are = ", ".join(sorted({*DocumentSkipReason, *ReviewReason}))
        raise refuse_value("reason", f"there is no such reason. There are {there_are}", place=place) from None
