"""Where a document goes once it was read: completed, to a person, or skipped, always with the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.invoice import PAGE_TOTALS, Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason, parse_reason
from ingestion.domain.supplier_accounts import fold_look_of_name
from ingestion.domain.trade import TRADE_DOCUMENT_TYPES
from ingestion.domain.trade_routing import find_trade_review_reason
from ingestion.domain.transcript import CONTAINER_EXTENSIONS, PDF, Transcript
from mailroom_common.events import Profile, ResultStatus

# Without these nobody can book an invoice, so without them only a person may say that it is complete.
_REQUIRED_FIELDS = ("supplier_name", "invoice_number", "issue_date", "currency", "total_gross")

# An XML that cannot be read, or is one of several, may say something else than what was read, and be paid by.
# So may a page whose letters nobody sees.
# Of PDFs that were joined as files only the last one was read.
_FOR_A_PERSON = frozenset(
    {
        ReviewReason.XML_UNREADABLE,
        ReviewReason.SEVERAL_E_INVOICES,
        ReviewReason.SEVERAL_INVOICES,
        ReviewReason.TEXT_NOT_VISIBLE,
    }
)

# These may go without anybody's help: the copy that is missing would be forgotten with them.
_WEIGH_LESS_THAN_A_COPY = frozenset(
    {ReviewReason.NO_READER_YET, ReviewReason.IBAN_NOT_ON_PAGE, ReviewReason.SUPPLIER_UNCERTAIN}
)
# What an earlier document of the supplier settles. Nothing else is doubted of one that has such a reason, so they are
# the last that are looked at.
SETTLED_BY_EARLIER = frozenset({ReviewReason.IBAN_NOT_ON_PAGE, ReviewReason.SUPPLIER_UNCERTAIN})

# Kafka takes records of 1 MB, and a result is more than its extraction.
_MAX_EXTRACTION_BYTES = 800_000


@dataclass(frozen=True, slots=True)
class Classification:
    """`document_type` None: nothing that this doc source is for."""

    document_type: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor read.

    `doubts` names fields that the document contradicts itself about, or what its trades do not account for;
    `review_reason` is the reader's own reason for a review: OCR was not certain, say, or somebody marked the page.
    `boxes` are the places of the values.
    """

    document_type: str
    fields: Mapping[str, Any]
    confidence: float
    reader: str
    doubts: tuple[str, ...] = ()
    review_reason: ReviewReason | None = None
    boxes: tuple[EvidenceBox, ...] = ()


def route_unreadable(reason: str) -> DocumentOutcome:
    """The outcome of a file that a reader refused, by the reader's reason."""
    parsed = parse_reason(reason)
    is_skipped = isinstance(parsed, DocumentSkipReason)
    return DocumentOutcome(status=ResultStatus.SKIPPED if is_skipped else ResultStatus.NEEDS_REVIEW, reason=parsed)


def route_container(content_type: str) -> DocumentOutcome | None:
    """The outcome of what sync-engine could not open; None where it is a document. Its record says so: an attached mail
    looks like any text."""
    return route_unreadable(ReviewReason.CONTAINER_UNREADABLE) if content_type in CONTAINER_EXTENSIONS else None


def route_without_text(transcript: Transcript) -> DocumentOutcome:
    without_text = ReviewReason.NO_TEXT_LAYER if transcript.content_type == PDF else ReviewReason.IMAGE_NEEDS_OCR
    reason = next(iter(transcript.unread), without_text)
    return DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=reason)


def route_without_reader(profile: Profile) -> DocumentOutcome | None:
    """The outcome of a document of a profile that has no reader yet; None where there is one."""
    if profile is not Profile.OBSERVATION:
        return None
    return DocumentOutcome(
        status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_READER_YET, document_type=profile.value
    )


def route_unwanted(profile: Profile, classification: Classification, transcript: Transcript) -> DocumentOutcome:
    """Skipped only if all that the file holds was read: what could not be read may be an invoice, or a trade."""
    if transcript.unread:
        return DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=transcript.unread[0])
    is_for_trades = profile is Profile.CONTRACT_NOTE
    reason = DocumentSkipReason.NO_TRADE if is_for_trades else DocumentSkipReason.NOT_AN_INVOICE
    return DocumentOutcome(status=ResultStatus.SKIPPED, reason=reason, confidence=classification.confidence)


def route_archive_refusal(outcome: DocumentOutcome) -> DocumentOutcome:
    """The outcome of a document whose copy the archive never takes: a person sees to the copy.

    A doubt about what was read stays the reason, since it needs that person more.
    """
    if outcome.status is ResultStatus.NEEDS_REVIEW and outcome.reason not in _WEIGH_LESS_THAN_A_COPY:
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.ARCHIVE_REFUSED)


def route_extraction(extraction: Extraction, unread: Sequence[ReviewReason] = ()) -> DocumentOutcome:
    """Completed only when nothing is missing, nothing contradicts, and the totals add up as far as they are known.

    `unread` is why the file may hold more than was read: what is missing is likely to be there.

    What is too large for a result is left out whole: with some lines cut off it would be another invoice.
    """
    if extraction.fields.get("total_gross") is not None and PAGE_TOTALS in extraction.fields:
        # Another reader is sure of the total.
        fields = {name: value for name, value in extraction.fields.items() if name != PAGE_TOTALS}
        extraction = replace(extraction, fields=fields)
    if len(orjson.dumps(extraction.fields)) > _MAX_EXTRACTION_BYTES:
        return DocumentOutcome(
            status=ResultStatus.NEEDS_REVIEW,
            reason=ReviewReason.EXTRACTION_TOO_LARGE,
            document_type=extraction.document_type,
            reader=extraction.reader,
        )
    reason = _find_review_reason(extraction, unread)
    return DocumentOutcome(
        status=ResultStatus.COMPLETED if reason is None else ResultStatus.NEEDS_REVIEW,
        reason=reason,
        document_type=extraction.document_type,
        extraction=extraction.fields,
        confidence=extraction.confidence,
        reader=extraction.reader,
        boxes=extraction.boxes,
    )


def _is_field_missing(fields: Mapping[str, Any]) -> bool:
    # A name without a letter names nobody, whose account could then be compared with none.
    names_nobody = not fold_look_of_name(str(fields.get("supplier_name") or ""))
    return names_nobody or any(fields.get(name) is None for name in _REQUIRED_FIELDS)


def _name_missing(fields: Mapping[str, Any]) -> ReviewReason:
    """Where nothing is missing but a total that the page names, and its own amounts speak against, they are the reason:
    it is missing still, so that no other reader, person or rule takes it for one that was read."""
    is_named = bool(fields.get(PAGE_TOTALS)) and not _is_field_missing({**fields, **fields[PAGE_TOTALS]})
    return ReviewReason.TOTALS_DO_NOT_ADD_UP if is_named else ReviewReason.FIELDS_MISSING


def _find_review_reason(extraction: Extraction, unread: Sequence[ReviewReason]) -> ReviewReason | None:
    if extraction.document_type in TRADE_DOCUMENT_TYPES:
        return find_trade_review_reason(extraction.fields, extraction.doubts, unread) or extraction.review_reason
    if extraction.doubts:
        return ReviewReason.PAGE_AND_XML_DISAGREE
    if (trouble := next((reason for reason in unread if reason in _FOR_A_PERSON), None)) is not None:
        return trouble
    if extraction.review_reason is not None and extraction.review_reason not in SETTLED_BY_EARLIER:
        return extraction.review_reason
    if _is_field_missing(extraction.fields):
        return next(iter(unread), _name_missing(extraction.fields))
    if Invoice.from_json(extraction.fields).totals_add_up() is False:
        return ReviewReason.TOTALS_DO_NOT_ADD_UP
    return extraction.review_reason
