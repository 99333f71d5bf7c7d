"""Days that a note calls the trade's or the settlement's, and those that are called nearly so."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, PORTUGUESE, SPANISH, read, read_only

NOTE = ENGLISH.replace("Execution date/time: 15 Jan 2026 08:13:35", "Traded  15 Jan 2026 08:13")


@pytest.mark.parametrize(
    "line",
    [
        "Next dealing date  22 January 2026",
        "Nächster Handelstag: 22.01.2026",
        "Execution date of ISA agreement  3 April 2020",
        "Executed on your order of 14 January 2026",
        "Dealt on your instruction of 14 January 2026",
        "Traded on a regulated market. Prices valid on 16 January 2026",
        "Executed on your order given on 14 January 2026",
        "Earliest dealing date  5 May 2027",
    ],
)
def test_a_day_that_is_called_nearly_the_trades_is_not_the_trades(line: str) -> None:
    found = read(f"{NOTE}{line}")
    assert str(found.trades[0].trade.trade_date) == "2026-01-15"


@pytest.mark.parametrize(
    "line",
    [
        "Handelstag Xetra  15.01.2026",
        "Traded on 15.01.2026",
    ],
)
def test_words_within_a_label_or_a_sentence_leave_the_day_certain(line: str) -> None:
    found = read(NOTE.replace("Traded  15 Jan 2026 08:13", line))
    assert (str(found.trades[0].trade.trade_date), found.confidence >= 0.9) == ("2026-01-15", True)


def test_what_is_sold_was_not_traded_on_the_day_on_which_it_was_bought() -> None:
    sale = FRENCH.replace("Sens : Achat", "Sens : Vente").replace("209,95", "200,05").replace("débit", "crédit")
    sold = sale.replace("Date d'exécution :", "Vendu le")
    assert read_only(f"{sold}Date d'achat : 05/02/2019")["trade_date"] == "2026-01-15"
    assert read_only(FRENCH.replace("d'exécution", "d'achat"))["trade_date"] == "2026-01-15"


def test_a_day_years_before_the_settlement_is_not_certainly_the_trades() -> None:
    assert read(NOTE.replace("Traded  15 Jan 2026 08:13", "Trade date  15 Jan 2025")).confidence < 0.9


@pytest.mark.parametrize(
    "line",
    [
        "Next payment date  19 January 2026",
        "Interest payment date  19 January 2026",
        "Dividend payment date  19 January 2026",
    ],
)
def test_what_is_paid_for_a_security_is_no_settlement(line: str) -> None:
    assert read_only(NOTE.replace("Settlement date: 19/01/2026", line)).get("settlement_date") is None


def test_the_day_of_the_value_of_a_fund_is_no_settlement() -> None:
    text = SPANISH.replace("Fecha valor: 19/01/2026", "Fecha valor liquidativo: 16/01/2026")
    assert read_only(text).get("settlement_date") is None


ROWS = """
Statement of transactions
{head}  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
{first}  Buy  Vodafone Group PLC  GB00BH4HKS39  1,000  0.7200  720.00
{second}  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


@pytest.mark.parametrize(
    ("head", "days", "is_certain"),
    [
        ("Trade date", ("03/11/2026", "13/11/2026"), True),
        ("Trade date  Settled", ("03/11/2026  05/11/2026", "13/11/2026  17/11/2026"), True),
        ("Settlement date", ("03/11/2026", "13/11/2026"), False),
        ("Booked", ("03/11/2026", "13/11/2026"), False),
        ("Settled  Traded", ("05/11/2026  03/11/2026", "17/11/2026  13/11/2026"), False),
        ("Day  Traded", ("05/11/2026  03/11/2026", "17/11/2026  13/11/2026"), False),
    ],
)
def test_the_first_day_of_a_row_is_not_certainly_the_trades_if_its_head_says_otherwise(
    head: str, days: tuple[str, str], is_certain: bool
) -> None:
    found = read(ROWS.format(head=head, first=days[0], second=days[1]))
    assert len(found.trades) == 2
    assert (found.confidence >= 0.9) is is_certain


def test_a_booking_that_is_no_day_leaves_the_day_of_the_trade_certain() -> None:
    booked = "Buchung  Konto  Valuta  Betrag\nLastschrift  12345678  19.01.2026  -209,95 EUR"
    assert read(f"{GERMAN.strip()}\n{booked}").trades[0].is_date_certain


@pytest.mark.parametrize(
    ("note", "old", "new"),
    [
        (GERMAN, "Kauf am 15.01.2026 um 08:13:35", "Sparplanausführung am 15.01.2026 um 16:00 Uhr"),
        (
            DUTCH,
            "Transactiedatum: 15-01-2026\nValutadatum: 19-01-2026",
            "Uitvoering  Beurs  Valutadatum\n15-01-2026 om 11.48 u.  Xetra  19-01-2026",
        ),
        (SPANISH, "Fecha de ejecución: 15/01/2026", "Fecha de la operación (valor liquidativo)  15/01/2026"),
        (ENGLISH, "Execution date/time: 15 Jan 2026 08:13:35", "Trade day  15 January 2026"),
        (PORTUGUESE, "Data da operação: 15/01/2026", "Data do negócio: 15/01/2026"),
    ],
)
def test_an_ordinary_name_of_the_day_of_the_trade_is_one(note: str, old: str, new: str) -> None:
    assert old in note
    reading = read(note.replace(old, new))
    assert str(reading.trades[0].trade.trade_date) == "2026-01-15"
    assert reading.confidence >= 0.9


@pytest.mark.parametrize("head", ["Anschaffung  Veräußerung", "Kauf am  Verkauf am", "Acquired  Sold", "Achat  Vente"])
def test_the_day_on_which_what_is_sold_was_bought_is_not_certainly_the_trades(head: str) -> None:
    rows = "03.02.2020  12.11.2026  Verkauf  BASF SE  DE000BASF111  25  44,50  1.112,50"
    text = f"Umsatzübersicht\n{head}  Art  Wertpapier  ISIN  Stück  Kurs EUR  Betrag EUR\n{rows}"
    assert not any(found.is_date_certain for found in read(text).trades)


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("Wert 19.01.2026", "2026-01-19"),
        ("Wert Ihres Depots am 19.01.2026", None),
        ("Bestand: 300, Wert per 19.01.2026", None),
    ],
)
def test_what_something_is_worth_on_a_day_is_no_day_of_value(line: str, day: str | None) -> None:
    note = "\n".join(row for row in GERMAN.strip().splitlines() if "19.01.2026" not in row)
    assert read_only(f"{note}\n{line}")["settlement_date"] == day
