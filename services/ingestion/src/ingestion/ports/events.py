"""The log of document events, and the signals on which processes wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class Channel(StrEnum):
    """What a process can wait for. A signal says that there may be something to see, never what."""

    DOCUMENT_DUE = "ingestion_document_due"  # a document may be claimable
    EVENT_UNNUMBERED = "ingestion_event_unnumbered"  # a document event has no number yet
    EVENT_NUMBERED = "ingestion_event_numbered"  # a document event has one: streams may look
    RESULTS_WAITING = "ingestion_results_waiting"  # a document has more attachments than results are written at once
    TRADES_CHANGED = "ingestion_trades_changed"  # trades of a document got another state in the ledger


class ChannelSignals(Protocol):
    def count_signals(self, channel: Channel) -> int:
        """How often the channel was signalled. Read it before looking, and wait for more than it afterwards."""
        ...

    async def wait_for_signal(self, channel: Channel, *, beyond: int, timeout_s: float) -> None:
        """Until the channel was signalled more often than `beyond`, or the time is up."""
        ...


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    seq: int
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventLogRange:
    """What the event log holds for a tenant: what is at or below `deleted_seq` may be gone, and `newest_seq` is its own
    newest event, else `deleted_seq`. The newest number of all would tell it how many events the others have."""

    newest_seq: int
    deleted_seq: int


class EventLog(Protocol):
    """What event streams read."""

    async def read_range(self, tenant_id: str) -> EventLogRange: ...

    async def list_events(self, tenant_id: str, *, after: int, limit: int) -> Sequence[NumberedEvent]: ...


class EventTickets(Protocol):
    async def issue_ticket(self, tenant_id: str) -> tuple[str, datetime]:
        """A new ticket and when it expires."""
        ...

    async def redeem_ticket(self, ticket: str) -> str | None:
        """The tenant of a valid ticket, which is then used up; None for any other."""
        ...
