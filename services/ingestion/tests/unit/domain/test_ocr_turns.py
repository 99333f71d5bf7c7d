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
        assert [find_pause(turns) for _ in range(3)] == [2.5, 5.0, 7.5]


def test_turns_are_as_long_as_documents_take() -> None:
    clock = Clock()
    turns = OCRTurns(1, clock)
    for _ in range(40):
        with turns.take_turn():
            clock.now += 20.0
    with turns.take_turn():
        assert find_pause(turns) == pytest.approx(10.0, rel=0.01)


def test_however_many_wait_none_is_told_to_stay_away_for_more_than_hours() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        assert max(find_pause(turns) for _ in range(9000)) == LONGEST_PAUSE_S


def test_a_thousand_scans_of_one_mailbox_keep_no_others_waiting() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        last = [find_pause(turns, "flood") for _ in range(1000)][-1]
        assert last == pytest.approx(2500.0)
        assert find_pause(turns, "other") == 5.0, "beside the first of the flood"
        assert find_pause(turns, "flood") == pytest.approx(2505.0), "its own come half as often meanwhile"


def test_what_waits_for_ocr_does_not_come_back_each_few_minutes() -> None:
    """Each time its text layer is read anew, by a parser process that others need."""
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        due = [find_pause(turns, "flood") for _ in range(1000)]
    assert sum(pause_s <= 600 for pause_s in due) == 240
