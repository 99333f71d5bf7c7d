"""Drawn notes are read as they were drawn: one of each layout that rules were made on, in turn of the languages."""

import pytest
from reading_quality.drawn_notes import NOTE_LAYOUTS, DrawnNote, draw_notes
from reading_quality.judging import Verdict
from reading_quality.trade_judging import has_same_trades, judge_single_trade

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.note import read_note

NOTES = [note for note in draw_notes() if not note.is_left_out]
LAYOUTS = len(NOTES) // 7
IN_TURN = [NOTES[number % 7 * LAYOUTS + number] for number in range(LAYOUTS)]


def test_seven_languages_have_each_layout_once_with_each_set_of_words() -> None:
    assert len({note.family for note in draw_notes()}) == 7 * 2 * len(NOTE_LAYOUTS)


@pytest.mark.parametrize("note", IN_TURN, ids=lambda note: note.family)
def test_a_drawn_note_is_read_and_certain(note: DrawnNote) -> None:
    found = read_note(Transcript.from_rows(note.text.splitlines()).lines)
    trades = [reading.trade.to_json() for reading in found.trades]
    reading = {"status": "", "reason": None, "confidence": found.confidence, "extraction": {"trades": trades}}
    if len(note.truth["trades"]) == 1:
        assert set(judge_single_trade(note.truth, reading).verdicts.values()) == {Verdict.RIGHT}
    assert has_same_trades(note.truth["trades"], trades)
    assert found.confidence >= 0.9
