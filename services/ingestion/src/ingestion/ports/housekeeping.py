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


class BacklogStep(Enum):
    """What became of an attempt to write some results of a backlog."""

    WRITTEN = auto()
    NOTHING = auto()  # there is none, or another instance writes it
    OUTBOX_FULL = auto()  # so many results wait for Kafka that no more are written now


class ResultBacklog(Protocol):
    async def write_some(self) -> BacklogStep:
        """Write some more results of a document that has very many attachments."""
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


# Whoever looks needs to know that they are very many, not how many.
MAX_UNDELETED_COUNTED = 100_000


class SweptBlob(Enum):
    """What became of a blob that perhaps nobody needs."""

    DELETED = auto()
    KEPT = auto()  # it is needed
    POSTPONED = auto()  # the store did not delete it


class BlobSweep(Protocol):
    @property
    def kind(self) -> str:
        """What is deleted; for metrics."""
        ...

    async def count_undeleted(self) -> int:
        """Blobs that the store has not deleted yet, up to `MAX_UNDELETED_COUNTED`."""
        ...

    async def sweep_blob(self) -> SweptBlob | None:
        """Delete one blob that an upload, or a duplicate, left behind long ago. None when there is none."""
        ...


class DocumentCheck(Protocol):
    async def check_changes(self) -> bool:
        """Go through some more of the log of changes for what a worker of an earlier release left out of documents.
        False when there is no more, or another instance does so."""
        ...


class LedgerReasons(Protocol):
    async def recheck_some(self) -> bool:
        """Judge some of the documents again that wait for a person since other documents' trades gave a reason. False
        when these were the last ones of a round and none had lost its reason, or another instance took them."""
        ...


class UnusedPasswords(Protocol):
    async def forget_old_passwords(self) -> int:
        """Forget a batch of passwords that no reading used in time; how many there were."""
        ...
