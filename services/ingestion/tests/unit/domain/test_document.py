from datetime import timedelta

import pytest
from ingestion_fakes import build_attachment

from ingestion.domain.document import AttemptPolicy, DocumentOutcome
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from mailroom_common.events import ResultStatus

POLICY = AttemptPolicy(max_attempts=3, first_pause=timedelta(seconds=5), longest_pause=timedelta(seconds=60))


def test_pauses_double_up_to_the_longest() -> None:
    assert [POLICY.pause_after(n).total_seconds() for n in (1, 2, 3, 5, 50)] == [5, 10, 20, 60, 60]


def test_the_last_attempt_is_the_last() -> None:
    assert [POLICY.is_spent(n) for n in (1, 2, 3, 4)] == [False, False, True, True]


@pytest.mark.parametrize("status", [ResultStatus.PENDING, ResultStatus.PROCESSING])
def test_only_a_final_status_is_an_outcome(status: ResultStatus) -> None:
    with pytest.raises(ValueError, match="no final state"):
        DocumentOutcome(status=status, reason=ReviewReason.INTERNAL_ERROR)


def test_every_outcome_but_completed_has_a_reason_of_its_own_kind() -> None:
    with pytest.raises(ValueError, match="reason"):
        DocumentOutcome(status=ResultStatus.SKIPPED)
    with pytest.raises(ValueError, match="reason"):
        DocumentOutcome(status=ResultStatus.COMPLETED, reason=ReviewReason.INTERNAL_ERROR)
    with pytest.raises(ValueError, match="no reason for"):
        DocumentOutcome(status=ResultStatus.SKIPPED, reason=ReviewReason.PASSWORD_REQUIRED)
    with pytest.raises(ValueError, match="no reason for"):
        DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=DocumentSkipReason.NOT_AN_INVOICE)


def test_a_failed_document_shows_its_reason_where_a_person_looks() -> None:
    failed = DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.BLOB_MISSING)
    assert (failed.review_reason, failed.skip_reason) == ("blob_missing", None)


def test_source_metadata_has_the_names_of_the_design() -> None:
    assert build_attachment(received_at=None).build_source_metadata() == {
        "provider": "gmail",
        "message_id": "message-1",
        "internet_message_id": "<m1@x.example>",
        "from": "billing@shop.example",
        "subject": "Your invoice",
        "received_at": None,
        "attachment_filename": "invoice.pdf",
    }
