"""When a trade was made and when it was settled."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, read, read_only

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.trade_dates import find_trade_date


@pytest.mark.parametrize(("row", "is_certain"), [("15.01.2026 09:31", True), ("15.01.2026", False)])
def test_the_only_day_of_a_document_is_that_of_the_trade_if_a_time_of_day_stands_beside_it(
    row: str, is_certain: bool
) -> None:
    text = ITALIAN.replace("Data esecuzione: 15/01/2026\nData valuta: 19/01/2026", row)
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert (read(text).confidence >= 0.9) is is_certain


def test_what_was_settled_before_it_was_traded_is_not_certain() -> None:
    assert read(ENGLISH.replace("Settlement date: 19/01/2026", "Settlement date: 12/01/2026")).confidence < 0.9


def test_the_day_of_the_order_is_not_that_of_the_trade() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf Ihr Auftrag vom 14.01.2026\nHandelstag 15.01.2026")
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read_only(text.replace("\nHandelstag 15.01.2026", ""))["trade_date"] != "2026-01-14"


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir haben Ihren am 13.01.2026 erteilten Auftrag wie folgt ausgeführt:",
        "Wir haben den am 13.01.2026 von Ihnen erteilten Auftrag zum Kauf ausgeführt.",
        "We confirm that the order received on 13 January 2026 was executed at market.",
        "We confirm that your purchase order placed on 13 January 2026 was executed.",
        "Nous vous confirmons que votre ordre reçu le 13 janvier 2026 a été exécuté.",
        "Hemos ejecutado la orden que nos cursó el 13/01/2026.",
        "Confermiamo che l'ordine impartito il 13/01/2026 è stato eseguito.",
        "Wij hebben uw order, ontvangen op 13-01-2026, uitgevoerd.",
        "Executámos a ordem recebida em 13/01/2026; foi executada no mercado.",
        "Vi har utfört er order som lämnades den 2026-01-13",
        "Vi har udført Deres ordre, som blev afgivet den 13.01.2026",
        "Potwierdzamy, że zlecenie złożone w dniu 13.01.2026 zostało zrealizowane / wykonano.",
        "Potvrzujeme, že Váš pokyn podaný dne 13.01.2026 byl proveden; obchod jsme provedli na trhu.",
    ],
)
def test_the_day_on_which_a_sentence_says_that_the_order_came_is_not_certainly_that_of_the_trade(sentence: str) -> None:
    assert read(GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", f"Kauf\n{sentence}")).confidence < 0.9


@pytest.mark.parametrize(
    "sentence",
    ["Wir haben Ihren Auftrag am 15.01.2026 ausgeführt.", "We confirm that we executed your order on 15 January 2026."],
)
def test_the_day_on_which_a_sentence_says_that_the_order_was_carried_out_is_that_of_the_trade(sentence: str) -> None:
    found = read(GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", f"Kauf\n{sentence}"))
    assert (str(found.trades[0].trade.trade_date), found.confidence >= 0.9) == ("2026-01-15", True)


def test_a_sentence_may_say_when_a_trade_is_settled() -> None:
    sentence = (
        "Den Betrag buchen wir mit Wertstellung 19.01.2026 zu Lasten des Kontos 4401889701"
        " bei der Musterbank, Filiale Musterstadt."
    )
    assert read_only(GERMAN.replace("Valuta 19.01.2026", sentence))["settlement_date"] == "2026-01-19"


def test_a_booking_is_nearer_to_a_trade_than_the_day_of_its_letter() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nBuchungsdatum: 15.01.2026")
    text = f"Datum: 20.01.2026\n{text}\nMusterbank 20.01.2026"
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence < 0.9


def test_what_was_ordered_and_reported_as_done_on_one_day_was_done_on_it() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Börsentransaktion: Kauf  Unsere Referenz 4711001\n{}")
    done = "Gemäss Ihrem Kaufauftrag vom 15.01.2026 haben wir verbucht:\nBern, 15.01.2026"
    assert (read_only(text.format(done))["trade_date"], read(text.format(done)).confidence) == ("2026-01-15", 0.97)
    later = done.replace("Bern, 15", "Bern, 16")
    assert read(text.format(later)).confidence < 0.9


def test_the_days_of_a_short_head_stand_below_it() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nZum Kurs von  Ausführungstag  Ort\n15.01.2026\nWien")
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence >= 0.9


PROGRESS = """
Nota informativa per l'ordine 7714
Tipo di operazione: Acquisto
Fondo Arno Globale  ISIN LU0378449770
                                     Quantità      Euro    Prezzo      Valuta
5.10.2026  14:02:36  Immissione            10                20,60
5.10.2026  14:02:37  Eseguito              10    205,00      20,50  07.10.2026
Commissioni  4,95 EUR
Totale a Vs. debito  209,95 EUR
"""


def test_a_date_below_a_head_is_the_one_of_its_column() -> None:
    trade = read_only(PROGRESS)
    assert (trade["trade_date"], trade["settlement_date"]) == ("2026-10-05", "2026-10-07")


def test_dates_below_heads_without_columns_are_in_their_order() -> None:
    days = "ORDER TYPE TRADE DATE SETTLEMENT DATE REP\nA7 000 15-01-2026 19-01-2026 K5"
    text = ENGLISH.replace("Execution date/time: 15 Jan 2026 08:13:35\nSettlement date: 19/01/2026", days)
    trade = read_only(text)
    assert (trade["trade_date"], trade["settlement_date"]) == ("2026-01-15", "2026-01-19")


def test_the_day_of_booking_is_not_that_of_the_settlement() -> None:
    text = FRENCH.replace(
        "Date de règlement : 19/01/2026", "Date de comptabilisation: 16/01/2026\nDate valeur: 19/01/2026"
    )
    assert read_only(text)["settlement_date"] == "2026-01-19"


DAY_AND_VALUE = "Data esecuzione: 15/01/2026\nData valuta: 19/01/2026"


@pytest.mark.parametrize(
    ("rows", "is_certain"),
    [
        ("15.01.2026 Riferimento 7A94\n09:31:02 Mercato continuo", True),
        ("15.01.2026 Riferimento 7A94\nMercato continuo\nUfficio\n09:31:02", False),
        ("Data: 15/01/2026\nAl 15/01/2026\nData valuta: 19/01/2026", True),  # a Thursday and the Monday after it
        ("Data: 15/01/2026\nAl 15/01/2026\nData valuta: 16/01/2026", False),
        ("Data: 15/01/2026\nData valuta: 19/01/2026", False),
    ],
)
def test_the_only_day_is_that_of_the_trade_by_a_time_below_it_or_by_when_it_is_settled(
    rows: str, is_certain: bool
) -> None:
    text = ITALIAN.replace(DAY_AND_VALUE, rows)
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert (read(text).confidence >= 0.9) is is_certain


def test_the_time_of_a_trade_is_not_that_of_its_order() -> None:
    text = ENGLISH.replace("Execution date/time", "Order created at: 15 Jan 2026 07:30:00\nExecution date/time")
    assert read_only(text)["trade_time"] == "08:13:35"


@pytest.mark.parametrize(
    "line",
    [
        "Printed 15 January 2026 18:22",
        "Order received 15/01/2026 07:30",
        "Closing price 15/01/2026 17:35",
        "Cierre 15/01/2026 17:35",
        "Trade date: 15/01/2026   Order time 07:30",
    ],
)
def test_no_time_of_an_order_a_price_or_a_print_is_the_trades(line: str) -> None:
    text = ENGLISH.replace("Execution date/time: 15 Jan 2026 08:13:35", f"Trade date: 15/01/2026\n{line}")
    assert read_only(text)["trade_time"] is None
    assert read(text).confidence >= 0.9


@pytest.mark.parametrize(
    "line", ["Schlusstag 15.01.2026 10:31", "Kauf 15.01.2026 10:31", "Ausgeführt am 15.01.2026 10:31"]
)
def test_the_time_of_a_trade_stands_where_a_label_or_a_word_says_what_was_done(line: str) -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", f"Kauf\n{line}\nAuftrag vom 15.01.2026 07:30")
    assert read_only(text)["trade_time"] == "10:31"


@pytest.mark.parametrize(("line", "is_certain"), [("Acquired 22/12/2025", False), ("Sold 14/01/2026", True)])
def test_the_day_on_which_what_is_sold_was_acquired_is_not_that_of_the_sale(line: str, is_certain: bool) -> None:
    rows = ["Contract note - Sale", "We have sold for you:", line, "Settlement date: 19/01/2026"]
    lines, _ = read_lines(Transcript.from_rows(rows).lines, day_first=True)
    assert find_trade_date(lines, 2026)[1] is is_certain


def test_the_day_of_a_row_below_heads_for_a_date_and_a_quantity_is_that_of_the_trade() -> None:
    heads = "Date Quantité Informations sur la valeur\n30/05/2026 10 HOULE FONDS C"
    text = f"Lyon, le 31/05/2026\nREPRISE F.C.P.\n{heads}\nCode ISIN LU0378449770\nValeur liquidative : 20,50 EUR"
    amounts = (
        "Montant brut Droits de sortie Frais H.T. T.V.A. Montant net au crédit\n205,00 EUR 0,00 EUR 0,00 EUR 205,00 EUR"
    )
    trade = read_only(f"{text}\n{amounts}")
    assert (trade["trade_date"], trade["direction"]) == ("2026-05-30", "sell")
    assert (trade["gross_amount"], trade["settled_amount"], trade["taxes"]) == ("205.00", "205.00", "0.00")


def test_a_value_date_in_front_of_an_amount_belongs_to_it() -> None:
    text = FRENCH.replace("Montant net au débit :", "Montant comptabilisé: Valeur 20.01.2026").replace(
        "   Date de règlement : 19/01/2026", ""
    )
    trade = read_only(text)
    assert (trade["settlement_date"], trade["settled_amount"]) == ("2026-01-20", "209.95")


def test_a_day_that_a_fund_was_priced_on_before_leaves_the_day_uncertain() -> None:
    text = GERMAN.replace(
        "Kauf am 15.01.2026 um 08:13:35", "15.01.2026: Kauf aus Sparplan\nAbrechnungsdatum {}.01.2026"
    )
    assert read(text.format(14)).confidence < 0.9
    assert read(text.format(15)).confidence >= 0.9


def test_a_time_in_a_line_of_its_own_is_the_trades_if_a_label_says_so() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nHandelstag 15.01.2026\nHandelszeit 16:47 Uhr")
    assert (read_only(text)["trade_date"], read_only(text)["trade_time"]) == ("2026-01-15", "16:47")
    assert read_only(text.replace("Handelszeit", "Gedruckt um"))["trade_time"] is None


def test_of_two_days_that_a_note_calls_the_trades_either_may_be_meant() -> None:
    line = "Execution date/time: 15 Jan 2026 08:13:35"
    assert read(ENGLISH.replace(line, f"{line}\nTrade date: 15/01/2026")).confidence >= 0.9
    assert read(ENGLISH.replace(line, f"{line}\nTrade date: 14/01/2026")).confidence < 0.9


def test_the_time_of_a_trade_has_not_the_day_of_another_column() -> None:
    text = ENGLISH.replace("Settlement date: 19/01/2026", "Trade time Settlement date\n08:13:35 19/01/2026")
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence >= 0.9


def test_of_two_days_that_nothing_names_the_one_of_printing_is_not_the_trades() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nMusterstadt, 15.01.2026")
    text += "Erstellt am: 20.01.2026 10:14\n"
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence < 0.9


@pytest.mark.parametrize("label", ["Uitvoering op: 15/01/2026 om 08:13", "Datum Nettoinventarwert 15.01.2026"])
def test_a_day_of_execution_or_of_the_price_of_a_fund_is_the_trades(label: str) -> None:
    text = DUTCH.replace("Transactiedatum: 15-01-2026", f"{label}\nDatum order: 14/01/2026")
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence >= 0.9


@pytest.mark.parametrize(("day", "is_certain"), [("14", False), ("15", True)])
def test_a_day_of_trade_written_close_to_the_word_before_it_may_be_meant(day: str, is_certain: bool) -> None:
    text = ENGLISH.replace("ISIN: DE0008404005", f"ISIN: DE0008404005 DetailsTrade date {day}/01/2026")
    assert (read(text).confidence >= 0.9) is is_certain


def test_a_settlement_on_the_same_day_of_another_month_leaves_the_day_of_the_trade_uncertain() -> None:
    note = ENGLISH.replace("€", "$").replace("15 Jan 2026 08:13:35", "02/09/2026") + "Boston, MA 02110\nMember SIPC"
    for settled, is_certain in (("02/10/2026", True), ("03/09/2026", False), ("04/09/2026", False)):
        (found,) = read(note.replace("19/01/2026", settled)).trades
        assert found.is_date_certain is is_certain
