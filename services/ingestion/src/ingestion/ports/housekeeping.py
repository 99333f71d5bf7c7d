"""What the worker does beside reading documents (`worker_loops.py`)."""

from datetime import timedelta
from enum import Enum, auto
from typing import Protocol


class EventLogMaintenance(Protocol):
    async def assign_numbers(self) -> int:
        """Number a batch of events that have no number yet; how many it were."""
        ...

    async def delete_events(self, *, older_than: timedelta) -> int:
        """Delete a batch of old events; how many it were."""
        ...


class OrderMatcher(Protocol):
    async def match_next(self) -> bool:
        """Hold the orders and trades of a security against each other of which something changed. False when there is
        none."""
        ...


class TradeAnnouncements(Protocol):
    async def announce_next(self) -> bool:
        """Tell the results of a document again whose trades another one made duplicates, or took back. False when there
        is none."""
        ...


class SupplierBackfill(Protocol):
    async def write_missing_keys(self) -> int:
        """Write what suppliers are known by into a batch of documents that were completed without; how many it were."""
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
        """Forget a batch of passwords that no reading used in time; how many it were."""
        ...
