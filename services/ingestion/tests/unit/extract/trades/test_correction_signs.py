"""What a note says in few words when it stands in place of another one."""

import pytest
from note_texts import GERMAN, read

NUMBERED = GERMAN.replace("Wertpapierabrechnung", "Wertpapierabrechnung\nAbrechnungs-Nr. 77310045")
TITLE, REST = NUMBERED.strip("\n").split("\n", 1)


def list_places(line: str) -> list[str]:
    return [f"{line}\n{TITLE}\n{REST}", f"{TITLE}\n{line}\n{REST}", f"{TITLE}\n{REST}\n{line}"]


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("Rebooked: replaces CN-4711", "CN-4711"),
        ("Replaces contract CN-4711", "CN-4711"),
        ("Ersetzt 4711-22", "4711-22"),
        ("Remplace CN-4711", "CN-4711"),
        ("Sustituye a la nº 4711", "4711"),
        ("Sostituisce la n. 4711", "4711"),
        ("Vervangt CN-4711", "CN-4711"),
        ("Substitui CN-4711", "CN-4711"),
        ("Erstatter CN-4711", "CN-4711"),
        ("Ersätter avräkningsnota 4711", "4711"),
        ("Zastępuje potwierdzenie nr 4711", "4711"),
    ],
)
def test_a_number_behind_the_word_for_replacing_is_that_of_the_note_taken_back(line: str, number: str) -> None:
    for text in list_places(line):
        made, taken_back = (found.trade for found in read(text).trades)
        assert (made.reference, taken_back.reference, taken_back.is_cancellation) == ("77310045", number, True)


@pytest.mark.parametrize(
    "line",
    [
        "Our contract note of 14 January 2026 contained an error and should be disregarded.",
        "Contract note CN-4711 contained an error.",
        "The previous contract note should be ignored.",
        "Unsere Abrechnung vom 14.01.2026 enthielt einen Fehler und sollte nicht beachtet werden.",
        "L'avis du 14/01/2026 comportait une erreur et ne doit pas être pris en compte.",
        "La nota del 14/01/2026 contenía un error y debe ignorarse.",
        "La nota del 14/01/2026 conteneva un errore e deve essere ignorata.",
        "De nota van 14-01-2026 bevatte een fout en dient te worden genegeerd.",
        "A nota de 14/01/2026 continha um erro e deve ser desconsiderada.",
        "Afregningen af 14.01.2026 indeholdt en fejl og bortfalder.",
        "REPRINT - corrected price",
        "COPY - amended quantity",
        "Neudruck mit korrigiertem Kurs",
        "Nachdruck mit berichtigtem Preis",
        "Réimpression - cours corrigé",
        "Reimpresión con precio corregido",
        "Ristampa con prezzo corretto",
        "Herdruk met gecorrigeerde koers",
        "Reimpressão com preço corrigido",
        "Omtryck med rättad kurs",
        "Price corrected",
        "Korrigierter Kurs: 20,50 EUR",
        "Rättelse",
        "Denna nota ersätter tidigare nota.",
        "Korekta",
    ],
)
def test_what_says_that_an_earlier_note_was_wrong_is_for_a_person(line: str) -> None:
    for text in list_places(line):
        assert "corrected" in read(text).doubts


@pytest.mark.parametrize(
    "line",
    [
        "REPRINT",
        "Duplicate - for your records",
        "Neudruck",
        "Zweitschrift",
        "Duplicata",
        "Ristampa",
        "Segunda via",
        "If this contract note contained an error, it should be disregarded.",
        "Should you receive this confirmation twice, the earlier confirmation should be ignored.",
        "Wenn Sie die frühere Abrechnung erhalten haben, ist sie zu ignorieren.",
        "Si cet avis du 14/01/2026 comportait une erreur, il doit être ignoré.",
        "This confirmation of 14 January 2026 should be retained.",
        "Directive 2014/65/EU replaces 2004/39/EC.",
        "Copy for correction purposes may be sent",
        "Limit changed on 14/01/2026",
    ],
)
def test_a_plain_copy_and_what_may_happen_take_nothing_back(line: str) -> None:
    for text in list_places(line):
        found = read(text)
        assert (found.doubts, len(found.trades)) == ((), 1)


@pytest.mark.parametrize(
    "title",
    [
        "Storno der Wertpapierabrechnung",
        "CANCELLED Contract note",
        "Annulation de l'avis d'opéré",
        "Anulación de la confirmación",
        "Annullamento della nota informativa",
        "Geannuleerde transactienota: geannuleerd",
        "Cancelamento da nota",
        "Annulleret fondsafregning",
        "Makulerad avräkningsnota",
        "Kansellert sluttseddel",
        "Anulowane potwierdzenie transakcji",
        "Zrušené potvrzení obchodu",
        "STORNO potvrzení obchodu",
    ],
)
def test_in_each_language_a_title_says_that_a_trade_is_cancelled(title: str) -> None:
    trades = [found.trade for found in read(NUMBERED.replace("Wertpapierabrechnung", title)).trades]
    assert [trade.is_cancellation for trade in trades] == [True]


@pytest.mark.parametrize(
    "line",
    [
        "Korrigierte Wertpapierabrechnung",
        "Wertpapierabrechnung (neu erstellt)",
        "CONTRACT NOTE (CORRECTIVE)",
        "SECOND ISSUE",
        "Version 2 - reissued following price amendment",
        "Please shred the note we sent yesterday.",
        "Wir bitten, die fehlerhafte Abrechnung vom 02.03.2026 zu entschuldigen.",
        "Bitte tauschen Sie die Abrechnung vom 02.03.2026 gegen diese aus.",
        "Avis d'opéré rectifié",
        "Confirmación rectificada",
        "Nota informativa rettificata",
        "Gecorrigeerde transactienota",
        "Nota corrigida",
        "Rettet fondsafregning",
        "Rättad avräkningsnota",
        "Korrigert sluttseddel",
        "Skorygowane potwierdzenie",
        "Korekta ceny. Poprzednie potwierdzenie jest nieważne.",
        "Opravené potvrzení obchodu",
        "OPRAVA: toto potvrzení nahrazuje předchozí potvrzení, které je neplatné.",
    ],
)
def test_in_each_language_a_title_or_sentence_says_that_a_note_was_corrected(line: str) -> None:
    made, taken_back = (found.trade for found in read(f"{line}\n{TITLE}\n{REST}").trades)
    assert (made.is_cancellation, taken_back.is_cancellation) == (False, True)


@pytest.mark.parametrize(
    "line",
    [
        "Re-booked from bargain 77120/A",
        "Erstatter sluttseddel nr. 881004",
        "Toto potvrzení nahrazuje potvrzení č. 881004, které je neplatné.",
        "Ersätter avräkningsnota nr 881004",
        "Zastępuje potwierdzenie nr 881004",
    ],
)
def test_in_each_language_the_number_of_the_note_that_is_replaced_is_read(line: str) -> None:
    _, taken_back = (found.trade for found in read(f"{line}\n{TITLE}\n{REST}").trades)
    assert taken_back.reference in ("881004", "77120/A")
