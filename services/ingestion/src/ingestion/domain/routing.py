"""Where a document goes once it is read: done, to a person, or aside."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ingestion.domain.content import PDF
from ingestion.domain.document import Outcome
from ingestion.domain.invoice import Invoice
from mailroom_common.events import Profile, ResultStatus

# Words of `skip_reason` and `review_reason`, which people and programs read.
NOT_AN_INVOICE = "not_an_invoice"
NOT_A_DOCUMENT = "not_a_document"
UNREADABLE = "unreadable"
ENCRYPTED = "encrypted"
NO_TEXT_LAYER = "no_text_layer"
IMAGE_NEEDS_OCR = "image_needs_ocr"
PAGE_AND_XML_DISAGREE = "page_and_xml_disagree"
FIELDS_MISSING = "fields_missing"
TOTALS_DO_NOT_ADD_UP = "totals_do_not_add_up"
EXTRACTION_TOO_LARGE = "extraction_too_large"
NO_READER_YET = "no_reader_yet"
ARCHIVE_REFUSED = "archive_refused"
READER_LIMIT = "reader_limit"
READER_CRASHED = "reader_crashed"
BLOB_MISSING = "blob_missing"
BLOB_MISMATCH = "blob_mismatch"
INTERNAL_ERROR = "internal_error"

# Without these nobody can book an invoice, so without them nobody but a person says it is done.
_NEEDED = ("supplier_name", "invoice_number", "issue_date", "currency", "total_gross")

# Kafka takes records of 1 MB, and a result is more than its extraction.
_MAX_EXTRACTION_BYTES = 800_000


@dataclass(frozen=True, slots=True)
class Classification:
    """`document_type` None: not what this doc source is for."""

    document_type: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor read. `doubts` names fields that the document contradicts itself about."""

    document_type: str
    fields: Mapping[str, Any]
    confidence: float
    reader: str
    doubts: tuple[str, ...] = ()


def unread(reason: str) -> Outcome:
    """The end of a file that a reader refused."""
    status = ResultStatus.SKIPPED if reason == NOT_A_DOCUMENT else ResultStatus.NEEDS_REVIEW
    return Outcome(status=status, reason=reason)


def without_text(content_type: str) -> Outcome:
    return unread(NO_TEXT_LAYER if content_type == PDF else IMAGE_NEEDS_OCR)


def no_reader(profile: Profile) -> Outcome | None:
    """An honest end for what has no reader yet, None where there is one."""
    if profile is Profile.INVOICE:
        return None
    return Outcome(status=ResultStatus.NEEDS_REVIEW, reason=NO_READER_YET, document_type=profile.value)


def not_an_invoice(classification: Classification) -> Outcome:
    return Outcome(status=ResultStatus.SKIPPED, reason=NOT_AN_INVOICE, confidence=classification.confidence)


def not_archived(outcome: Outcome) -> Outcome:
    """The end of a document whose copy the archive never takes: a person sees to the copy. A doubt about what was read
    stays the reason, since it needs that person more."""
    if outcome.status is ResultStatus.NEEDS_REVIEW and outcome.reason != NO_READER_YET:
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ARCHIVE_REFUSED)


def route(extraction: Extraction) -> Outcome:
    """Completed only when nothing is missing, nothing contradicts, and the totals add up as far as they are known.

    What is too large to be told is left out whole: with lines cut off it would say something else.
    """
    if len(orjson.dumps(extraction.fields)) > _MAX_EXTRACTION_BYTES:
        return Outcome(
            status=ResultStatus.NEEDS_REVIEW,
            reason=EXTRACTION_TOO_LARGE,
            document_type=extraction.document_type,
            reader=extraction.reader,
        )
    reason = _why_not_done(extraction)
    return Outcome(
        status=ResultStatus.COMPLETED if reason is None else ResultStatus.NEEDS_REVIEW,
        reason=reason,
        document_type=extraction.document_type,
        extraction=extraction.fields,
        confidence=extraction.confidence,
        reader=extraction.reader,
    )


def _why_not_done(extraction: Extraction) -> str | None:
    if extraction.doubts:
        return PAGE_AND_XML_DISAGREE
    if any(extraction.fields.get(name) is None for name in _NEEDED):
        return FIELDS_MISSING
    if Invoice.from_json(extraction.fields).adds_up() is False:
        return TOTALS_DO_NOT_ADD_UP
    return None
