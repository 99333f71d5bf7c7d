import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.budgets.window import AllocationWindow, UnitLimit

LIMIT = UnitLimit(100, window_s=60)
STEPS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=30), st.integers(min_value=1, max_value=40)), min_size=1, max_size=80
)


@given(start=st.floats(min_value=0, max_value=1e6), steps=STEPS)
def test_no_window_of_time_has_more_units_than_the_limit(start: float, steps: list[tuple[float, int]]) -> None:
    window, now = AllocationWindow(), start
    allocated: list[tuple[float, int]] = []
    for pause_s, units in steps:
        now += pause_s
        allocation = window.allocate_units(LIMIT, now, at_least=units, at_most=units + 5, is_old_mail=False)
        allocated.append((now, allocation.units))
        assert sum(units for at, units in allocated if at > now - LIMIT.window_s) <= LIMIT.allocatable_units


@given(start=st.floats(min_value=0, max_value=1e6), steps=STEPS, is_old_mail=st.booleans())
def test_after_the_wait_that_is_named_enough_units_are_there(
    start: float, steps: list[tuple[float, int]], is_old_mail: bool
) -> None:
    window, now = AllocationWindow(), start
    for pause_s, units in steps:
        now += pause_s
        allocation = window.allocate_units(LIMIT, now, at_least=units, at_most=units, is_old_mail=is_old_mail)
        if allocation.wait_s:
            now += allocation.wait_s + 1e-6  # floats
            later = window.allocate_units(LIMIT, now, at_least=units, at_most=units, is_old_mail=is_old_mail)
            assert later.units == units


def test_steady_caller_gets_more_than_nine_tenths_of_the_limit() -> None:
    limit = UnitLimit(6_000, window_s=60)
    window, now, units = AllocationWindow(), 1000.0, 0
    while now < 1000 + 600:
        allocation = window.allocate_units(limit, now, at_least=20, at_most=limit.block_units, is_old_mail=False)
        units += allocation.units
        now += allocation.wait_s or 0.05
    assert units >= 0.95 * 6_000 * 10


def test_call_above_the_whole_limit_goes_alone_rather_than_never() -> None:
    window = AllocationWindow()
    assert window.allocate_units(LIMIT, 0, at_least=500, at_most=500, is_old_mail=False).units == 500
    assert window.allocate_units(LIMIT, 1, at_least=1, at_most=1, is_old_mail=False).units == 0
    assert window.allocate_units(LIMIT, 62, at_least=1, at_most=1, is_old_mail=False).units == 1


def test_clock_that_is_set_back_by_no_more_than_a_window_frees_no_units() -> None:
    window = AllocationWindow()
    assert window.allocate_units(LIMIT, 1000, at_least=98, at_most=98, is_old_mail=False).units == 98
    assert window.allocate_units(LIMIT, 940, at_least=1, at_most=1, is_old_mail=False).units == 0
    assert window.allocate_units(LIMIT, 1061, at_least=1, at_most=1, is_old_mail=False).units == 1


def test_clock_that_was_an_hour_ahead_stops_nobody_once_it_is_right() -> None:
    window = AllocationWindow()
    assert window.allocate_units(LIMIT, 4600, at_least=98, at_most=98, is_old_mail=False).units == 98
    assert window.allocate_units(LIMIT, 1000, at_least=98, at_most=98, is_old_mail=False).units == 98
    assert window.allocate_units(LIMIT, 1001, at_least=1, at_most=1, is_old_mail=False).wait_s <= LIMIT.window_s + 1


def test_old_mail_leaves_units_that_are_reserved_to_new_mail() -> None:
    window, now = AllocationWindow(), 0.0
    while now < 59:
        now += window.allocate_units(LIMIT, now, at_least=1, at_most=10, is_old_mail=True).wait_s
    assert sum(window.allocated) == LIMIT.allocatable_units - LIMIT.reserved_units
    assert window.allocate_units(LIMIT, 59, at_least=1, at_most=1, is_old_mail=True).units == 0
    assert window.allocate_units(LIMIT, 59, at_least=5, at_most=5, is_old_mail=False).units == 5


@pytest.mark.parametrize("new_mail_interval_s", [1, 2, 5])
def test_new_mail_gets_its_units_within_seconds_while_old_mail_takes_all_that_is_left(new_mail_interval_s: int) -> None:
    limit = UnitLimit(6_000, window_s=60)
    window, waits_s, wanted_since = AllocationWindow(), list[float](), list[float]()
    for tenth in range(6_000):
        now = tenth / 10
        if tenth % (new_mail_interval_s * 10) == 0:
            wanted_since.append(now)
        while wanted_since and window.allocate_units(limit, now, at_least=42, at_most=42, is_old_mail=False).units:
            waits_s.append(now - wanted_since.pop(0))
        while window.allocate_units(limit, now, at_least=40, at_most=60, is_old_mail=True).units:
            pass
    assert sorted(waits_s)[len(waits_s) * 95 // 100] <= 4


def test_old_mail_alone_gets_nine_tenths_of_the_limit() -> None:
    limit = UnitLimit(6_000, window_s=60)
    window, now, units = AllocationWindow(), 0.0, 0
    while now < 600:
        allocation = window.allocate_units(limit, now, at_least=40, at_most=limit.block_units, is_old_mail=True)
        units += allocation.units
        now += allocation.wait_s
    assert units >= 0.9 * 6_000 * 10
