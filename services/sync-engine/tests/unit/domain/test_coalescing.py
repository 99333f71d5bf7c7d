from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sync_engine.domain.coalescing import Decision, Window, Wish, on_end, on_notification

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LENGTH = timedelta(seconds=1)


def wish(after_s: float = 0.0) -> Wish:
    return Wish(NOW + timedelta(seconds=after_s), "acme")


def test_first_notification_of_an_idle_source_passes_at_once() -> None:
    assert on_notification(None, wish(), LENGTH) == Decision(Window(NOW + LENGTH), request=wish())


def test_a_notification_within_the_window_is_held_back() -> None:
    window = Window(NOW + LENGTH)
    assert on_notification(window, wish(0.4), LENGTH) == Decision(Window(NOW + LENGTH, wish(0.4)))


def test_of_those_held_back_the_first_tells_since_when() -> None:
    window = Window(NOW + LENGTH, wish(0.4))
    assert on_notification(window, wish(0.9), LENGTH) == Decision(window)


def test_a_window_that_held_something_back_ends_in_one_request_and_a_new_window() -> None:
    ended_at = NOW + LENGTH
    decision = on_end(Window(ended_at, wish(0.4)), ended_at, LENGTH)
    assert decision == Decision(Window(ended_at + LENGTH), request=wish(0.4))


def test_a_window_that_held_nothing_back_leaves_an_idle_source() -> None:
    assert on_end(Window(NOW), NOW, LENGTH) == Decision(None)


def test_a_window_does_not_end_before_its_time() -> None:
    window = Window(NOW + LENGTH, wish())
    assert on_end(window, NOW, LENGTH) == Decision(window)


def test_after_a_window_that_nobody_ended_yet_the_next_notification_passes_at_once() -> None:
    assert on_notification(Window(NOW - LENGTH), wish(), LENGTH).request == wish()


def test_what_waits_for_a_late_end_is_not_overtaken() -> None:
    window = Window(NOW - LENGTH, wish(-1.5))
    assert on_notification(window, wish(), LENGTH) == Decision(window)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=40).map(sorted))
def test_each_notification_is_followed_by_a_request_within_a_window_and_requests_keep_their_distance(
    arrivals: list[float],
) -> None:
    window: Window | None = None
    requests: list[float] = []

    def carry_out(decision: Decision, at_s: float) -> Window | None:
        if decision.request is not None:
            requests.append(at_s)
        return decision.window

    def end_windows(until_s: float) -> Window | None:
        current = window
        while current is not None and (end_s := (current.ends_at - NOW).total_seconds()) <= until_s:
            current = carry_out(on_end(current, current.ends_at, LENGTH), end_s)
        return current

    for at_s in arrivals:
        window = end_windows(at_s)
        window = carry_out(on_notification(window, wish(at_s), LENGTH), at_s)
    window = end_windows(1_000.0)

    assert window is None
    # Microseconds are what a datetime keeps.
    assert all(any(at_s - 1e-5 <= request <= at_s + 1 + 1e-5 for request in requests) for at_s in arrivals)
    assert all(later - earlier >= 1 - 1e-5 for earlier, later in pairwise(requests))
