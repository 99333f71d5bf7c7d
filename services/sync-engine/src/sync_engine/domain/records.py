"""What a sync run reads from its tables and writes back, a page at a time."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from mailroom_common.events import MailEvent
from mailroom_common.providers.types import MessageSummary

HISTORY, RELIST = "history", "relist"
"""Gmail's scopes; Graph's are folder ids."""


class RunKind(StrEnum):
    FULL = "full"
    HINTED = "hinted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A row of `sync_state` as a run finds it. `full_due` is a mark: clearing it clears no later one."""

    state: str
    not_before: datetime | None = None
    refused_generation: int | None = None
    listed_until: datetime | None = None
    last_full_at: datetime | None = None
    full_due: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a scope stands. `version` 0: there is no row yet. `round_began_at` is set in a round from nothing."""

    scope: str
    position: str | None = None
    page_token: str | None = None
    round_began_at: datetime | None = None
    version: int = 0

    @property
    def is_from_nothing(self) -> bool:
        return self.position is None

    @property
    def is_under_way(self) -> bool:
        """There is such a cursor, and its round from nothing has not come to its end."""
        return self.version > 0 and self.position is None

    def at_page(self, page_token: str, now: datetime) -> "Cursor":
        began_at = (self.round_began_at or now) if self.is_from_nothing else None
        return replace(self, page_token=page_token, round_began_at=began_at)

    def at_position(self, position: str) -> "Cursor":
        return replace(self, position=position, page_token=None, round_began_at=None)

    def at_round_start(self) -> "Cursor":
        """The page token was refused: the same round from its beginning."""
        return replace(self, page_token=None)

    def at_nothing(self) -> "Cursor":
        return replace(self, position=None, page_token=None, round_began_at=None)


class MessageState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    PARKED = "parked"
    OBSERVED = "observed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """What our own records say of a message that a page shows. An observed one may be parked beside its state."""

    message_id: str
    state: MessageState
    folder_id: str | None
    version: str | None
    is_parked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenPart:
    part_path: str
    attachment_id: str
    filename: str | None
    content_type: str
    size_bytes: int
    content_sha256: str
    blob_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftPart:
    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMessage:
    """A message to be written: taken apart, or observed. What is `told` is told only if the row is new or changes."""

    summary: MessageSummary
    state: MessageState
    folder_id: str | None = None
    folder: str | None = None
    reason: str | None = None
    parts: tuple[TakenPart | LeftPart, ...] = ()
    told: tuple[MailEvent, ...] = ()

    @property
    def message_id(self) -> str:
        return self.summary.message_id

    @property
    def taken(self) -> tuple[TakenPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, TakenPart))


@dataclass(frozen=True, slots=True)
class FailedItem:
    """A message that could not be taken. `reason` is a word, `detail` never has anything of the mail."""

    message_id: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class ParkedItem:
    message_id: str
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one transaction writes. `cursor` is None when no cursor moves (hinted runs, items tried again).

    `read` is the cursor that the page was read with: the commit goes through only where that is still the stored one.
    """

    read: Cursor | None = None
    cursor: Cursor | None = None
    messages: tuple[JudgedMessage, ...] = ()
    seen: tuple[str, ...] = ()
    failed: tuple[FailedItem, ...] = ()
    settled: tuple[str, ...] = ()  # parked items that no longer are
    begins_relist: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """What the transaction found new: a message that another run was first with is not among it."""

    message_ids: frozenset[str] = frozenset()
    parts_taken: int = 0
