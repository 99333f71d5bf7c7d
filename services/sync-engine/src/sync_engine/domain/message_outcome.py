"""What became of a message as a whole, in a word and with the reason when nothing was filed."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import MessageState


class MessageOutcome(StrEnum):
    """Of a message; its parts say what became of each."""

    WAITING = "waiting"  # not every part has its result yet, or one is parked; then the reason says why
    FILED = "filed"  # at least one document was made of it, and none of them needs a person
    DUPLICATE = "duplicate"  # its documents were filed before, from another mail or part
    NEEDS_REVIEW = "needs_review"  # a person should look at a document of it
    FAILED = "failed"  # a document of it could not be read
    NOT_FILED = "not_filed"  # nothing in it is a document; the reason says why
    PARKED = "parked"  # could not be fetched or stored, and is tried again; the reason says why
    OBSERVED = "observed"  # of an `observation` source: nothing of it is ever stored
    REMOVED = "removed"  # of an `observation` source: it was deleted there


@dataclass(frozen=True, slots=True)
class PartResult:
    """What the judgement needs of a part: why it is skipped or parked, or ingestion's result of it."""

    skip_reason: str | None = None
    result_status: str | None = None
    result_reason: str | None = None
    parked_reason: str | None = None
    is_duplicate: bool = False


_OUTCOME_OF_STATE = {
    MessageState.PARKED: MessageOutcome.PARKED,
    MessageState.OBSERVED: MessageOutcome.OBSERVED,
    MessageState.REMOVED: MessageOutcome.REMOVED,
}


def judge_outcome(
    state: MessageState, parts: Sequence[PartResult], *, skip_reason: str | None, parked_reason: str | None
) -> tuple[MessageOutcome, str | None]:
    """The outcome with its reason; a closed message that made no document always has one."""
    if state is MessageState.OPEN:
        return MessageOutcome.WAITING, _join_reasons([part.parked_reason for part in parts])
    if state is not MessageState.CLOSED:
        return _OUTCOME_OF_STATE[state], parked_reason if state is MessageState.PARKED else None
    for status, outcome in (("needs_review", MessageOutcome.NEEDS_REVIEW), ("failed", MessageOutcome.FAILED)):
        if found := [part for part in parts if part.result_status == status]:
            return outcome, _join_reasons([part.result_reason for part in found])
    completed = [part for part in parts if part.result_status == "completed"]
    if completed:
        is_repeat = all(part.is_duplicate for part in completed)
        return (MessageOutcome.DUPLICATE if is_repeat else MessageOutcome.FILED), None
    reasons = [part.result_reason or part.skip_reason for part in parts]
    return MessageOutcome.NOT_FILED, skip_reason or _join_reasons(reasons) or MailRejection.NO_PARTS.value


def _join_reasons(reasons: Sequence[str | None]) -> str | None:
    """Each once, in the order of the mail."""
    return ", ".join(dict.fromkeys(reason for reason in reasons if reason)) or None
