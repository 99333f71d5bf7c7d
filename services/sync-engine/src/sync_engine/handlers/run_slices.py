"""How long a run may keep its slot of the worker, and how far it has listed new mail meanwhile."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from sync_engine.domain.run_outcomes import SliceEnded
from sync_engine.domain.run_planning import SyncTimings

_DEFAULT_TIMINGS = SyncTimings()
_utc_now = partial(datetime.now, UTC)


class RunSlice:
    """A run is a slice of what is to be read: others have their turn, and it goes on where it stopped.

    Checked between two commits, once something is done: so each slice gets on.
    """

    def __init__(self, clock: Callable[[], datetime] = _utc_now, timings: SyncTimings = _DEFAULT_TIMINGS) -> None:
        self._clock = clock
        self._ends_at = clock() + timings.slice_duration
        self._new_mail_interval = timings.new_mail_interval
        self._checked_at = clock()
        self.listed_until: datetime | None = None  # provider's clock; by this run

    def end_if_over(self) -> None:
        if self._clock() >= self._ends_at:
            raise SliceEnded

    def begin_check_for_new_mail(self) -> bool:
        """Whether it is time to look for new mail again; then the next check is an interval later."""
        if self._clock() - self._checked_at < self._new_mail_interval:
            return False
        self.record_check_for_new_mail()
        return True

    def record_check_for_new_mail(self) -> None:
        self._checked_at = self._clock()
