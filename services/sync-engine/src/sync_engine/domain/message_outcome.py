"""What became of a message as a whole, in a word, and why: with the part that each reason is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import MessageState
from sync_engine.domain.parts import NOT_TAKEN


class MessageOutcome(StrEnum):
    """Of a message; its parts say what became of each."""

    WAITING = "waiting"  # not every part has its result yet, or one is parked; then the reason says why
    FILED = "filed"  # at least one document was made of it, and none of them needs a person
    DUPLICATE = "duplicate"  # its documents were filed before, from another mail or part
    # A person should look at a document of it, or at the mail: a part of it that may be a document was not taken.
    NEEDS_REVIEW = "needs_review"
    FAILED = "failed"  # a document of it could not be read
    NOT_FILED = "not_filed"  # nothing in it is a document; the reason says why
    PARKED = "parked"  # could not be fetched or stored, and is tried again; the reason says why
    OBSERVED = "observed"  # of an `observation` source: nothing of it is ever stored
    REMOVED = "removed"  # of an `observation` source: it was deleted there


@dataclass(frozen=True, slots=True)
class PartResult:
    """What the judgement needs of a part: why it is skipped or parked, or ingestion's result of it."""

    part_path: str = ""
    filename: str | None = None
    skip_reason: str | None = None
    result_status: str | None = None
    result_reason: str | None = None
    parked_reason: str | None = None
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True)
class PartReason:
    """One of a message's reasons, and the part that it is about."""

    part_path: str
    filename: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """`reason` has each reason once, in the order of the mail; `part_reasons` those that are about a part."""

    outcome: MessageOutcome
    reason: str | None = None
    part_reasons: tuple[PartReason, ...] = ()


_OUTCOME_OF_STATE = {
    MessageState.PARKED: MessageOutcome.PARKED,
    MessageState.OBSERVED: MessageOutcome.OBSERVED,
    MessageState.REMOVED: MessageOutcome.REMOVED,
}


def judge_message(
    state: MessageState, parts: Sequence[PartResult], *, skip_reason: str | None, parked_reason: str | None
) -> Judgement:
    """The outcome with its reasons; a closed message that made no document always has one."""
    if state is MessageState.OPEN:
        return _build_judgement(MessageOutcome.WAITING, [(part, part.parked_reason) for part in parts])
    if state is not MessageState.CLOSED:
        return Judgement(_OUTCOME_OF_STATE[state], parked_reason if state is MessageState.PARKED else None)
    not_taken = [(part, part.skip_reason) for part in parts if part.skip_reason in NOT_TAKEN]
    if skip_reason is not None and not not_taken and not any(part.result_status for part in parts):
        return Judgement(MessageOutcome.NOT_FILED, skip_reason)
    for status, outcome in (("needs_review", MessageOutcome.NEEDS_REVIEW), ("failed", MessageOutcome.FAILED)):
        if found := [(part, part.result_reason) for part in parts if part.result_status == status]:
            return _build_judgement(outcome, [*found, *not_taken])
    if not_taken:
        return _build_judgement(MessageOutcome.NEEDS_REVIEW, not_taken)
    completed = [part for part in parts if part.result_status == "completed"]
    if completed:
        is_repeat = all(part.is_duplicate for part in completed)
        return Judgement(MessageOutcome.DUPLICATE if is_repeat else MessageOutcome.FILED)
    reasons = [(part, part.result_reason or part.skip_reason) for part in parts]
    if skip_reason is not None or not any(reason for _, reason in reasons):
        return Judgement(MessageOutcome.NOT_FILED, skip_reason or MailRejection.NO_PARTS.value)
    return _build_judgement(MessageOutcome.NOT_FILED, reasons)


def _build_judgement(outcome: MessageOutcome, reasons: Sequence[tuple[PartResult, str | None]]) -> Judgement:
    named = tuple(PartReason(part.part_path, part.filename, reason) for part, reason in reasons if reason)
    return Judgement(outcome, ", ".join(dict.fromkeys(one.reason for one in named)) or None, named)
