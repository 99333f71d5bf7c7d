from contextlib import ExitStack
from heapq import heapify, heappop, heappush
from random import Random

import pytest

from ingestion.domain.ocr_turns import LONGEST_PAUSE_S, OCRBusy, OCRTurns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def find_pause(turns: OCRTurns, queue: str = "") -> float:
    with pytest.raises(OCRBusy) as busy, turns.take_turn(queue):
        pass
    return busy.value.retry_in_s


def test_as_many_documents_as_there_are_places_have_their_turn_at_once() -> None:
    turns = OCRTurns(2, Clock())
    with turns.take_turn(), turns.take_turn(), pytest.raises(OCRBusy), turns.take_turn():
        pass


def test_a_place_is_free_again_whatever_became_of_its_document() -> None:
    turns = OCRTurns(1, Clock())
    with pytest.raises(ValueError, match="broken"), turns.take_turn():
        raise ValueError("broken")
    with turns.take_turn():
        pass


def test_those_that_wait_are_told_to_come_one_after_the_other() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        assert [find_pause(turns) for _ in range(3)] == [5.0, 7.5, 10.0]


def test_turns_are_as_long_as_documents_take() -> None:
    clock = Clock()
    turns = OCRTurns(1, clock)
    for _ in range(40):
        with turns.take_turn():
            clock.now += 20.0
    with turns.take_turn():
        assert [find_pause(turns) for _ in range(2)] == pytest.approx([20.0, 30.0], rel=0.01)


def test_however_many_wait_none_is_told_to_stay_away_for_more_than_hours() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        assert max(find_pause(turns) for _ in range(9000)) == LONGEST_PAUSE_S


def test_a_thousand_scans_of_one_mailbox_keep_no_others_waiting() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        last = [find_pause(turns, "flood") for _ in range(1000)][-1]
        assert last == pytest.approx(2502.5)
        assert find_pause(turns, "other") == 5.0, "as the first of the flood"
        assert find_pause(turns, "flood") == pytest.approx(2505.0)


def test_of_two_mailboxes_that_wait_each_is_told_to_come_half_as_often() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        [find_pause(turns, "other") for _ in range(3)]
        assert [find_pause(turns, "flood") for _ in range(4)] == [5.0, 10.0, 12.5, 15.0]


def test_a_place_that_becomes_free_is_kept_for_the_mailbox_that_has_had_none_for_longest() -> None:
    clock = Clock()
    turns = OCRTurns(1, clock)
    with turns.take_turn("flood"):
        find_pause(turns, "flood")
        other = find_pause(turns, "other")
        clock.now += 3.0
    find_pause(turns, "flood")
    clock.now += other - 3.0
    with turns.take_turn("other"):
        clock.now += 5.0
    with turns.take_turn("flood"):
        pass


def test_a_place_is_not_kept_for_whoever_does_not_come() -> None:
    """Another worker has read its document, most likely."""
    clock = Clock()
    turns = OCRTurns(1, clock)
    with turns.take_turn("flood"):
        clock.now += find_pause(turns, "other")
    find_pause(turns, "flood")
    clock.now += 3.0
    with turns.take_turn("flood"):
        pass


def test_one_picture_beside_hundreds_of_another_mailbox_is_read_within_three_documents_time() -> None:
    """By luck alone it found the place free after twenty documents now and then."""
    for arrives_at in (20.0, 21.3, 22.1, 23.7, 24.9):
        waited, taken_share = play_flood(arrives_at)
        assert waited < 3 * 5.0
        assert taken_share > 0.75, "the place is not kept free for long"


def play_flood(arrives_at: float) -> tuple[float, float]:
    """Three hundred pictures of one mailbox, of 3 to 7 s each, and one of another; how long that one waits, and for how
    much of the time the only place is taken."""
    clock = Clock()
    clock.now = 0.0
    turns, random = OCRTurns(1, clock), Random(13)
    coming = [(number * 0.05, "flood") for number in range(300)] + [(arrives_at, "other")]
    heapify(coming)
    busy_until = spent = 0.0
    current = ExitStack()
    while coming:
        due, queue = heappop(coming)
        if due >= busy_until:
            clock.now = max(clock.now, busy_until)
            current.close()
        clock.now = due
        try:
            current.enter_context(turns.take_turn(queue))
        except OCRBusy as busy:
            heappush(coming, (due + busy.retry_in_s + 0.2, queue))
            continue
        if queue == "other":
            return due - arrives_at, spent / due
        took = random.uniform(3.0, 7.0)
        busy_until, spent = due + took, spent + took
    raise AssertionError("it never had its turn")


def test_what_waits_for_ocr_does_not_come_back_each_few_minutes() -> None:
    """Each time its text layer is read anew, by a parser process that others need."""
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        due = [find_pause(turns, "flood") for _ in range(1000)]
    assert sum(pause_s <= 600 for pause_s in due) == 239
