"""What a run does, decided by `sync_state` alone: a request only wakes."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mailroom_common.events import SyncReason
from sync_engine.domain.records import RunKind, Standing

# How long an item that failed rests, by the number of its failures; after the last, until somebody asks for all.
RETRY_AFTER = (timedelta(seconds=30), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    backstop_interval: timedelta = timedelta(minutes=15)
    list_overlap: timedelta = timedelta(minutes=2)
    # Before the first list there is no provider's time to go on from: ours, less what clocks may differ by.
    clock_difference: timedelta = timedelta(minutes=5)
    # Younger mail may simply be ahead of its notification.
    announced_within: timedelta = timedelta(minutes=2)


def kind_of_run(standing: Standing, timings: Timings, now: datetime) -> RunKind:
    if standing.full_due is not None or standing.last_full_at is None:
        return RunKind.FULL
    return RunKind.FULL if now - standing.last_full_at > timings.backstop_interval * 2 / 3 else RunKind.HINTED


def list_since(standing: Standing, timings: Timings) -> datetime | None:
    """From when the hint list is asked for; None when there has been neither a list nor a full run.

    A mailbox that no list was asked of for a month need not list that month: the last full run has read it.
    """
    listed = standing.listed_until and standing.listed_until - timings.list_overlap
    full = standing.last_full_at and standing.last_full_at - timings.clock_difference
    return max((at for at in (listed, full) if at is not None), default=None)


def is_unannounced(
    received_at: datetime | None,
    reasons: Iterable[SyncReason],
    standing: Standing,
    timings: Timings,
    started_at: datetime,
) -> bool:
    """Whether a push should have told us of this mail long ago: only the backstop came, and an earlier run had been."""
    return (
        frozenset(reasons) == {SyncReason.BACKSTOP}
        and received_at is not None
        and standing.last_full_at is not None
        and standing.last_full_at < received_at < started_at - timings.announced_within
    )
