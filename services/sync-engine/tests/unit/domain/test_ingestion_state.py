"""What the row of the shared table says, by what became of the parts."""

import pytest

from mailroom_common.events import REJECTED_REASON, UNREAD_REASONS, ResultStatus
from sync_engine.domain.ingestion_state import PartState, StateStatus, judge_state
from sync_engine.domain.parts import NOT_TAKEN


def stored(status: ResultStatus | None, reason: str | None = None, **more: object) -> PartState:
    return PartState(filename="note.pdf", is_stored=True, result_status=status, result_reason=reason, **more)  # type: ignore[arg-type]


SKIPPED = PartState(filename="logo.png", is_stored=False, skip_reason="inline_picture")
PARKED = PartState(filename="late.pdf", is_stored=False, parked_reason="access_denied")
READ = stored(ResultStatus.COMPLETED, trades=2, archive_path="archive/note.pdf")


def test_nothing_is_said_while_a_result_is_awaited() -> None:
    assert judge_state([READ, stored(None)]) is None


def test_a_success_counts_what_was_read() -> None:
    mark = judge_state([READ, SKIPPED, stored(ResultStatus.NEEDS_REVIEW, "fields_missing", trades=1)])
    assert mark is not None
    assert (mark.status, mark.error_message) == (StateStatus.SUCCESS, None)
    assert (mark.attachments, mark.trades, mark.archive_paths) == (2, 3, ("archive/note.pdf",))


@pytest.mark.parametrize("reason", sorted(UNREAD_REASONS))
def test_one_document_that_was_not_read_fails_the_message(reason: str) -> None:
    mark = judge_state([READ, stored(ResultStatus.NEEDS_REVIEW, reason)])
    assert mark is not None
    assert (mark.status, mark.error_message) == (StateStatus.FAILED, f"note.pdf: {reason}")


def test_what_brought_trades_was_read_whatever_its_reason() -> None:
    mark = judge_state([stored(ResultStatus.NEEDS_REVIEW, "archive_refused", trades=1)])
    assert mark is not None
    assert mark.status is StateStatus.SUCCESS


def test_what_a_person_rejected_is_nobody_elses_to_claim() -> None:
    mark = judge_state([stored(ResultStatus.SKIPPED, REJECTED_REASON)])
    assert mark is not None
    assert mark.status is StateStatus.SUCCESS


@pytest.mark.parametrize("parts", [[], [SKIPPED], [stored(ResultStatus.SKIPPED, "not_a_document"), SKIPPED]])
def test_a_mail_without_a_document_is_skipped(parts: list[PartState]) -> None:
    mark = judge_state(parts)
    assert mark is not None
    assert (mark.status, mark.error_message) == (StateStatus.SKIPPED, None)


@pytest.mark.parametrize("reason", sorted(NOT_TAKEN))
def test_what_nobody_looked_into_gives_the_message_away(reason: str) -> None:
    not_taken = PartState(filename="4711.pdf", is_stored=False, skip_reason=reason)
    for parts in ([SKIPPED, not_taken], [READ, not_taken]):
        mark = judge_state(parts)
        assert mark is not None
        assert (mark.status, mark.error_message) == (StateStatus.FAILED, f"4711.pdf: {reason}")


def test_a_parked_part_is_named_and_holds_nothing() -> None:
    mark = judge_state([READ, PARKED])
    assert mark is not None
    assert (mark.status, mark.error_message) == (StateStatus.SUCCESS, "late.pdf: access_denied, is tried again")


def test_the_error_of_a_mail_with_hundreds_of_parts_is_cut() -> None:
    mark = judge_state([stored(ResultStatus.FAILED)] * 500)
    assert mark is not None
    assert len(mark.error_message or "") == 2000
