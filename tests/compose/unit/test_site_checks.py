"""What the test says of Prometheus's targets."""

from mailroom_compose.site_checks import list_down

TARGETS = {
    "data": {"activeTargets": [{"labels": {"job": "a"}, "health": "up"}, {"labels": {"job": "b"}, "health": "down"}]}
}


def test_a_process_that_is_no_target_or_not_up_is_named() -> None:
    assert list_down(TARGETS, ["a"]) == []
    assert list_down(TARGETS, ["a", "b", "c"]) == ["b is down", "c is no target"]
