from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mailroom_common.events.base import Event


class SyncReason(StrEnum):
    NOTIFICATION = "notification"
    BACKSTOP = "backstop"
    CONNECT = "connect"
    RESUME = "resume"
    LIFECYCLE = "lifecycle"
    REPLAY = "replay"
    MANUAL = "manual"
    RETRY = "retry"


# Reasons that ask for a full run; the others only wake (design 3, sync-engine).
ASKS_FOR_ALL = frozenset(
    {SyncReason.CONNECT, SyncReason.RESUME, SyncReason.LIFECYCLE, SyncReason.MANUAL, SyncReason.REPLAY}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest(Event):
    """Look at this mailbox. Nothing in it decides what a run does: reasons are for people, and for `full_due`."""

    reasons: list[SyncReason]
    first_requested_at: datetime
