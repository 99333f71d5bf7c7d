"""What the worker does beside reading documents (`worker_loops.py`)."""

from datetime import timedelta
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


class Backfill(Protocol):
    """What rows of an earlier release, or of a worker of one, are without."""

    @property
    def name(self) -> str:
        """What is written; for logs."""
        ...

    async def write_missing(self) -> int:
        """Write it into a batch of them; how many it were."""
        ...


class UnfinishedUploads(Protocol):
    async def sweep_upload(self) -> bool:
        """Delete the blob of one upload that was cut off long ago. False when there is none."""
        ...


class UnusedPasswords(Protocol):
    async def forget_old_passwords(self) -> int:
        """Forget a batch of passwords that no reading used in time; how many it were."""
        ...
