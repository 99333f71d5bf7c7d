import re
from pathlib import Path

import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason, parse_reason, read_stored_reason
from mailroom_common.events import REJECTED_REASON, UNREAD_REASONS, ResultStatus

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("reason", [*DocumentSkipReason, *ReviewReason])
def test_a_reason_comes_back_from_its_column_as_what_it_was(reason: Reason) -> None:
    assert parse_reason(reason.value) is reason


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a valid ReviewReason"):
        parse_reason("made_up")


@pytest.mark.parametrize(
    ("status", "kind"), [(ResultStatus.SKIPPED, DocumentSkipReason), (ResultStatus.NEEDS_REVIEW, ReviewReason)]
)
def test_a_stored_reason_of_a_newer_build_is_kept_as_it_is(status: ResultStatus, kind: type[Reason]) -> None:
    """Or a worker of the older one would end at each such document, and claim it again after its next start."""
    reason = read_stored_reason("made_up", is_skipped=status is ResultStatus.SKIPPED)
    assert (type(reason), reason, str(reason), reason.value) == (kind, "made_up", "made_up", "made_up")
    assert reason not in {*DocumentSkipReason, *ReviewReason}
    outcome = DocumentOutcome(status=status, reason=reason)
    assert outcome.is_reading


@pytest.mark.parametrize("reason", [*DocumentSkipReason, *ReviewReason])
def test_a_stored_reason_that_is_known_is_that_one(reason: Reason) -> None:
    assert read_stored_reason(reason.value, is_skipped=isinstance(reason, DocumentSkipReason)) is reason


def test_the_readme_explains_every_reason() -> None:
    explained = set(re.findall(r"`([a-z_]+)`", README.read_text()))
    assert {*DocumentSkipReason, *ReviewReason} <= explained


def test_every_reason_says_whether_the_document_was_read() -> None:
    """sync-engine hands a document that was not read to the outside job: a new reason has to say which it is."""
    by_content = {
        ReviewReason.FIELDS_MISSING,
        ReviewReason.TOTALS_DO_NOT_ADD_UP,
        ReviewReason.PAGE_AND_XML_DISAGREE,
        ReviewReason.SUPPLIER_UNCERTAIN,
        ReviewReason.DOCUMENT_TYPE_UNCERTAIN,
        ReviewReason.IBAN_CHANGED,
        ReviewReason.IBAN_NOT_ON_PAGE,
        ReviewReason.EXTRACTION_TOO_LARGE,
        ReviewReason.READERS_DISAGREE,
        ReviewReason.MODEL_UNCONFIRMED,
        ReviewReason.CONFIDENCE_LOW,
        ReviewReason.TRADES_NOT_READ,
        ReviewReason.TRADE_CANCELLED,
        ReviewReason.TRADES_MAY_BE_SUMMED,
        ReviewReason.CANCELLED_TRADE_NOT_FOUND,
        ReviewReason.TRADE_MAY_BE_CANCELLED,
        ReviewReason.SEVERAL_E_INVOICES,
        ReviewReason.SEVERAL_INVOICES,
        ReviewReason.STRUCK_OUT,
        ReviewReason.STAMPED,
    }
    assert {str(reason) for reason in ReviewReason} == UNREAD_REASONS | {str(reason) for reason in by_content}


def test_what_a_person_rejected_is_told_by_the_reason_that_sync_engine_knows() -> None:
    assert DocumentSkipReason.REJECTED.value == REJECTED_REASON
