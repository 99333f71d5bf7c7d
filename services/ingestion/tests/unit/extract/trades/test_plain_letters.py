"""What a text layer does to letters, and what a reader sees all the same."""

import re

import pytest
from note_texts import EXPECTED, GERMAN, read, read_only

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.plain_letters import restore_letters


def restore(*rows: str) -> list[str]:
    return [line.text for line in restore_letters(Transcript.from_rows(rows).lines)]


@pytest.mark.parametrize(
    ("parted", "joined"),
    [
        ("H a n d e l s t a g : 1 5 . 0 1 . 2 0 2 6", "Handelstag: 15.01.2026"),
        ("K u r s w e r t EUR 1 . 2 0 5 , 5 0", "Kurswert EUR 1.205,50"),
        ("S t . 1 0 , 1 5 0 EUR 2 0 , 5 0", "St. 10,150 EUR 20,50"),
        ("U n s e r e A u f t r a g s n u m m e r", "Unsere Auftragsnummer"),
        ("Spalte 1 2 3 4 5 6", "Spalte 1 2 3 4 5 6"),
        ("A B C", "A B C"),
    ],
)
def test_words_and_amounts_whose_letters_are_parted_are_joined(parted: str, joined: str) -> None:
    assert restore(parted) == [joined]


def test_umlauts_of_seven_bits_are_read_where_a_document_has_several() -> None:
    assert restore("Gesch{ftstag", "Ausf}hrung", "B|rse") == ["Geschäftstag", "Ausführung", "Börse"]
    assert restore("Ausf}hrung") == ["Ausf}hrung"]


def test_a_note_whose_letters_are_parted_is_read() -> None:
    parted = "\n".join(
        " ".join(" ".join(word) if len(word) > 2 else word for word in line.split(" "))
        if "ISIN" not in line and "DE00" not in line and "zulasten" not in line
        else line
        for line in GERMAN.splitlines()
    )
    assert "K u r s w e r t" in parted
    assert {name: read_only(parted)[name] for name in EXPECTED} == EXPECTED
    assert read(parted).has_trades


def test_blanks_that_some_letters_have_behind_them_part_no_words() -> None:
    lines = [re.sub(r"(?<=[aukwzstHUKEA]) ", "  ", line) for line in GERMAN.splitlines()]
    spaced = "\n".join(re.sub(r"(?<=[aukwzstHUKEA])(?=[^\s\d])", " ", line) for line in lines)
    assert "K u rs w ert" in spaced
    trade = read_only(spaced)
    assert {name: trade[name] for name in EXPECTED} == EXPECTED


def test_letters_that_stand_in_front_of_blanks_by_chance_join_no_words() -> None:
    rows = [*GERMAN.strip().splitlines(), *["Reihe Q bis X und Y bis J und C bis W 4"] * 2]
    assert restore(*rows) == [line.text for line in Transcript.from_rows(rows).lines]
