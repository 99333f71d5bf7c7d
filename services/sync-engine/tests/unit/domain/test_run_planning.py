"""What a run does follows from `sync_state` alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sync_harness import doc_source

from mailroom_common.events import Relist, SyncReason
from sync_engine.domain.message_records import FullRound, RunKind, SyncState
from sync_engine.domain.run_planning import (
    SyncTimings,
    choose_list_start,
    choose_relist_start,
    choose_run_kind,
    is_unannounced,
)

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TIMINGS = SyncTimings()


def state(
    last_full: timedelta | None = None, listed: timedelta | None = None, full_due_mark: int | None = None
) -> SyncState:
    return SyncState(
        source_state="active",
        last_completed_full_started_at=None if last_full is None else NOW - last_full,
        modified_listed_until=None if listed is None else NOW - listed,
        full_due_mark=full_due_mark,
    )


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (state(), RunKind.ALL_CURSORS),
        (state(last_full=timedelta(minutes=10)), RunKind.RECENT_CHANGES),
        (state(last_full=timedelta(minutes=10, seconds=1)), RunKind.ALL_CURSORS),
        (state(last_full=timedelta(0), full_due_mark=7), RunKind.ALL_CURSORS),
    ],
)
def test_a_run_is_full_when_due_or_after_two_thirds_of_the_backstop_interval(row: SyncState, kind: RunKind) -> None:
    assert choose_run_kind(row, TIMINGS, NOW) is kind


def test_the_next_full_run_is_due_by_the_end_of_the_last() -> None:
    row = replace(state(last_full=timedelta(hours=2)), last_completed_full_ended_at=NOW - timedelta(minutes=9))
    assert choose_run_kind(row, TIMINGS, NOW) is RunKind.RECENT_CHANGES
    assert choose_run_kind(row, TIMINGS, NOW + timedelta(minutes=2)) is RunKind.ALL_CURSORS


def test_a_full_run_that_is_under_way_goes_on() -> None:
    row = replace(state(last_full=timedelta(0)), full_round=FullRound(started_at=NOW, run_id="r"))
    assert choose_run_kind(row, TIMINGS, NOW) is RunKind.ALL_CURSORS


@pytest.mark.parametrize(
    ("listed", "since"),
    [
        (timedelta(minutes=1), timedelta(minutes=3)),
        (timedelta(days=30), timedelta(days=30, minutes=2)),  # what a full run has read since then is no reason
        (None, timedelta(minutes=10)),
    ],
)
def test_a_list_goes_on_where_the_last_one_ended_and_overlaps(listed: timedelta | None, since: timedelta) -> None:
    listed_until = None if listed is None else NOW - listed
    assert choose_list_start(listed_until, NOW - timedelta(minutes=5), TIMINGS) == NOW - since


@pytest.mark.parametrize(
    ("age", "reasons", "unannounced"),
    [
        (timedelta(minutes=5), {SyncReason.BACKSTOP}, True),
        (timedelta(minutes=1), {SyncReason.BACKSTOP}, False),  # its push may be on the way
        (timedelta(minutes=5), {SyncReason.BACKSTOP, SyncReason.NOTIFICATION}, False),
        (timedelta(minutes=5), {SyncReason.MANUAL}, False),
        (timedelta(minutes=20), {SyncReason.BACKSTOP}, False),  # from before the last full run: moved here, say
    ],
)
def test_silence_is_mail_that_only_the_backstop_found(
    age: timedelta, reasons: set[SyncReason], unannounced: bool
) -> None:
    row = state(last_full=timedelta(minutes=15))
    assert is_unannounced(NOW - age, reasons, row, TIMINGS, NOW) is unannounced


@pytest.mark.parametrize(("begun", "days"), [(0, 3), (1, 2), (2, 1), (3, 1)])
def test_a_re_list_reaches_as_far_back_as_any_that_has_not_begun(begun: int, days: int) -> None:
    source = replace(
        doc_source(),
        relist_from=NOW - timedelta(days=1),
        relist_number=3,
        earlier_relists=[Relist(number=number, relist_from=NOW - timedelta(days=4 - number)) for number in (1, 2)],
    )
    assert choose_relist_start(source, begun) == NOW - timedelta(days=days)
