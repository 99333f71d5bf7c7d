from typing import Any

import orjson
from ingestion_fakes import NOW, build_trade

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


def test_a_trade_says_what_it_is_in_the_ledger_and_one_that_is_taken_back_is_left_out() -> None:
    stated = [build_trade(is_cancellation=True).to_json(), build_trade().to_json()]
    note = DocumentOutcome(status=ResultStatus.COMPLETED, extraction={"trades": stated})
    mark = {"trade_id": "t1", "state": "duplicate", "duplicate_of": "t0", "cancelled_by": None}
    (marked,) = result(outcome=note, ledger_states={0: {}, 1: mark}).trades
    assert orjson.loads(marked) == {**stated[1], **mark}
    (unmarked,) = result(outcome=note).trades
    assert orjson.loads(unmarked) == {**stated[1], **dict.fromkeys(mark)}
