"""What a run does follows from `sync_state` alone."""

from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.events import SyncReason
from sync_engine.domain.plan import Timings, is_unannounced, kind_of_run, list_since
from sync_engine.domain.records import RunKind, Standing

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TIMINGS = Timings()


def standing(
    last_full: timedelta | None = None, listed: timedelta | None = None, full_due: int | None = None
) -> Standing:
    return Standing(
        state="active",
        last_full_at=None if last_full is None else NOW - last_full,
        listed_until=None if listed is None else NOW - listed,
        full_due=full_due,
    )


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (standing(), RunKind.FULL),
        (standing(last_full=timedelta(minutes=10)), RunKind.HINTED),
        (standing(last_full=timedelta(minutes=10, seconds=1)), RunKind.FULL),
        (standing(last_full=timedelta(0), full_due=7), RunKind.FULL),
    ],
)
def test_a_run_is_full_when_due_or_after_two_thirds_of_the_backstop_interval(row: Standing, kind: RunKind) -> None:
    assert kind_of_run(row, TIMINGS, NOW) is kind


@pytest.mark.parametrize(
    ("row", "since"),
    [
        (standing(), None),
        (standing(listed=timedelta(minutes=1)), timedelta(minutes=3)),
        (standing(last_full=timedelta(minutes=5)), timedelta(minutes=10)),
        (standing(last_full=timedelta(minutes=5), listed=timedelta(minutes=1)), timedelta(minutes=3)),
        (standing(last_full=timedelta(minutes=5), listed=timedelta(days=30)), timedelta(minutes=10)),
    ],
)
def test_a_list_overlaps_and_reaches_back_no_further_than_the_last_full_run(
    row: Standing, since: timedelta | None
) -> None:
    assert list_since(row, TIMINGS) == (None if since is None else NOW - since)


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
    row = standing(last_full=timedelta(minutes=15))
    assert is_unannounced(NOW - age, reasons, row, TIMINGS, NOW) is unannounced
