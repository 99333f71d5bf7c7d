"""Readiness and liveness are asked apart, and say which check fails and why."""

from mailroom_common.health import Health


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
