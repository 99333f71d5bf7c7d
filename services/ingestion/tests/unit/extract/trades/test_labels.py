"""Contract notes in Swedish, Danish, Norwegian, Polish and Czech, and the day that a sentence says."""

import pytest
from note_texts import GERMAN, read, read_only

SWEDISH = """
Avräkningsnota  Notanr 2026-0115-5518
Depånummer  5518 204
Transaktionstyp  {buy}
Värdepapper  ALLIANZ SE
ISIN  DE0008404005
Affärsdag  2026-01-15  Klockslag 13:55:02
Likviddag  2026-01-19
Antal  10 st
Kurs  20,50 SEK
{gross}  205,00 SEK
Courtage  4,95 SEK
{settled}
"""
DANISH = """
Fondsnota  Ordrenummer 2026-0115-5518
Depotnummer  5518 204
Handelstype  {buy}
Værdipapir  ALLIANZ SE
ISIN  DE0008404005
Handelsdag  15-01-2026
Afregningsdag  19-01-2026
Antal  10
Kurs  20,50 DKK
Kursværdi  205,00 DKK
Kurtage  4,95 DKK
{settled}
"""
NORWEGIAN = """
Sluttseddel  Ordrenummer 2026-0115-5518
Kontonummer  5518 204
Transaksjonstype  {buy}
Verdipapir  ALLIANZ SE
ISIN  DE0008404005
Handelsdato  15.01.2026
Oppgjørsdato  19.01.2026
Antall  10
Kurs  20,50 NOK
Bruttobeløp  205,00 NOK
Kurtasje  4,95 NOK
{settled}
"""
POLISH = """
Potwierdzenie zawarcia transakcji
Numer rachunku inwestycyjnego  5518 204
Numer zlecenia  2026-0115-5518
Rodzaj transakcji  {buy}
Nazwa papieru  ALLIANZ SE
Kod ISIN  DE0008404005
Data i godzina transakcji  2026-01-15 12:40:33
Data rozliczenia  2026-01-19
{quantity}  10 szt.
Cena jednostkowa  20,50 PLN
Wartość transakcji  205,00 PLN
Prowizja maklerska (2,41%)  4,95 PLN
{settled}
"""
CZECH = """
Potvrzení o obchodu  Číslo pokynu 2026-0115-5518
Číslo účtu  5518 204
Typ obchodu  {buy}
Název cenného papíru  ALLIANZ SE
ISIN  DE0008404005
Datum a čas obchodu  15.01.2026 12:40:33
Datum vypořádání  19.01.2026
Počet kusů  10
Cena za kus  20,50 CZK
Objem obchodu  205,00 CZK
Poplatek za obchod  4,95 CZK
{settled}
"""
NOTES = {
    "sv": (
        SWEDISH.format(buy="Köp", gross="Köpbelopp", settled="Att betala  209,95 SEK"),
        SWEDISH.format(buy="Sälj", gross="Säljbelopp", settled="Att erhålla  200,05 SEK"),
    ),
    "da": (
        DANISH.format(buy="Køb", settled="At betale  209,95 DKK"),
        DANISH.format(buy="Salg", settled="Til udbetaling  200,05 DKK"),
    ),
    "no": (
        NORWEGIAN.format(buy="Kjøp", settled="Å betale  209,95 NOK"),
        NORWEGIAN.format(buy="Salg", settled="Å motta  200,05 NOK"),
    ),
    "pl": (
        POLISH.format(buy="KUPNO", quantity="Liczba papierów", settled="Kwota rozliczenia (obciążenie)  209,95 PLN"),
        POLISH.format(buy="Sprzedaż", quantity="Ilość", settled="Kwota do wypłaty  200,05 PLN"),
    ),
    "cs": (
        CZECH.format(buy="Nákup", settled="Částka k úhradě  209,95 CZK"),
        CZECH.format(buy="Prodej", settled="Částka k výplatě  200,05 CZK"),
    ),
}


@pytest.mark.parametrize("language", NOTES)
@pytest.mark.parametrize("direction", ["buy", "sell"])
def test_a_note_of_one_trade_is_read_whole(language: str, direction: str) -> None:
    (found,) = read(NOTES[language][direction == "sell"]).trades
    stated = {
        "direction": direction,
        "isin": "DE0008404005",
        "security_name": "ALLIANZ SE",
        "trade_date": "2026-01-15",
        "settlement_date": "2026-01-19",
        "quantity": "10",
        "price": "20.5",
        "currency": {"sv": "SEK", "da": "DKK", "no": "NOK", "pl": "PLN", "cs": "CZK"}[language],
        "gross_amount": "205.00",
        "fees": "4.95",
        "settled_amount": "209.95" if direction == "buy" else "200.05",
        "account": "5518204",
        "reference": "2026-0115-5518",
    }
    read_fields = found.trade.to_json()
    assert ({name: read_fields[name] for name in stated}, found.confidence) == (stated, 0.97)


UNDATED = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35\n", "Auftragsart: Kauf\n{}\n")


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir haben für Sie am 15. Januar 2026 im außerbörslichen Handel abgerechnet:",
        "Wir haben für Sie am 15.01.2026 an der Börse\nFrankfurt ausgeführt:",
        "We have on 15 January 2026 executed the following order for you",
        "Nous avons le 15/01/2026 exécuté l'opération suivante :",
        "Hemos ejecutado el 15/01/2026 la operación siguiente",
        "Abbiamo eseguito il 15/01/2026 la seguente operazione",
        "Wij hebben op 15-01-2026 voor u uitgevoerd:",
        "Vi har den 15.01.2026 utfört följande",
    ],
)
def test_a_sentence_says_on_which_day_an_order_was_carried_out(sentence: str) -> None:
    (found,) = read(UNDATED.format(sentence)).trades
    assert (found.trade.to_json()["trade_date"], found.is_date_certain) == ("2026-01-15", True)


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir haben Ihren Auftrag vom 12.01.2026 erhalten.",
        "Wir haben den Betrag am 12.01.2026 gebucht.",
        "Wir haben am 12.01.2026 geschrieben. Die Order wurde ausgeführt.",
    ],
)
def test_no_other_day_of_a_sentence_is_that_of_the_trade_for_certain(sentence: str) -> None:
    (found,) = read(UNDATED.format(sentence) + "Datum 20.01.2026\n").trades
    assert not found.is_date_certain


def test_two_days_that_sentences_say_are_no_day_of_one_trade() -> None:
    sentences = "Wir haben am 15.01.2026 ausgeführt:\nWir haben am 16.01.2026 ausgeführt:"
    assert not read(UNDATED.format(sentences)).trades[0].is_date_certain
    assert read_only(UNDATED.format(sentences))["trade_date"] is None
