"""What a run does, decided by `sync_state` alone: a request only wakes."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mailroom_common.events import DocSource, SyncReason
from sync_engine.domain.message_records import RunKind, SyncState

# How long a parked message or part rests, by the number of its failures; after the last, about a day each time.
RETRY_DELAYS = (timedelta(seconds=30), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=3))

LAST_RETRY_DELAY = timedelta(days=1)
# So many messages with something parked are tried again in one run: they must not take the quota of new mail.
MAX_RETRIES_PER_RUN = 50
# A message may be announced before it can be read, and a provider that has lost sight of one does not show it again by
# itself; one that is gone so many times, for so long, is gone for good. A deleted one costs five calls in all.
_MAX_GONE_ATTEMPTS = 3
_MIN_GONE_AGE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTimings:
    backstop_interval: timedelta = timedelta(minutes=15)
    list_overlap: timedelta = timedelta(minutes=2)
    # Before the first list there is no provider's time to go on from: ours, less what clocks may differ by.
    max_clock_difference: timedelta = timedelta(minutes=5)
    # How long a run keeps its slot of the worker; then it is asked for again, and others have their turn.
    slice_duration: timedelta = timedelta(seconds=5)
    # How often a run that reads old mail looks for new mail in between.
    new_mail_interval: timedelta = timedelta(seconds=2)
    # Younger mail may simply be ahead of its notification.
    announcement_delay: timedelta = timedelta(minutes=2)


def is_gone_for_good(attempts: int, age: timedelta) -> bool:
    """`attempts` counts all failures; `age` is the time since when it was gone at each of them."""
    return attempts >= _MAX_GONE_ATTEMPTS and age >= _MIN_GONE_AGE


def choose_run_kind(state: SyncState, timings: SyncTimings, now: datetime) -> RunKind:
    if state.full_due_mark is not None or state.full_round is not None:
        return RunKind.ALL_CURSORS
    # From its end: one that takes longer than the interval would otherwise always be due.
    last_full_at = state.last_completed_full_ended_at or state.last_completed_full_started_at
    is_due = last_full_at is None or now - last_full_at > timings.backstop_interval * 2 / 3
    return RunKind.ALL_CURSORS if is_due else RunKind.RECENT_CHANGES


def choose_list_start(listed_until: datetime | None, first_full_started_at: datetime, timings: SyncTimings) -> datetime:
    """From when the list of modified messages is asked for: each list goes on where the one before it ended.

    What a full run has read is no reason to begin later: changes of folders lose messages that are moved about. Before
    the first list it is the full run under way, or the last one, that has read what was there when it began.
    """
    if listed_until is not None:
        return listed_until - timings.list_overlap
    return first_full_started_at - timings.max_clock_difference


def choose_relist_start(source: DocSource, begun_number: int) -> datetime | None:
    """The earliest date of the re-lists that were asked for after the one that was begun last; None: from the start.

    The newest may be the narrower one: an earlier one that was not begun before it came is done with it.
    """
    if source.relist_from is None:
        return None
    waiting = (relist.relist_from for relist in source.earlier_relists if relist.number > begun_number)
    return min((source.relist_from, *waiting))


def is_unannounced(
    received_at: datetime | None,
    reasons: Iterable[SyncReason],
    state: SyncState,
    timings: SyncTimings,
    started_at: datetime,
) -> bool:
    """Whether a push should have told us of this mail long ago: only the backstop came, and an earlier run had been."""
    return (
        frozenset(reasons) == {SyncReason.BACKSTOP}
        and received_at is not None
        and state.last_completed_full_started_at is not None
        and state.last_completed_full_started_at < received_at < started_at - timings.announcement_delay
    )
