"""Which note is taken back, by the number that a cancellation or a corrected note names."""

import pytest
from note_texts import GERMAN, LANGUAGES, read, read_only

NUMBERED = GERMAN.replace("Wertpapierabrechnung", "Wertpapierabrechnung\nAbrechnungs-Nr. 77310045")


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("Wir stornieren unsere Abrechnung Nr. 77309918 vom 01.10.2026:", "77309918"),
        ("Storno der Wertpapierabrechnung 4711-22", "4711-22"),
        ("Die Abrechnung Nr. 77309918 vom 01.10.2026 ist gegenstandslos.", "77309918"),
        ("This note cancels contract note no. B 26/0048113", "B 26/0048113"),
        ("Contract note no. B 26/0048113 is hereby cancelled.", "B 26/0048113"),
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
        "Diese Abrechnung tritt an die Stelle der Abrechnung Nr. W-5520914",
        "Sie ersetzt Abrechnung W-5520914 (storniert)",
        "Ersetzt unsere Abrechnung vom 05.11.2026 mit der Nummer W-5520914.",
        "Neuabrechnung zur Abrechnung Nr. W-5520914",
        "Die Abrechnung W-5520914 vom 05.11.2026 wird damit gegenstandslos.",
        "Berichtigung der Wertpapierabrechnung W-5520914",
        "Storniert und neu abgerechnet, ersetzt Abrechnung W-5520914",
        "This confirmation replaces contract note\nno. W-5520914",
        "This note replaces our earlier one (No. W-5520914)",
        "This contract note corrects contract note no. W-5520914 of 5 November 2026",
        "Amends trade confirmation W-5520914",
        "Contract note no. W-5520914 is superseded by this note.",
        "It supersedes the previous contract note, number W-5520914",
        "Cet avis annule et remplace l'avis d'opéré n° W-5520914",
        "Le présent avis rectifie l'avis n° W-5520914",
        "L'avis d'opéré n° W-5520914 est sans objet.",
        "Esta liquidación sustituye a la liquidación n.º W-5520914",
        "La presente confirmación anula y sustituye la confirmación nº W-5520914",
        "En sustitución de la nota de operación n.º W-5520914",
        "La presente nota sostituisce la nota informativa n. W-5520914",
        "La presente annulla e sostituisce la nota n. W-5520914",
        "A rettifica della nota informativa n. W-5520914",
        "Deze nota vervangt de transactienota nr. W-5520914",
        "Deze afrekening corrigeert afrekening nr. W-5520914",
        "Esta nota substitui a nota de negociação n.º W-5520914",
        "Esta confirmação retifica a confirmação n.º W-5520914",
    ],
)
def test_a_corrected_note_makes_its_trade_and_takes_back_that_of_the_note_that_it_names(sentence: str) -> None:
    made, taken_back = (found.trade for found in read(f"{NUMBERED}{sentence}").trades)
    assert (made.is_cancellation, made.reference, str(made.settled_amount)) == (False, "77310045", "209.95")
    assert (taken_back.is_cancellation, taken_back.reference, taken_back.settled_amount) == (True, "W-5520914", None)
    assert (taken_back.quantity, taken_back.trade_date) == (made.quantity, made.trade_date)


@pytest.mark.parametrize(
    "line",
    [
        "Korrigierte Wertpapierabrechnung",
        "Wertpapierabrechnung (korrigiert)",
        "Berichtigte",
        "KORREKTUR",
        "Korrekturabrechnung",
        "Korrigierte Fassung vom 12.10.2026",
        "Neuabrechnung",
        "Diese Abrechnung ersetzt unsere Abrechnung vom 05.11.2026.",
        "Unsere frühere Abrechnung ist damit gegenstandslos.",
        "Ihr Geschäft wurde storniert und neu abgerechnet.",
        "Wir berichtigen hiermit unsere Abrechnung vom 05.11.2026",
        "Corrected contract note",
        "*** AMENDED ***",
        "Corrected copy",
        "REVISED CONFIRMATION",
        "Replacement contract note",
        "This contract note replaces our earlier one.",
        "This confirmation supersedes the confirmation dated 5 May 2026.",
        "We have corrected your contract note.",
        "Avis d'opéré rectificatif",
        "Rectificatif",
        "ANNULE ET REMPLACE",
        "Cet avis annule et remplace le précédent.",
        "Nous avons rectifié votre avis d'opéré.",
        "Confirmación rectificada",
        "Rectificación",
        "Esta liquidación sustituye a la anterior.",
        "Anula y sustituye",
        "Nota informativa rettificativa",
        "Rettifica",
        "La presente nota sostituisce la precedente.",
        "Annulla e sostituisce",
        "Gecorrigeerde transactienota",
        "Correctie",
        "Deze nota vervangt de eerdere nota.",
        "Nota de execução retificada",
        "Retificação",
        "Esta nota substitui a anterior.",
        "Anula e substitui",
    ],
)
@pytest.mark.parametrize("place", ["above", "below"])
def test_a_corrected_note_that_names_no_other_one_takes_back_a_trade_that_it_does_not_name(
    line: str, place: str
) -> None:
    title, rest = NUMBERED.strip("\n").split("\n", 1)
    found = read(f"{line}\n{title}\n{rest}" if place == "above" else f"{title}\n{line}\n{rest}")
    made, taken_back = (reading.trade for reading in found.trades)
    assert (made.is_cancellation, made.reference) == (False, "77310045")
    assert (taken_back.is_cancellation, taken_back.reference) == (True, None)
    assert "corrected" in found.doubts


@pytest.mark.parametrize(
    "sentence",
    [
        "This confirmation replaces any oral agreement.",
        "This confirmation supersedes all prior confirmations and agreements between us.",
        "This confirmation supersedes prior confirmations by telephone.",
        "These terms replace the previous terms.",
        "Please report errors within five days; corrections will be made promptly.",
        "If this contract note is incorrect, a corrected contract note will be sent.",
        "A corrected contract note may be sent to you",
        "Should you receive this confirmation twice, it replaces the earlier one.",
        "Falls Sie mehrere erhalten, ersetzt die letzte Abrechnung unsere frühere Abrechnung.",
        "En cas d'erreur, un nouvel avis remplace le précédent.",
        "Corrections are marked.",
        "Order amendments and cancellations are free of charge.",
        "Diese Abrechnung ersetzt keine Steuerbescheinigung.",
        "Diese Abrechnung wird nicht unterschrieben und ersetzt alle mündlichen Absprachen.",
        "Korrekturen werden seitens der Bank gekennzeichnet.",
        "Sollte die Abrechnung fehlerhaft sein, erhalten Sie eine korrigierte Abrechnung.",
        "Fehlerhafte Geschäfte werden nach unseren Bedingungen für Wertpapiergeschäfte storniert und neu abgerechnet.",
        "Das Preisverzeichnis vom 01.07.2026 ersetzt das bisherige.",
        "La présente grille tarifaire, en vigueur depuis le 1er juillet 2026, annule et remplace la précédente.",
        "Les présentes conditions remplacent les précédentes.",
        "Si cet avis est erroné, un avis d'opéré rectificatif vous sera adressé.",
        "Le presenti condizioni sostituiscono le precedenti.",
        "Esta confirmación no sustituye al certificado fiscal.",
        "En caso de error se enviará una confirmación rectificada, que será gratuita.",
        "Deze nota vervangt geen fiscaal attest.",
        "Indien deze nota onjuist is, ontvangt u een gecorrigeerde transactienota.",
        "Esta nota não substitui a declaração fiscal.",
    ],
)
def test_small_print_about_corrections_is_none(sentence: str) -> None:
    title, rest = NUMBERED.strip("\n").split("\n", 1)
    for text in (f"{NUMBERED}{sentence}", f"{title}\n{sentence}\n{rest}"):
        found = read(text)
        assert found.doubts == ()
        assert [reading.trade.is_cancellation for reading in found.trades] == [False]


@pytest.mark.parametrize("text", LANGUAGES.values(), ids=LANGUAGES)
def test_an_ordinary_note_takes_nothing_back(text: str) -> None:
    found = read(text)
    assert (found.doubts, len(found.trades)) == ((), 1)


def test_the_number_that_a_corrected_note_names_is_not_its_own() -> None:
    text = GERMAN.replace("Wertpapierabrechnung", "Wertpapierabrechnung\nErsetzt Auftrag Nr. 77309918")
    made, taken_back = (found.trade for found in read(text).trades)
    assert (made.reference, taken_back.reference) == (None, "77309918")
    kept = text.replace("Valuta", "Auftrags-Nr. 77309918\nValuta")
    made, taken_back = (found.trade for found in read(kept).trades)
    assert (made.reference, taken_back.reference) == ("77309918", "77309918")


def test_a_corrected_note_of_several_trades_is_a_doubt() -> None:
    several = f"{NUMBERED}{NUMBERED.replace('77310045', '77310046').replace('DE0008404005', 'DE0007164600')}"
    assert read(several).doubts == ()
    assert "corrected" in read(f"Korrektur\n{several}").doubts


@pytest.mark.parametrize(
    "line",
    [
        "Reissued contract note",
        "Re-issue",
        "Status: Amended",
        "Version 2 (amended)",
        "Correction of price",
        "Cancel and rebook",
        "Cancel/Correct",
        "Please disregard the contract note sent to you on 14 January 2026.",
        "Please ignore our previous contract note.",
        "Storno und Neuabrechnung",
        "Stornierung und Neuausführung",
        "Neuabrechnung wegen Kurskorrektur",
        "Kurskorrektur",
        "2. Ausfertigung - berichtigt",
        "Unsere Abrechnung Nr. 4711 bitten wir zu vernichten.",
        "Die Abrechnung vom 14.01.2026 verliert ihre Gültigkeit.",
        "Merci de ne pas tenir compte de l'avis du 14/01/2026.",
        "Duplicado corregido",
        "Rectificación de la operación 4711",
        "Correctienota",
    ],
)
def test_a_note_that_says_in_other_words_that_it_is_another_one_never_counts_beside_it(line: str) -> None:
    for text in (f"{line}\n{GERMAN.strip()}", f"{GERMAN.strip()}\n{line}"):
        assert "corrected" in read(text).doubts
