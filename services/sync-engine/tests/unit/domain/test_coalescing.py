from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sync_engine.domain.coalescing import (
    CoalescingDecision,
    CoalescingWindow,
    PendingRequest,
    decide_on_notification,
    decide_on_window_end,
)

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LENGTH = timedelta(seconds=1)


def pending(after_s: float = 0.0) -> PendingRequest:
    return PendingRequest(NOW + timedelta(seconds=after_s), "acme")


def test_first_notification_of_an_idle_source_passes_at_once() -> None:
    assert decide_on_notification(None, pending(), LENGTH) == CoalescingDecision(
        CoalescingWindow(NOW + LENGTH), request=pending()
    )


def test_a_notification_within_the_window_is_held_back() -> None:
    window = CoalescingWindow(NOW + LENGTH)
    assert decide_on_notification(window, pending(0.4), LENGTH) == CoalescingDecision(
        CoalescingWindow(NOW + LENGTH, pending(0.4))
    )


def test_of_those_held_back_the_first_tells_since_when() -> None:
    window = CoalescingWindow(NOW + LENGTH, pending(0.4))
    assert decide_on_notification(window, pending(0.9), LENGTH) == CoalescingDecision(window)


def test_a_window_that_held_something_back_ends_in_one_request_and_a_new_window() -> None:
    ended_at = NOW + LENGTH
    decision = decide_on_window_end(CoalescingWindow(ended_at, pending(0.4)), ended_at, LENGTH)
    assert decision == CoalescingDecision(CoalescingWindow(ended_at + LENGTH), request=pending(0.4))


def test_a_window_that_held_nothing_back_leaves_an_idle_source() -> None:
    assert decide_on_window_end(CoalescingWindow(NOW), NOW, LENGTH) == CoalescingDecision(None)


def test_a_window_does_not_end_before_its_time() -> None:
    window = CoalescingWindow(NOW + LENGTH, pending())
    assert decide_on_window_end(window, NOW, LENGTH) == CoalescingDecision(window)


def test_after_a_window_that_nobody_ended_yet_the_next_notification_passes_at_once() -> None:
    for ended_at in (NOW - LENGTH, NOW):
        assert decide_on_notification(CoalescingWindow(ended_at), pending(), LENGTH).request == pending()


def test_what_waits_for_a_late_end_is_not_overtaken() -> None:
    window = CoalescingWindow(NOW - LENGTH, pending(-1.5))
    assert decide_on_notification(window, pending(), LENGTH) == CoalescingDecision(window)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=40).map(sorted))
def test_each_notification_is_followed_by_a_request_within_a_window_and_requests_keep_their_distance(
    arrivals: list[float],
) -> None:
    window: CoalescingWindow | None = None
    requests: list[float] = []

    def carry_out(decision: CoalescingDecision, at_s: float) -> CoalescingWindow | None:
        if decision.request is not None:
            requests.append(at_s)
        return decision.window

    def end_windows(until_s: float) -> CoalescingWindow | None:
        current = window
        while current is not None and (end_s := (current.ends_at - NOW).total_seconds()) <= until_s:
            current = carry_out(decide_on_window_end(current, current.ends_at, LENGTH), end_s)
        return current

    for at_s in arrivals:
        window = end_windows(at_s)
        window = carry_out(decide_on_notification(window, pending(at_s), LENGTH), at_s)
    window = end_windows(1_000.0)

    assert window is None
    # Microseconds are what a datetime keeps.
    assert all(any(at_s - 1e-5 <= request <= at_s + 1 + 1e-5 for request in requests) for at_s in arrivals)
    assert all(later - earlier >= 1 - 1e-5 for earlier, later in pairwise(requests))
