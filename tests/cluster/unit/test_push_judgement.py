"""The judgement of pushes fails where a provider would have been left without an answer."""

from mailroom_cluster.push_judgement import Push, judge_pushes

GOOD = [Push(float(number), 0.02, 202) for number in range(2999)]


def test_answers_in_time_pass_and_a_503_is_an_answer() -> None:
    report = judge_pushes([*GOOD, Push(10.0, 1.0, 503)], [])
    assert report.find_violations() == []
    assert report.statuses == {202: 2999, 503: 1}


def test_too_few_pushes_prove_nothing() -> None:
    (violation,) = judge_pushes(GOOD, []).find_violations()
    assert "only 2999 pushes" in violation


def test_three_late_answers_of_three_thousand_pass_and_four_do_not() -> None:
    late = Push(10.0, 2.91, 202)
    assert judge_pushes([*GOOD[:2997], *[late] * 3], []).find_violations() == []
    (violation,) = judge_pushes([*GOOD[:2996], *[late] * 4], []).find_violations()
    assert "4 late" in violation


def test_a_connection_that_a_killed_gateway_reset_is_counted_apart() -> None:
    reset = [Push(100.5, 0.01, None)] * 50
    report = judge_pushes([*GOOD, *reset], [100.0])
    assert (report.reset, report.unanswered, report.find_violations()) == (50, 0, [])


def test_a_connection_that_broke_while_no_gateway_was_killed_is_a_missing_answer() -> None:
    broken = [Push(500.0, 0.01, None)] * 50
    report = judge_pushes([*GOOD, *broken], [100.0])
    assert (report.reset, report.unanswered) == (0, 50)
    assert report.unanswered_after_s[0] == (500.0, 0.01)
    (violation,) = report.find_violations()
    assert "50 without an answer" in violation


def test_a_push_that_was_under_way_when_the_gateway_was_killed_is_a_reset() -> None:
    assert judge_pushes([Push(98.0, 2.5, None)], [100.0]).reset == 1
    assert judge_pushes([Push(98.0, 1.5, None)], [100.0]).reset == 0


def test_no_push_at_all_is_no_success() -> None:
    assert len(judge_pushes([], []).find_violations()) == 2
