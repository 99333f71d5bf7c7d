"""A note that says of itself that it counts no more is no new trade."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH, read


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "CONTRACT NOTE - VOID"),
        (ENGLISH, "Contract note: this trade has been busted by the exchange"),
        (ENGLISH, "THIS NOTE IS NULL AND VOID"),
        (ENGLISH, "Rescission of contract note"),
        (ENGLISH, "Contract note - Trade Break"),
        (ENGLISH, "AS OF trade - rebill"),
        (GERMAN, "Rückabwicklung Wertpapierabrechnung"),
        (GERMAN, "Mistrade - Aufhebung des Geschäfts"),
        (GERMAN, "Diese Abrechnung ist ungültig."),
        (GERMAN, "Gegenbuchung Wertpapierabrechnung"),
        (FRENCH, "Le présent avis est nul et non avenu."),
        (FRENCH, "Extourne d'avis d'opéré"),
        (FRENCH, "Contre-passation avis d'opéré"),
        (ITALIAN, "La presente nota è priva di effetto."),
        (ITALIAN, "Revoca nota informativa di eseguito"),
        (SPANISH, "Retrocesión de operación"),
        (SPANISH, "Esta operación queda sin efecto."),
        (DUTCH, "Tegenboeking nota effectentransactie"),
        (DUTCH, "Deze nota is ingetrokken."),
        (PORTUGUESE, "Esta nota fica sem efeito."),
        (PORTUGUESE, "Reversão da nota de execução"),
    ],
)
def test_a_note_that_counts_no_more_is_no_new_trade(note: str, line: str) -> None:
    assert "corrected" in read(f"{line}\n{note.strip()}").doubts


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "Cancellation rights: none apply to this transaction"),
        (ENGLISH, "You do not have the right of cancellation"),
        (ENGLISH, "An order that has been executed cannot be cancelled."),
        (GERMAN, "Eine Stornierung ist nach Ausführung nicht mehr möglich."),
        (FRENCH, "Toute annulation de cet ordre est impossible après exécution."),
        (ITALIAN, "L'annullamento non è possibile."),
        (SPANISH, "La anulación de la orden no es posible."),
        (DUTCH, "Annulering is niet mogelijk."),
        (PORTUGUESE, "O cancelamento não é possível."),
    ],
)
def test_what_the_terms_say_on_cancelling_cancels_nothing(note: str, line: str) -> None:
    reading = read(f"{note.strip()}\n{line}")
    assert not reading.trades[0].trade.is_cancellation
    assert reading.doubts == ()


@pytest.mark.parametrize(
    "line", ["Void where prohibited by law", "Rules on void trades", "Les règles sur les avis nuls et non avenus"]
)
def test_what_is_void_in_general_makes_no_note_void(line: str) -> None:
    assert read(f"{ENGLISH.strip()}\n{line}").doubts == ()
