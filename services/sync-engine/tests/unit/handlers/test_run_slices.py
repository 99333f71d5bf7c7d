"""How long a slice is: its duration, and once more what it spent on what had been listed before."""

from datetime import timedelta

import pytest
from fake_mailbox import FakeClock

from sync_engine.domain.run_outcomes import SliceEnded
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.run_slices import RunSlice

TIMINGS = SyncTimings(slice_duration=timedelta(seconds=5))


def has_ended(run_slice: RunSlice) -> bool:
    try:
        run_slice.end_if_over()
    except SliceEnded:
        return True
    return False


@pytest.mark.parametrize(("repeats_s", "left_s"), [(1, 5), (60, 60)])
def test_what_is_new_gets_as_much_time_as_the_repeats_before_it_took(repeats_s: int, left_s: int) -> None:
    clock = FakeClock()
    run_slice = RunSlice(clock, TIMINGS)
    clock.pass_by(seconds=repeats_s)
    run_slice.extend_after_repeats()
    clock.pass_by(seconds=left_s - 0.1)
    assert not has_ended(run_slice)
    clock.pass_by(seconds=0.1)
    assert has_ended(run_slice)


def test_a_slice_is_extended_once_however_often_new_mail_is_listed() -> None:
    clock = FakeClock()
    run_slice = RunSlice(clock, TIMINGS)
    for _ in range(4):
        clock.pass_by(seconds=2)
        run_slice.extend_after_repeats()
    assert has_ended(run_slice)
