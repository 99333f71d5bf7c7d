"""Which way a trade went."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, read, read_only

from ingestion.domain.trade import Direction
from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.side import find_direction


def test_what_a_field_is_called_says_no_side() -> None:
    assert read_only(DUTCH.replace("Soort transactie: Aankoop", "Koop/Verkoop  Verkoop"))["direction"] == "sell"


def test_what_was_paid_says_which_way_a_trade_went_where_no_word_does() -> None:
    text = GERMAN.replace("Kauf am", "Abrechnung am")
    assert read_only(text)["direction"] == "buy"
    assert read(text).confidence < 0.9


def test_a_long_row_of_a_table_may_say_the_side_and_a_long_sentence_may_not() -> None:
    words = ["Sehr geehrte Damen und Herren, " * 2, "in Ihrem Auftrag geschah das Folgende " * 2, "Kauf", "sofort"]
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Handelstag 15.01.2026\n{}").replace("zulasten", "Betrag")
    text = text.replace("4,95", "0,00").replace("209,95", "205,00")  # or the costs would say it
    assert read_only(text.format("    ".join(words)))["direction"] == "buy"
    assert read_only(text.format(" ".join(words)))["direction"] is None


def test_a_side_is_read_that_is_written_close_to_the_word_before_it() -> None:
    text = ENGLISH.replace("You have PURCHASED\n", "Limit-OrderPurchase on 15.01.2026 at 08:13:35\n")
    assert read_only(text)["direction"] == "buy"
    assert read(text).confidence >= 0.9


def test_money_that_is_paid_in_is_no_purchase() -> None:
    text = "INVESTISSEMENT ESPECES  VIREMENT  1 240,00"
    assert read_only(f"{text}\n{GERMAN.replace('Kauf', 'Verkauf').strip()}")["direction"] == "sell"


def test_what_was_to_be_done_says_the_side_where_it_stands_alone() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Anweisung Verkaufen\nHandelstag 15.01.2026")
    assert read_only(text)["direction"] == "sell"


def test_who_is_given_units_of_a_fund_buys_them() -> None:
    text = GERMAN.replace("Wertpapierabrechnung\nKauf am", "Fondsabrechnung: Ausgabe von Anteilen\nHandelstag")
    assert read_only(text)["direction"] == "buy"
    assert read(text).confidence >= 0.9


@pytest.mark.parametrize(
    ("heading", "direction"),
    [("ETF-Kauf", Direction.BUY), ("ETF-Verkauf", Direction.SELL), ("Kauf-Verkauf", None), ("Kauf/Verkauf", None)],
)
def test_a_hyphen_joins_two_sides_only_behind_one(heading: str, direction: Direction | None) -> None:
    lines, _ = read_lines(Transcript.from_rows([heading]).lines, day_first=True)
    assert find_direction(lines)[0] is direction


@pytest.mark.parametrize(("verb", "direction"), [("Acheter", "buy"), ("Vendre", "sell")])
def test_a_verb_alone_in_its_cell_or_before_what_was_traded_is_a_side(verb: str, direction: str) -> None:
    assert read_only(FRENCH.replace("Sens : Achat", f"Sens : {verb}"))["direction"] == direction
    assert read_only(FRENCH.replace("Sens : Achat", f"{verb} ALLIANZ SE"))["direction"] == direction
    # The account says that it was bought.
    assert read_only(FRENCH.replace("Sens : Achat", "Pour vendre des titres"))["direction"] == "buy"


@pytest.mark.parametrize(
    ("line", "direction"), [("Wiederanlage Fondsertrag", "buy"), ("Sie haben Wiederanlage: nein gewählt", None)]
)
def test_income_that_is_invested_again_buys(line: str, direction: str | None) -> None:
    text = GERMAN.replace("Kauf am 15.01.2026", f"{line}\nHandelstag 15.01.2026").replace("zulasten ", "Endbetrag ")
    assert read_only(text.replace("Provision 4,95 EUR\n", "").replace("209,95", "205,00"))["direction"] == direction


@pytest.mark.parametrize("field", ["Köp/Sälj", "Køb/Salg", "Kupno/Sprzedaż", "Nákup/Prodej"])
@pytest.mark.parametrize(("word", "side"), [("Sälj", Direction.SELL), ("Köp", Direction.BUY)])
def test_the_name_of_a_field_for_either_side_says_none_in_any_language(field: str, word: str, side: Direction) -> None:
    lines, _ = read_lines(Transcript.from_rows([f"{field}   {word}"]).lines, True)
    assert find_direction(lines)[0] is side
