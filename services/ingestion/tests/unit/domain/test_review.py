from dataclasses import replace
from typing import Any

import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.review import HistoryKind, Review, ReviewAction, ReviewRefused, decide
from mailroom_common.events import Profile, ResultStatus

FIELDS: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "19.00",
    "total_net": "100.00",
    "total_tax": "19.00",
}
DOUBTFUL = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW,
    reason=ReviewReason.TOTALS_DO_NOT_ADD_UP,
    document_type="invoice",
    extraction={**FIELDS, "page_values": {"iban": "DE1"}, "model_values": {"iban": "DE2"}},
    confidence=0.6,
    reader="layout-rules/1",
    archive_path="archive/1.pdf",
)
UNREAD = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.9)


def build_review(action: ReviewAction, **fields: Any) -> Review:
    return Review(action=action, version=1, fields=fields, api_key_id="00")


def test_confirming_completes_what_was_read_and_settles_what_page_and_xml_said() -> None:
    decision = decide(build_review(ReviewAction.CONFIRM), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS)
    assert decision.kind is HistoryKind.CONFIRMED
    assert decision.outcome == replace(DOUBTFUL, status=ResultStatus.COMPLETED, reason=None, extraction=FIELDS)


def test_confirming_what_was_skipped_leaves_it_skipped() -> None:
    assert decide(build_review(ReviewAction.CONFIRM), SKIPPED, profile=Profile.INVOICE, read=None).outcome == SKIPPED


def test_nobody_confirms_what_was_not_read() -> None:
    with pytest.raises(ReviewRefused, match="Nothing was read"):
        decide(build_review(ReviewAction.CONFIRM), UNREAD, profile=Profile.INVOICE, read=None)


def test_rejecting_keeps_what_was_read_and_its_copy() -> None:
    outcome = decide(build_review(ReviewAction.REJECT), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert (outcome.status, outcome.reason) == (ResultStatus.SKIPPED, DocumentSkipReason.REJECTED)
    assert (outcome.extraction, outcome.archive_path) == (DOUBTFUL.extraction, "archive/1.pdf")


def test_a_correction_that_makes_it_whole_completes_it_and_says_what_it_changed() -> None:
    review = build_review(ReviewAction.CORRECT, total_gross="119.00", currency="EUR")
    decision = decide(review, DOUBTFUL, profile=Profile.INVOICE, read={**FIELDS, "total_gross": "1.90"})
    assert decision.outcome.status is ResultStatus.COMPLETED
    assert decision.outcome.extraction == {**FIELDS, "total_gross": "119.00"}
    assert (decision.outcome.reader, decision.outcome.confidence) == ("layout-rules/1", 0.6)
    assert decision.outcome.archive_path == "archive/1.pdf"
    assert [change.to_json() for change in decision.changes] == [
        {"field": "total_gross", "read": "1.90", "former": "19.00", "given": "119.00"}
    ]


def test_a_correction_with_a_slip_stays_in_review() -> None:
    review = build_review(ReviewAction.CORRECT, total_gross="191.00")
    outcome = decide(review, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.TOTALS_DO_NOT_ADD_UP)
    assert outcome.extraction is not None
    assert outcome.extraction["total_gross"] == "191.00"


@pytest.mark.parametrize("standing", [UNREAD, SKIPPED], ids=["unread", "skipped"])
def test_a_person_gives_the_fields_of_what_no_reader_read(standing: DocumentOutcome) -> None:
    given = {**FIELDS, "total_gross": "119.00"}
    outcome = decide(build_review(ReviewAction.CORRECT, **given), standing, profile=Profile.INVOICE, read=None).outcome
    assert (outcome.status, outcome.document_type) == (ResultStatus.COMPLETED, "invoice")
    assert (outcome.extraction, outcome.confidence) == (given, standing.confidence)


def test_a_changed_document_type_is_evidence_too() -> None:
    review = replace(build_review(ReviewAction.CORRECT), document_type="credit_note")
    decision = decide(review, DOUBTFUL, profile=Profile.INVOICE, read={**FIELDS, "document_type": "invoice"})
    assert decision.outcome.document_type == "credit_note"
    assert [change.to_json() for change in decision.changes] == [
        {"field": "document_type", "read": "invoice", "former": "invoice", "given": "credit_note"}
    ]


def test_a_correction_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ReviewRefused, match="says this already"):
        decide(build_review(ReviewAction.CORRECT, currency="EUR"), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS)


def test_the_fields_of_a_contract_note_are_not_corrected() -> None:
    with pytest.raises(ReviewRefused, match="contract_note"):
        decide(build_review(ReviewAction.CORRECT, currency="USD"), UNREAD, profile=Profile.CONTRACT_NOTE, read=None)
