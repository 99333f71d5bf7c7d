"""Which note is taken back, by the number that a cancellation or a corrected note names."""

import pytest
from note_texts import GERMAN, read, read_only

NUMBERED = GERMAN.replace("Wertpapierabrechnung", "Wertpapierabrechnung\nAbrechnungs-Nr. 77310045")


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("Wir stornieren unsere Abrechnung Nr. 77309918 vom 01.10.2026:", "77309918"),
        ("Storno der Wertpapierabrechnung 4711-22", "4711-22"),
        ("This note cancels contract note no. B 26/0048113", "B 26/0048113"),
        ("Annulation de l'avis d'opéré n° 26110488-V", "26110488-V"),
        ("La presente annulla la nota informativa n. NE 2026/10554", "NE 2026/10554"),
    ],
)
def test_the_reference_of_a_cancellation_is_the_note_that_it_takes_back(sentence: str, number: str) -> None:
    trade = read_only(f"Storno / Cancellation\n{sentence}{NUMBERED}")
    assert (trade["is_cancellation"], trade["reference"]) == (True, number)


def test_a_cancellation_that_names_no_note_has_its_own_reference() -> None:
    trade = read_only(f"Storno der Abrechnung vom 01.10.2026{NUMBERED}")
    assert (trade["is_cancellation"], trade["reference"]) == (True, "77310045")


@pytest.mark.parametrize(
    "sentence",
    [
        "Diese Abrechnung ersetzt die Abrechnung W-5520914 vom 05.11.2026, die hiermit storniert wird.",
        "Sie ersetzt Abrechnung W-5520914 (storniert)",
        "Cet avis annule et remplace l'avis d'opéré n° W-5520914",
        "This confirmation replaces contract note\nno. W-5520914",
    ],
)
def test_a_corrected_note_makes_its_trade_and_takes_back_that_of_the_note_that_it_names(sentence: str) -> None:
    made, taken_back = (found.trade for found in read(f"{NUMBERED}{sentence}").trades)
    assert (made.is_cancellation, made.reference, str(made.settled_amount)) == (False, "77310045", "209.95")
    assert (taken_back.is_cancellation, taken_back.reference, taken_back.settled_amount) == (True, "W-5520914", None)
    assert (taken_back.quantity, taken_back.trade_date) == (made.quantity, made.trade_date)


@pytest.mark.parametrize(
    "title", ["Korrigierte Wertpapierabrechnung", "Corrected contract note", "Avis d'opéré rectificatif"]
)
def test_a_corrected_note_that_names_no_other_one_is_a_doubt(title: str) -> None:
    assert read(NUMBERED.replace("Wertpapierabrechnung\n", f"{title}\n")).doubts == ("corrected",)
    assert read(NUMBERED).doubts == ()
