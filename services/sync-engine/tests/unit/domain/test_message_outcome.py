import pytest

from sync_engine.domain.message_outcome import MessageOutcome, PartReason, PartResult, judge_message
from sync_engine.domain.message_records import MessageState

FILED = PartResult(result_status="completed")
REPEAT = PartResult(result_status="completed", is_duplicate=True)
LOGO = PartResult("2", "logo.png", skip_reason="inline_picture")
SCAN = PartResult("3", "scan.pdf", skip_reason="too_large")


def judge(
    *parts: PartResult, state: MessageState = MessageState.CLOSED, skip: str | None = None, parked: str | None = None
) -> tuple[MessageOutcome, str | None]:
    judged = judge_message(state, parts, skip_reason=skip, parked_reason=parked)
    return judged.outcome, judged.reason


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
        ((FILED, SCAN), MessageOutcome.NEEDS_REVIEW, "too_large"),
        ((REPEAT, SCAN), MessageOutcome.NEEDS_REVIEW, "too_large"),
        ((LOGO, SCAN), MessageOutcome.NEEDS_REVIEW, "too_large"),
        (
            (PartResult(result_status="needs_review", result_reason="fields_missing"), SCAN),
            MessageOutcome.NEEDS_REVIEW,
            "fields_missing, too_large",
        ),
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


def test_each_reason_names_its_part() -> None:
    skipped = PartResult("1", "order.pdf", result_status="skipped", result_reason="not_an_invoice")
    judged = judge_message(MessageState.CLOSED, [skipped, LOGO], skip_reason=None, parked_reason=None)
    assert judged.part_reasons == (
        PartReason("1", "order.pdf", "not_an_invoice"),
        PartReason("2", "logo.png", "inline_picture"),
    )
    filed = PartResult("1", "invoice.pdf", result_status="completed")
    judged = judge_message(MessageState.CLOSED, [filed, LOGO, SCAN], skip_reason=None, parked_reason=None)
    assert judged.part_reasons == (PartReason("3", "scan.pdf", "too_large"),)


@pytest.mark.parametrize("reason", ["too_large", "too_many_parts", "unavailable"])
def test_what_nobody_looked_into_is_for_a_person_whatever_its_mail_looks_like(reason: str) -> None:
    part = PartResult("3", "4711.pdf", skip_reason=reason)
    judged = judge_message(MessageState.CLOSED, [LOGO, part], skip_reason="no_document_words", parked_reason=None)
    assert (judged.outcome, judged.reason) == (MessageOutcome.NEEDS_REVIEW, reason)
    assert judged.part_reasons == (PartReason("3", "4711.pdf", reason),)


def test_message_that_made_no_document_always_has_a_reason() -> None:
    assert judge() == (MessageOutcome.NOT_FILED, "no_parts")


@pytest.mark.parametrize("state", [state for state in MessageState if state is not MessageState.CLOSED])
def test_message_that_is_not_closed_is_what_its_state_says(state: MessageState) -> None:
    outcome, reason = judge(FILED, state=state, parked="access_denied")
    assert outcome is not MessageOutcome.FILED
    assert reason == ("access_denied" if state is MessageState.PARKED else None)
