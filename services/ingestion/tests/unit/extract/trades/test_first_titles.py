"""The first titles of a paper on one trade say that it is another one than the note, or not the first."""

import pytest
from note_texts import ENGLISH, FRENCH, GERMAN, ITALIAN, SPANISH, read

# The titles of the notes of `note_texts`, in whose place others stand.
TITLES = {
    GERMAN: "Wertpapierabrechnung",
    ENGLISH: ENGLISH.strip().splitlines()[0],
}


def put_title(note: str, title: str) -> str:
    return note.replace(TITLES[note], title).replace("Contract note", "Your trade")


@pytest.mark.parametrize(
    ("note", "title", "doubt"),
    [
        (ENGLISH, "Costs and charges of your trade", "earlier"),
        (GERMAN, "Kosteninformation zu Ihrem Kauf", "earlier"),
        (GERMAN, "Steuerliche Behandlung", "earlier"),
        (ENGLISH, "Capital gains tax computation", "earlier"),
        (GERMAN, "Depotübertrag Eingang", "made"),
        (ENGLISH, "Transfer of securities", "made"),
        (ENGLISH, "Virtual portfolio", "made"),
    ],
)
def test_a_paper_that_begins_with_costs_taxes_or_a_transfer_is_not_the_note(note: str, title: str, doubt: str) -> None:
    assert doubt in read(put_title(note, title)).doubts


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "Tax invoice"),
        (ENGLISH, "Transfer agent services"),
        (GERMAN, "Kostenlose Beratung"),
        (GERMAN, "Steuernummer 12/345/67890"),
        (ENGLISH, "Version 1"),
        (ENGLISH, "Terms and conditions (revised 2025)"),
    ],
)
def test_what_else_stands_above_a_note_does_not_doubt_it(note: str, line: str) -> None:
    assert read(f"{line}\n{note.strip()}").doubts == ()


@pytest.mark.parametrize("title", ["Kosten und Gebühren", "Steuerliche Angaben", "Einbuchung"])
def test_a_heading_below_the_title_of_a_note_is_a_part_of_it(title: str) -> None:
    assert read(GERMAN.replace("Wertpapierabrechnung", f"Wertpapierabrechnung\n{title}")).doubts == ()


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "2nd issue - price adjusted"),
        (ENGLISH, "Version 2"),
        (GERMAN, "Neuausfertigung wegen Kurskorrektur"),
        (GERMAN, "2. Fassung"),
        (FRENCH, "Nouvel avis"),
        (SPANISH, "Liquidación rectificativa"),
        (ITALIAN, "Nota aggiornata"),
    ],
)
def test_a_note_whose_head_says_that_it_is_a_later_issue_is_doubted(note: str, line: str) -> None:
    assert "corrected" in read(f"{line}\n{note.strip()}").doubts
