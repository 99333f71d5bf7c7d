"""What the table shared with an outside job says of a message: who has it, and what became of it.

docs/backstop-contract.md has the statements of both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mailroom_common.events import REJECTED_REASON, UNREAD_REASONS, ResultStatus
from sync_engine.domain.parts import NOT_TAKEN

MAX_STATE_ID_CHARACTERS = 255
_MAX_ERROR_CHARACTERS = 2000  # a mail may have hundreds of parts


class StateIdForm(StrEnum):
    """By which id a message is named in the table."""

    DEFAULT = "default"  # the form that other jobs see: at Outlook it changes when the message moves
    IMMUTABLE = "immutable"  # the form that Mailroom itself uses; the outside job has to ask for it too


class StateStatus(StrEnum):
    PROCESSING = "processing"  # claimed, by `worker_id`
    SUCCESS = "success"  # done; nobody claims it again
    FAILED = "failed"  # it could not be done, or not all of it; anybody may claim it
    SKIPPED = "skipped"  # there was nothing to do; anybody may claim it


class ClaimOutcome(StrEnum):
    OURS = "ours"  # nobody else works on it as long as we renew
    TAKEN = "taken"  # the outside job, or another doc source of the mailbox, works on it
    DONE = "done"  # the outside job, or another doc source of the mailbox, has done it


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """What has become of a part so far; `result_status` is None while a stored part waits for its result."""

    filename: str | None
    is_stored: bool
    skip_reason: str | None = None
    parked_reason: str | None = None
    result_status: str | None = None
    result_reason: str | None = None
    trades: int = 0
    archive_path: str | None = None

    @property
    def is_awaited(self) -> bool:
        return self.is_stored and self.result_status is None

    @property
    def is_read(self) -> bool:
        """Confirmed, or put to review by its content. Trades show that it was read whatever else went wrong: claimed
        by the outside job they would be booked twice. What a person rejected is decided too: marked `skipped` it would
        be anybody's to claim, and to book."""
        if self.result_status == ResultStatus.NEEDS_REVIEW:
            return self.result_reason not in UNREAD_REASONS or self.trades > 0
        is_rejected = self.result_status == ResultStatus.SKIPPED and self.result_reason == REJECTED_REASON
        return self.result_status == ResultStatus.COMPLETED or is_rejected

    @property
    def is_unread(self) -> bool:
        """Stored, and could not be read; or left where it is, so that nobody has looked into it."""
        is_failed = self.is_stored and not self.is_read and self.result_status != ResultStatus.SKIPPED
        return is_failed or self.skip_reason in NOT_TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMark:
    """What our row is set to once nothing of the message is awaited any more."""

    status: StateStatus
    error_message: str | None = None
    attachments: int = 0
    trades: int = 0
    archive_paths: tuple[str, ...] = ()


def judge_state(parts: Sequence[PartState]) -> StateMark | None:
    """None while a result is awaited.

    A part that is parked does not hold the message open here, since it may be parked for ever: the mark names it, and
    another follows once it is stored. One document that could not be read, or was not taken, gives the whole message
    away, as the outside job takes messages and not parts.
    """
    if any(part.is_awaited for part in parts):
        return None
    read = [part for part in parts if part.is_read]
    unread = [part for part in parts if part.is_unread]
    parked = [part for part in parts if part.parked_reason is not None]
    held = StateStatus.SUCCESS if read or parked else StateStatus.SKIPPED
    sentences = [_describe(part, part.result_reason or part.result_status or part.skip_reason) for part in unread]
    sentences += [f"{_describe(part, part.parked_reason)}, is tried again" for part in parked]
    return StateMark(
        status=StateStatus.FAILED if unread else held,
        error_message="; ".join(sentences)[:_MAX_ERROR_CHARACTERS] or None,
        attachments=len(read),
        trades=sum(part.trades for part in read),
        archive_paths=tuple(part.archive_path for part in read if part.archive_path),
    )


def _describe(part: PartState, reason: str | None) -> str:
    return f"{part.filename or 'an attachment without a name'}: {reason}"
