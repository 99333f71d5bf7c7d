"""The filters of the list of documents and of its export."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from fastapi import Query

from ingestion.domain.reasons import parse_reason
from ingestion.domain.search_words import fold_words
from ingestion.ports.documents import DocumentFilter
from mailroom_common.api_requests import DocSourceFilter
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.web import HTTPProblem

_MAX_WORDS = 10

_Words = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="Whole words, in any order; accents and case do not count."),
]
_Amount = Annotated[Decimal | None, Query(max_digits=20, decimal_places=6, allow_inf_nan=False)]
_Name = Annotated[str | None, Query(min_length=1, max_length=200)]


def read_filter(
    doc_source_id: DocSourceFilter = None,
    status: ResultStatus | None = None,
    content_sha256: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
    profile: Profile | None = None,
    document_type: _Name = None,
    reason: Annotated[str | None, Query(max_length=100, description="A skip or review reason.")] = None,
    supplier: _Words = None,
    number: Annotated[str | None, Query(min_length=1, max_length=200, description="The whole number.")] = None,
    text: _Words = None,
    amount_from: _Amount = None,
    amount_to: _Amount = None,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$", description="Of the amounts asked for.")] = None,
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
    for words in (supplier, text):
        _require_words(words)
    require_known_reason(reason)
    if currency is not None and amount_from is None and amount_to is None:
        raise HTTPProblem(422, "currency needs an amount", "Give amount_from or amount_to with it.")
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


def _require_words(words: str | None) -> None:
    if words is None:
        return
    folded = fold_words(words)
    if not folded or len(folded) > _MAX_WORDS:
        raise HTTPProblem(422, "These are no words to look for", f"One to {_MAX_WORDS} words of letters or digits.")


def require_known_reason(reason: str | None) -> None:
    """
    Raises:
        HTTPProblem: 422, for what is neither a skip reason nor a review reason.
    """
    if reason is None:
        return
    try:
        parse_reason(reason)
    except ValueError:
        raise HTTPProblem(422, "There is no such reason", "docs/reference.md lists them.") from None
