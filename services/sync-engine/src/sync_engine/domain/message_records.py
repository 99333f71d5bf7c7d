"""What a sync run knows of messages and writes of them, and the update that one transaction commits."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from mailroom_common.events import MailEvent
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.content import ContainerKind
from sync_engine.domain.cursor import Cursor

# A first sync meets mail that has just arrived as well: what is younger than this is read like any new mail.
_NEW_MAIL_AGE = timedelta(hours=1)


class MessageState(StrEnum):
    OPEN = "open"  # at least one stored part has no result yet, or a part is parked
    CLOSED = "closed"  # every stored part has a result, or none was stored, and no part is parked
    PARKED = "parked"  # could not be fetched; tried again (`parked_item`)
    OBSERVED = "observed"  # an `observation` source: its metadata is known, nothing is stored
    REMOVED = "removed"  # an observed mail that was deleted


class ParkedReason(StrEnum):
    """Why a message or a part could not be stored for now."""

    GONE = "gone"  # it was listed, and the provider no longer has it
    NOT_FETCHED = "not_fetched"  # the quota was used up before this part, or others had failed: it is due at once
    ACCESS_DENIED = "access_denied"  # the provider refuses this one, though not the mailbox
    REJECTED = "rejected"  # the provider's answer for it can be read by no retry
    PROVIDER_UNAVAILABLE = "provider_unavailable"  # the provider failed over it, perhaps only for a while
    CRASHED = "crashed"  # our own code failed over it
    PARSER_KILLED = "parser_killed"  # the parser process was killed while it had it, perhaps for want of memory
    CLAIMED_BY_OTHER_JOB = "claimed_by_other_job"  # the outside job, or another source of the mailbox, works on it


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyPart:
    """A container that was opened and holds no file, as an attached mail of text alone: it is no part of its mail, and
    is remembered so that it is not opened again."""

    part_path: str
    filename: str | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """Our record of a message that a page shows. A processed message may be parked beside its state.

    `version` is the one that was judged, or was observed last.
    """

    message_id: str
    state: MessageState
    folder_id: str | None
    version: str | None
    is_parked: bool = False
    folder: str | None = None  # its name, as in ProcessedMessage
    skip_reason: str | None = None
    last_seen_at: datetime | None = None  # when its row was written, or a round from nothing listed it
    has_stored_part: bool = False
    has_parked_part: bool = False
    has_gone_part: bool = False  # parked until the provider said that it is gone
    judgement_number: int = 1
    empty_parts: tuple[EmptyPart, ...] = ()

    @property
    def is_judged(self) -> bool:
        return self.state in (MessageState.OPEN, MessageState.CLOSED)

    @property
    def may_be_judged_anew(self) -> bool:
        """A stored part is final: a document was made of it. What is parked by itself is judged in its own time."""
        has_unread_part = not self.has_stored_part or self.has_parked_part or self.has_gone_part
        return self.is_judged and not self.is_parked and has_unread_part


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPart:
    """What a part of a message was judged to be."""

    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    is_stored: bool
    skip_reason: str | None
    is_parked: bool


@dataclass(frozen=True, slots=True)
class EarlierJudgement:
    """What a message was judged to be before it is judged anew.

    Another judgement may be committed first: then the row has another number, and the later one changes nothing.
    """

    number: int
    parts: tuple[RecordedPart, ...]
    empty_parts: tuple[EmptyPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """An attachment whose bytes are in the blob store."""

    part_path: str
    attachment_id: str
    filename: str | None
    content_type: str
    size_bytes: int
    content_sha256: str
    blob_key: str
    via: tuple[ContainerKind, ...] = ()  # the containers that were opened for it, from the outside in


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedPart:
    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    skip_reason: str
    via: tuple[ContainerKind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedPart:
    """A part that could not be stored and is tried again. `detail` has nothing of the mail in it."""

    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    parked_reason: ParkedReason
    detail: str


def sum_stored_bytes(parts: Iterable[StoredPart | SkippedPart | ParkedPart]) -> int:
    return sum(part.size_bytes for part in parts if isinstance(part, StoredPart))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedMessage:
    """A message to be written: with its parts, or as observed. `mail_events` go out only if its row is new or changes.

    `skip_reason` says why no part was stored, where no single part says it. `opened_part_paths`: parked containers that
    could be opened at last, and are no part any more; what was in them is among `parts`. `earlier` is set where the
    message is judged anew: `parts` are those that were judged now, and the rows of `replaced_paths` go.
    """

    summary: MessageSummary
    state: MessageState
    folder_id: str | None = None
    folder: str | None = None
    skip_reason: str | None = None
    parts: tuple[StoredPart | SkippedPart | ParkedPart, ...] = ()
    opened_part_paths: tuple[str, ...] = ()
    empty_parts: tuple[EmptyPart, ...] = ()
    mail_events: tuple[MailEvent, ...] = ()
    earlier: EarlierJudgement | None = None
    replaced_paths: tuple[str, ...] = ()
    state_id: str | None = None  # its name in the table shared with the outside job; None: not shared

    @property
    def message_id(self) -> str:
        return self.summary.message_id

    @property
    def stored_parts(self) -> tuple[StoredPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, StoredPart))

    @property
    def parked_parts(self) -> tuple[ParkedPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ParkedPart))

    @property
    def is_parked_only(self) -> bool:
        """Nothing was stored of it, and something is parked: that is no progress, and must not reset a pause."""
        return bool(self.parked_parts) and not self.stored_parts


@dataclass(frozen=True, slots=True)
class FailedMessage:
    """A message that could not be processed. `reason` is a constant word, `detail` has nothing of the mail in it."""

    message_id: str
    reason: str
    detail: str


class PassedOverReason(StrEnum):
    """Why a message that a page shows is neither recorded nor parked."""

    ELSEWHERE = "elsewhere"  # it lies where nothing is watched, and is judged when it comes to where it is
    BEFORE_START = "before_start"  # it was received before the source's `start_at`
    NOT_MOVED = "not_moved"  # of an unknown one only labels changed: had it been due, it would be known


@dataclass(frozen=True, slots=True)
class PassedOverMessage:
    """A message that was fetched only to find that it is from before the start: it is not fetched again for that."""

    message_id: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class ParkedItem:
    message_id: str
    reason: str
    attempts: int
    first_failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePart:
    """A parked part that is to be tried again."""

    part: ParkedPart
    attempts: int
    first_failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMessage:
    """A message with parked parts that are due; the folder is where it lay when it was judged."""

    message_id: str
    folder_id: str | None
    folder: str | None
    due_parts: tuple[DuePart, ...]
    state_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageUpdate:
    """What one transaction writes: a batch of a page with its cursor, or messages alone.

    `read_cursor` is the cursor with which the page was read: the commit succeeds only while the stored one has its
    version. `next_cursor` takes its place. Both are None where no cursor moves (hinted runs, retries of parked items).
    """

    read_cursor: Cursor | None = None
    next_cursor: Cursor | None = None
    messages: tuple[ProcessedMessage, ...] = ()
    retried: tuple[ProcessedMessage, ...] = ()  # with those of their parts that were parked and tried again, no others
    failed: tuple[FailedMessage, ...] = ()
    passed_over: tuple[PassedOverMessage, ...] = ()
    seen_message_ids: tuple[str, ...] = ()
    resolved_item_ids: tuple[str, ...] = ()  # parked items that no longer are
    starts_relist: bool = False  # the position starts at now: what the mailbox holds already has to be listed
    is_old_mail: bool = False  # found by a list of all that there is, beside the cursors
    leaves_page: bool = False  # the cursor goes on from a page of which something could be processed
    resets_back_off: bool = False  # if a message is new, or the page is left: failures before it count no more

    def is_backfill(self, message: ProcessedMessage, now: datetime) -> bool:
        """Whether the message is old mail that a first sync or a re-list found: reading it must delay no new mail."""
        received_at = message.summary.received_at
        is_round_from_nothing = self.is_old_mail or (self.read_cursor is not None and self.read_cursor.has_no_position)
        return is_round_from_nothing and received_at is not None and received_at < now - _NEW_MAIL_AGE

    @property
    def is_empty(self) -> bool:
        return not (self.messages or self.retried or self.failed or self.passed_over or self.resolved_item_ids)


@dataclass(frozen=True, slots=True)
class CommittedPage:
    """What the transaction found new: a message that another run wrote first is not among it."""

    new_message_ids: frozenset[str] = frozenset()
    stored_parts: int = 0


@dataclass(slots=True)
class RunTally:
    """What a run has committed so far."""

    new_messages: int = 0
    unannounced_messages: int = 0
    stored_parts: int = 0
    parked_items: int = 0  # messages and parts
    progress_commits: int = 0  # those that stored a new message or left a page
    written_messages: int = 0  # stored, changed or parked

    def add_tally(self, other: "RunTally") -> None:
        self.new_messages += other.new_messages
        self.unannounced_messages += other.unannounced_messages
        self.stored_parts += other.stored_parts
        self.parked_items += other.parked_items
        self.progress_commits += other.progress_commits
        self.written_messages += other.written_messages


class RunKind(StrEnum):
    ALL_CURSORS = "all_cursors"  # a full run: the changes of each watched folder, or the history; moves cursors
    RECENT_CHANGES = "recent_changes"  # a hinted run: one list of what was modified lately; moves no cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingFolder:
    """A folder whose changes the provider failed to list in an earlier run. A first sync of it is a list of all
    messages, which has come up to `listed_until`, or to its end."""

    folder_id: str
    listed_until: datetime | None = None
    is_listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRound:
    """A full run, over all the slices in which it reads the mailbox. It clears only the mark that it began with."""

    started_at: datetime
    run_id: str
    due_mark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """The row of `sync_state` as a run finds it. `full_round` is under way: earlier slices have begun it."""

    source_state: str
    not_before: datetime | None = None
    failed_attempts: int = 0
    stalled_since: datetime | None = None
    refused_generation: int | None = None
    modified_listed_until: datetime | None = None
    last_completed_full_started_at: datetime | None = None
    last_completed_full_ended_at: datetime | None = None
    full_round: FullRound | None = None
    full_due_mark: int | None = None
    relist_number: int = 0  # of the newest re-list that was begun

    @property
    def has_failed(self) -> bool:
        """Whether the last run failed or was throttled without getting on."""
        return self.failed_attempts > 0 or self.stalled_since is not None
