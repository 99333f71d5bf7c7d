import pytest

from sync_engine.domain.message_outcome import MessageOutcome, PartResult, judge_outcome
from sync_engine.domain.message_records import MessageState

FILED = PartResult(result_status="completed")
REPEAT = PartResult(result_status="completed", is_duplicate=True)
LOGO = PartResult(skip_reason="inline_picture")


def judge(
    *parts: PartResult, state: MessageState = MessageState.CLOSED, skip: str | None = None, parked: str | None = None
) -> tuple[MessageOutcome, str | None]:
    return judge_outcome(state, parts, skip_reason=skip, parked_reason=parked)


@pytest.mark.parametrize(
    ("parts", "outcome", "reason"),
    [
        ((FILED, LOGO), MessageOutcome.FILED, None),
        ((REPEAT, LOGO), MessageOutcome.DUPLICATE, None),
        ((FILED, REPEAT), MessageOutcome.FILED, None),
        (
            (FILED, PartResult(result_status="needs_review", result_reason="fields_missing")),
            MessageOutcome.NEEDS_REVIEW,
            "fields_missing",
        ),
        (
            (FILED, PartResult(result_status="failed", result_reason="reader_crashed")),
            MessageOutcome.FAILED,
            "reader_crashed",
        ),
        (
            (PartResult(result_status="skipped", result_reason="not_an_invoice"), LOGO),
            MessageOutcome.NOT_FILED,
            "not_an_invoice, inline_picture",
        ),
        ((LOGO, LOGO), MessageOutcome.NOT_FILED, "inline_picture"),
    ],
)
def test_closed_message_is_judged_by_its_parts(
    parts: tuple[PartResult, ...], outcome: MessageOutcome, reason: str | None
) -> None:
    assert judge(*parts) == (outcome, reason)


def test_rejected_mail_has_the_reason_of_the_mail() -> None:
    assert judge(PartResult(skip_reason="rejected_mail:newsletter"), skip="newsletter") == (
        MessageOutcome.NOT_FILED,
        "newsletter",
    )


def test_message_that_made_no_document_always_has_a_reason() -> None:
    assert judge() == (MessageOutcome.NOT_FILED, "no_parts")


@pytest.mark.parametrize("state", [state for state in MessageState if state is not MessageState.CLOSED])
def test_message_that_is_not_closed_is_what_its_state_says(state: MessageState) -> None:
    outcome, reason = judge(FILED, state=state, parked="access_denied")
    assert outcome is not MessageOutcome.FILED
    assert reason == ("access_denied" if state is MessageState.PARKED else None)
