from mailroom_common.kafka.watchdog import StallDetector


def test_a_reader_that_stands_still_short_of_the_end_is_found_after_a_minute() -> None:
    stalls: StallDetector[str] = StallDetector()

    assert stalls.find_stalled(0, {"p": 5}, {"p": 9}) == []
    assert stalls.find_stalled(59, {"p": 5}, {"p": 12}) == []
    assert stalls.find_stalled(60, {"p": 5}, {"p": 12}) == ["p"]


def test_a_reader_that_moves_is_left_alone_however_far_behind() -> None:
    stalls: StallDetector[str] = StallDetector()

    found = [stalls.find_stalled(at, {"p": at}, {"p": 1_000_000}) for at in range(0, 600, 10)]

    assert not any(found)


def test_a_reader_at_the_end_may_rest_for_ever() -> None:
    stalls: StallDetector[str] = StallDetector()

    assert stalls.find_stalled(0, {"p": 9}, {"p": 9}) == []
    assert stalls.find_stalled(9_999, {"p": 9}, {"p": 9}) == []


def test_the_minute_begins_anew_for_a_partition_that_was_held_meanwhile() -> None:
    stalls: StallDetector[str] = StallDetector()

    stalls.find_stalled(0, {"p": 5}, {"p": 9})
    stalls.find_stalled(30, {}, {})

    assert stalls.find_stalled(70, {"p": 5}, {"p": 9}) == []
    assert stalls.find_stalled(130, {"p": 5}, {"p": 9}) == ["p"]


def test_a_reader_whose_partition_has_no_known_end_is_left_alone() -> None:
    stalls: StallDetector[str] = StallDetector()

    assert stalls.find_stalled(0, {"p": 0}, {}) == []
    assert stalls.find_stalled(9_999, {"p": 0}, {}) == []
