"""Readiness and liveness are asked apart, and say which check fails and why."""

from mailroom_common.health import LOOP_STUCK_AFTER_S, Health, HealthMirror


def test_a_process_whose_checks_are_content_has_nothing_to_say() -> None:
    health = Health()
    health.add_readiness("a", lambda: None)
    health.add_liveness("b", lambda: None)
    assert (health.failing_readiness(), health.failing_liveness()) == ({}, {})


def test_a_failing_check_is_named_with_its_sentence_and_only_on_its_side() -> None:
    health = Health()
    health.add_readiness("database", lambda: "is away")
    health.add_readiness("kafka", lambda: None)
    health.add_liveness("loop", lambda: "hangs")
    assert health.failing_readiness() == {"database": "is away"}
    assert health.failing_liveness() == {"loop": "hangs"}


def test_checks_are_asked_each_time() -> None:
    answers: list[str | None] = ["not yet", None]
    health = Health()
    health.add_readiness("start", lambda: answers.pop(0))
    assert (health.failing_readiness(), health.failing_readiness()) == ({"start": "not yet"}, {})


def test_mirror_answers_what_the_checks_said_when_it_was_refreshed() -> None:
    answers: list[str | None] = ["not yet"]
    health = Health()
    health.add_readiness("a", lambda: answers[0])
    mirror = HealthMirror(health)
    answers[0] = None
    health.set_detail("layers", 3)
    assert (mirror.failing_readiness(), mirror.read_details()) == ({"a": "not yet"}, {})
    mirror.refresh()
    assert (mirror.failing_readiness(), mirror.read_details()) == ({}, {"layers": 3})


def test_mirror_that_nobody_refreshes_says_that_the_loop_is_stuck() -> None:
    now_s = 100.0
    mirror = HealthMirror(Health(), lambda: now_s)
    now_s += LOOP_STUCK_AFTER_S
    assert mirror.failing_liveness() == {}
    now_s += 1
    assert mirror.failing_liveness() == {"loop": "the process did nothing for 16 s"}
    assert "loop" in mirror.failing_readiness()
    mirror.refresh()
    assert mirror.failing_liveness() == {}
