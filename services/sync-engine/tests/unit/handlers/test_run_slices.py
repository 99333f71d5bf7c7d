"""A slice ends in its time, which is longer where much had to be listed again."""

from datetime import timedelta

import pytest
from fake_mailbox import FakeClock

from sync_engine.domain.run_outcomes import SliceEnded
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.run_slices import RunSlice


@pytest.mark.parametrize(("repeated_s", "more_s"), [(1, 5), (24, 24)])
def test_what_is_new_has_as_much_time_as_what_was_listed_again(repeated_s: float, more_s: float) -> None:
    clock = FakeClock()
    run_slice = RunSlice(clock, SyncTimings(slice_duration=timedelta(seconds=5)))
    clock.pass_by(seconds=repeated_s)
    run_slice.extend_after_repeats()
    clock.pass_by(seconds=more_s - 0.1)
    run_slice.end_if_over()
    clock.pass_by(seconds=0.1)
    with pytest.raises(SliceEnded):
        run_slice.end_if_over()
