import pytest

from ingestion.domain.ocr_turns import LONGEST_PAUSE_S, OCRBusy, OCRTurns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def find_pause(turns: OCRTurns) -> float:
    with pytest.raises(OCRBusy) as busy, turns.take_turn():
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
        assert [find_pause(turns) for _ in range(3)] == [5.0, 10.0, 15.0]


def test_turns_are_as_long_as_documents_take() -> None:
    clock = Clock()
    turns = OCRTurns(1, clock)
    for _ in range(40):
        with turns.take_turn():
            clock.now += 20.0
    with turns.take_turn():
        assert find_pause(turns) == pytest.approx(20.0, rel=0.01)


def test_however_many_wait_none_is_told_to_stay_away_for_long() -> None:
    turns = OCRTurns(1, Clock())
    with turns.take_turn():
        assert max(find_pause(turns) for _ in range(200)) == LONGEST_PAUSE_S
