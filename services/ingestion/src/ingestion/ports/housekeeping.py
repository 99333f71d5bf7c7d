"""What the worker does beside reading documents (`worker_loops.py`)."""

from datetime import timedelta
from enum import Enum, auto
from typing import Protocol


class EventLogMaintenance(Protocol):
    async def assign_numbers(self) -> int:
        """Number a batch of events that have no number yet; how many there were."""
        ...

    async def delete_events(self, *, older_than: timedelta) -> int:
        """Delete a batch of old events; how many there were."""
        ...


class OrderMatcher(Protocol):
    async def match_next(self) -> bool:
        """Match the orders and trades of one security that has changed. False when there is none."""
        ...


class TradeAnnouncements(Protocol):
    async def announce_next(self) -> bool:
        """Publish new results of one document whose trades changed in the ledger. False when there is none."""
        ...


class ResultBacklog(Protocol):
    async def write_some(self) -> bool:
        """Write some more results of a document that has very many attachments. False when there is none, or while many
        results wait for Kafka."""
        ...


class Backfill(Protocol):
    """What rows of an earlier release, or of a worker of one, are without."""

    @property
    def name(self) -> str:
        """What is written; for logs."""
        ...

    async def write_missing(self) -> int:
        """Write it into a batch of them; how many it were."""
        ...


class SweptUpload(Enum):
    """What became of an upload that is a day old."""

    DELETED = auto()
    RECORDED = auto()  # it is an attachment, and its blob stays
    POSTPONED = auto()  # the store did not delete its blob


class UnfinishedUploads(Protocol):
    async def sweep_upload(self) -> SweptUpload | None:
        """Delete the blob of one upload that was cut off long ago. None when there is none."""
        ...


class UnusedPasswords(Protocol):
    async def forget_old_passwords(self) -> int:
        """Forget a batch of passwords that no reading used in time; how many there were."""
        ...
