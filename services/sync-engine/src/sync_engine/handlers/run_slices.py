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
        self._began_at = clock()
        self._duration = timings.slice_duration
        self._ends_at = self._began_at + self._duration
        self._is_extended = False
        self._new_mail_interval = timings.new_mail_interval
        self._checked_at = clock()
        self.listed_until: datetime | None = None  # provider's clock; by this run

    def end_if_over(self) -> None:
        if self._clock() >= self._ends_at:
            raise SliceEnded

    def extend_after_repeats(self) -> None:
        """All so far was listed again, as every slice has to: what is new gets no less time than that took, or a slice
        would bring one page for hundreds of calls. Once only: each check for new mail lists the same again."""
        if self._is_extended:
            return
        self._is_extended = True
        now = self._clock()
        self._ends_at = max(self._ends_at, now + max(self._duration, now - self._began_at))

    def begin_check_for_new_mail(self) -> bool:
        """Whether it is time to look for new mail again; then the next check is an interval later."""
        if self._clock() - self._checked_at < self._new_mail_interval:
            return False
        self.record_check_for_new_mail()
        return True

    def record_check_for_new_mail(self) -> None:
        self._checked_at = self._clock()
