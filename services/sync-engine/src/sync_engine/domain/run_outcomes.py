"""How a sync run of one mailbox ends, and what keeps one from writing anything, or from reading a message."""

from dataclasses import dataclass
from datetime import datetime

from mailroom_common.errors import MailroomError
from mailroom_common.events import ConnectionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted:
    """`unannounced_messages` counts what was found new though no notification had asked for it.

    `missing_folders` are names of the source's `folders` that the mailbox does not have; None where no folders were
    listed.
    """

    new_messages: int = 0
    unannounced_messages: int = 0
    is_full: bool = False
    missing_folders: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunDeferred:
    """The run failed in a way that passes; `not_before` is in `sync_state` already. `detail` may be logged.

    `is_failure` is False where the provider only asked for patience (429): nothing is wrong with it.
    """

    not_before: datetime
    detail: str
    is_failure: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnfinished:
    """The run gave its slot back, or has to wait for the quota of old mail: what is committed stands, and it is asked
    for again. New mail need not wait for `not_before`, which is in no table."""

    not_before: datetime
    new_messages: int = 0
    unannounced_messages: int = 0
    has_progress: bool = False


@dataclass(frozen=True, slots=True)
class NotSyncable:
    """No run can help until somebody acts; whoever ends that state asks for a sync again.

    `kind` is what subscription-manager must learn, each time it is found so (the event's id is derived, a repeat does
    no harm); None when it knows by itself: the source is paused, being deleted, or not ours.
    """

    detail: str
    kind: ConnectionKind | None = None


RunOutcome = RunCompleted | RunUnfinished | RunDeferred | NotSyncable


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The end of a run, or of a slice of it, as `sync_run` keeps it; `detail` may be logged."""

    outcome: str | None  # None: the run goes on with its next slice
    detail: str | None = None
    new_messages: int = 0
    unannounced_messages: int = 0
    stored_parts: int = 0
    parked_items: int = 0


class SourceNotActive(Exception):
    """The source was paused, deleted or lost its grant while the run was under way: nothing was written."""

    def __init__(self, state: str) -> None:
        super().__init__(f"the source is {state}")
        self.state = state


class SliceEnded(Exception):
    """The run has had its slot of the worker for long enough. All that it did is committed."""


class CursorConflict(Exception):
    """Another run moved the cursor since it was read: nothing was written, and the page has to be read again."""


class ClaimedByOtherJob(MailroomError):
    """The outside job, or another doc source of the mailbox, works on this message: it is left alone, and tried again
    in case that one leaves it."""

    def __init__(self) -> None:
        super().__init__("the outside job, or another doc source of the mailbox, works on it")


class DoneByOtherJob(MailroomError):
    """The outside job, or another doc source of the mailbox, has done this message."""

    def __init__(self, state_id: str) -> None:
        super().__init__("the outside job, or another doc source of the mailbox, has done it")
        self.state_id = state_id
