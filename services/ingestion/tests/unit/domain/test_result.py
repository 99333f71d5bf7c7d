from typing import Any

from ingestion_fakes import NOW

from ingestion.domain.document import AttachmentId, DocumentId, DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.result import build_result
from mailroom_common.events import IngestionResult, ResultStatus

DONE = DocumentOutcome(status=ResultStatus.COMPLETED, document_type="invoice", extraction={"lines": []})


def result(**changed: Any) -> IngestionResult:
    usual: dict[str, Any] = {
        "attachment_id": AttachmentId("a1"),
        "document_id": DocumentId("a1"),
        "message_id": "m1",
        "tenant_id": "acme",
        "doc_source_id": "s1",
        "outcome": DONE,
        "number": 1,
        "attempt": 1,
        "occurred_at": NOW,
    }
    return build_result(**{**usual, **changed})


def test_a_repeat_has_the_same_event_id_and_a_later_result_or_another_attachment_has_not() -> None:
    assert result().event_id == result(outcome=DONE.with_archive_path("p"), attempt=2).event_id
    assert result().event_id != result(number=2).event_id
    assert result().event_id != result(attachment_id=AttachmentId("a2")).event_id


def test_only_a_further_attachment_is_a_duplicate() -> None:
    assert result().duplicate_of is None
    assert result(attachment_id=AttachmentId("a2")).duplicate_of == "a1"


def test_an_extraction_travels_as_json_and_a_missing_one_as_null() -> None:
    assert result().extraction == '{"lines":[]}'
    review = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.PASSWORD_REQUIRED)
    assert (result(outcome=review).extraction, result(outcome=review).reason) == (None, "password_required")
