"""Rows of a statement below a heading for income, costs or holdings are no trades."""

import re
from dataclasses import dataclass

import pytest
from note_texts import read

STATEMENT = """
Activity statement 1 September 2026 to 30 September 2026
Base currency EUR
{trades}
Trade date  Side  Instrument  ISIN  Quantity  Price  Amount EUR
02 Sep 2026  Buy  SAP SE  DE0007164600  20  214.60  4,292.00
09 Sep 2026  Buy  AIR LIQUIDE  FR0000120073  15  171.24  2,568.60
17 Sep 2026  Sell  SIEMENS AG  DE0007236101  8  228.95  1,831.60
{income}
15 Sep 2026  TOTALENERGIES  FR0000120271  50  0.85  42.50
"""

HEADINGS = {
    "en": ("Trades", "Dividends"),
    "de": ("Transaktionen", "Ausschüttungen"),
    "fr": ("Opérations", "Dividendes reçus"),
    "es": ("Operaciones", "Dividendos e intereses"),
    "it": ("Operazioni", "Dividendi"),
    "nl": ("Transacties", "Dividenden"),
    "pt": ("Operações", "Rendimentos"),
}


@pytest.mark.parametrize("language", HEADINGS)
def test_a_row_below_a_heading_for_income_is_no_trade(language: str) -> None:
    trades, income = HEADINGS[language]
    reading = read(STATEMENT.format(trades=trades, income=income))
    assert [found.trade.isin for found in reading.trades] == ["DE0007164600", "FR0000120073", "DE0007236101"]
    assert (reading.doubts, reading.confidence >= 0.9) == ((), True)


def test_below_any_other_heading_it_may_be_one() -> None:
    assert len(read(STATEMENT.format(trades="Trades", income="September")).trades) == 4


@pytest.mark.parametrize("word", ["Bought", "Reinvested"])
def test_a_row_that_says_itself_that_something_was_bought_is_a_trade_below_any_heading(word: str) -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends").replace("TOTALENERGIES", f"{word} TOTALENERGIES")
    assert len(read(text).trades) == 4


def test_a_section_ends_at_the_heading_of_trades() -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends")
    rows = "\nTransactions\n21 Sep 2026  ENEL  IT0003128367  400  7.845  3,138.00"
    assert [found.trade.isin for found in read(text + rows).trades][-1] == "IT0003128367"


def test_a_statement_of_income_alone_has_no_trade() -> None:
    text = STATEMENT.format(trades="Trades", income="Dividends")
    rows = [row for row in text.splitlines() if "Buy" not in row and "Sell" not in row]
    assert not read("\n".join(rows)).has_trades


@dataclass(frozen=True)
class Headings:
    stocks: str
    purchases: str
    sales: str
    trades: str
    income: str
    orders: str
    actions: str
    taken_back: str


LANGUAGES = {
    "en": "Stocks|Purchases|Sales|Trades|Dividends for the period|Open orders|Corporate actions|Cancelled trades",
    "de": "Aktien|Käufe|Verkäufe|Geschäfte|Dividenden im Zeitraum|Offene Orders|Kapitalmaßnahmen|Stornierte Geschäfte",
    "fr": "Actions|Achats|Ventes|Opérations|Dividendes de la période|Ordres en cours|Opérations sur titres|Annulations",
    "es": "Acciones|Compras|Ventas|Operaciones|Dividendos del periodo|Órdenes vivas|Traspasos|Operaciones anuladas",
    "it": "Azioni|Acquisti|Vendite|Operazioni|Dividendi del periodo|Ordini in corso|Trasferimenti|Operazioni annullate",
    "nl": "Aandelen|Aankopen|Verkopen|Transacties|Dividenden van de periode|Lopende orders|Overboekingen|Annuleringen",
    "pt": "Ações|Compras|Vendas|Operações|Dividendos do período|Ordens pendentes|Transferências|Operações anuladas",
}
HEADINGS_OF = {language: Headings(*names.split("|")) for language, names in LANGUAGES.items()}
WITHOUT_SIDES = """
Activity statement 1 September 2026 to 30 September 2026
Base currency EUR
{0.purchases}
{0.stocks}
Trade date  Instrument  ISIN  Quantity  Price  Amount EUR
02 Sep 2026  SAP SE  DE0007164600  20  214.60  4,292.00
09 Sep 2026  AIR LIQUIDE  FR0000120073  15  171.24  2,568.60
{0.sales}
03 Sep 2026  ENEL  IT0003128367  400  7.845  3,138.00
{0.income}
{0.stocks}
15 Sep 2026  TOTALENERGIES  FR0000120271  50  0.85  42.50
{0.orders}
{0.stocks}
11 Sep 2026  Buy  BEST BUY CO INC  US0865161014  100  20.00  2,000.00
{0.actions}
12 Sep 2026  NOKIA  FI0009000681  100  4.00  400.00
"""
TAKEN_BACK = """
Activity statement 1 September 2026 to 30 September 2026
Base currency EUR
{0.trades}
Trade date  Side  Instrument  ISIN  Quantity  Price  Amount EUR
02.09.2026  Buy  SAP SE  DE0007164600  20  214.60  4,292.00
09.09.2026  Sell  AIR LIQUIDE  FR0000120073  15  171.24  2,568.60
{0.taken_back}
11.09.2026  Buy  NOKIA  FI0009000681  100  4.00  400.00
"""


@pytest.mark.parametrize("headings", HEADINGS_OF.values(), ids=HEADINGS_OF)
def test_rows_are_what_the_heading_of_their_section_says_whatever_kind_of_securities_stands_below_it(
    headings: Headings,
) -> None:
    reading = read(WITHOUT_SIDES.format(headings))
    assert [(found.trade.isin, found.trade.direction) for found in reading.trades] == [
        ("DE0007164600", "buy"),
        ("FR0000120073", "buy"),
        ("IT0003128367", "sell"),
    ]
    assert (reading.doubts, reading.confidence >= 0.9) == ((), True)


@pytest.mark.parametrize("headings", HEADINGS_OF.values(), ids=HEADINGS_OF)
@pytest.mark.parametrize("written", ["{} Sep 2026", "{}.09.2026"])
def test_what_is_listed_as_cancelled_is_not_certain(headings: Headings, written: str) -> None:
    text = re.sub(r"(\d\d)\.09\.2026", lambda match: written.format(match[1]), TAKEN_BACK)
    certain = {found.trade.isin: found.confidence >= 0.9 for found in read(text.format(headings)).trades}
    assert certain == {"DE0007164600": True, "FR0000120073": True, "FI0009000681": False}


@pytest.mark.parametrize("heading", ["Proceeds from securities lending", "Other income from lending"])
def test_a_row_without_a_side_below_an_unknown_heading_goes_to_review_though_other_rows_are_purchases(
    heading: str,
) -> None:
    text = STATEMENT.format(trades="Trades", income=heading)
    assert [found.trade.direction for found in read(text).trades] == ["buy", "buy", "sell", None]
    assert read(WITHOUT_SIDES.replace("{0.sales}", heading).format(HEADINGS_OF["en"])).confidence < 0.9


@pytest.mark.parametrize("word", ["Dividend", "Transfer in", "Split"])
def test_a_row_that_says_that_it_books_something_else_is_no_trade(word: str) -> None:
    text = STATEMENT.format(trades="Trades", income="September").replace("TOTALENERGIES", f"{word}  TOTALENERGIES")
    reading = read(text)
    assert (len(reading.trades), reading.doubts, reading.confidence >= 0.9) == (3, (), True)


@pytest.mark.parametrize("status", ["Rejected", "Cancelled", "Pending"])
@pytest.mark.parametrize("written", ["{} Sep 2026", "{}.09.2026"])
def test_an_order_that_its_row_says_was_not_executed_is_not_certain(status: str, written: str) -> None:
    days = [written.format(day) for day in ("02", "09")]
    text = f"""
Activity statement
Base currency EUR
Trade date  Side  Instrument  ISIN  Status  Quantity  Price  Amount
{days[0]}  Buy  SAP SE  DE0007164600  Executed  20  214.60  4,292.00
{days[1]}  Sell  SIEMENS AG  DE0007236101  {status}  8  228.95  1,831.60
"""
    assert [found.confidence >= 0.9 for found in read(text).trades] == [True, False]


def test_a_statement_with_rows_below_the_heads_of_trades_is_not_skipped_though_nothing_multiplies() -> None:
    text = """
Activity statement September 2026
Base currency GBP
{heading}
Date  Symbol  Quantity  Price (p)  Amount GBP
02 Sep 2026  ABC  1,250  241.80  3,022.50
09 Sep 2026  DEF  2,000  350.00  7,000.00
"""
    assert read(text.format(heading="September")).has_trades
    assert not read(text.format(heading="Dividends")).has_trades


@pytest.mark.parametrize("heading", ["Income distributions", "Ertragsausschüttungen und Zinsen", "Interim dividends"])
def test_below_a_heading_that_speaks_of_income_a_row_does_not_go_the_way_of_the_document(heading: str) -> None:
    text = f"""
Transaction confirmation
You purchased
Trade date  Fund  ISIN  Units  Price  Amount GBP
02 Sep 2026  ALPHA FUND  GB00BN7SWP63  20.000  2.1460  42.92
09 Sep 2026  BETA FUND  GB0007980591  15.000  1.7124  25.69
{heading}
15 Sep 2026  GAMMA FUND  IE00B4L5Y983  50.000  0.8500  42.50
"""
    assert [found.trade.direction for found in read(text).trades][:2] == ["buy", "buy"]
    assert not [found for found in read(text).trades[2:] if found.trade.direction is not None]


@pytest.mark.parametrize("side", ["Sparplan Kauf", "Entnahmeplan Verkauf"])
def test_rows_that_are_trades_are_not_skipped_for_a_section_of_income(side: str) -> None:
    text = f"""
{side} ISIN DE0008404005
Handelstag  Anteile  Preis  Betrag
05.01.2026  2,125  20,50  43,56 EUR
05.02.2026  2,075  21,00  43,58 EUR
Ausschüttungen
06.02.2026  10,000  0,50  5,00 EUR
"""
    assert [str(found.trade.quantity) for found in read(text).trades] == ["2.125", "2.075"]


def test_a_side_that_the_sign_of_the_quantity_denies_is_not_certain() -> None:
    text = """
Activity statement
Base currency USD
Symbol  Trade date  Side  Quantity  Price  Proceeds
SAP  2026-01-06  BUY  {}50  240.15  12,007.50
NVDA  2026-01-06  SELL  -10  149.20  1,492.00
"""
    assert [found.confidence >= 0.9 for found in read(text.format("")).trades] == [True, True]
    assert [found.confidence >= 0.9 for found in read(text.format("-")).trades] == [False, True]


_PURCHASES = """
Account statement
Period 01/09/2026 - 30/09/2026
{heading}
Trade date{gap}Security{gap}ISIN{gap}Quantity{gap}Price{gap}Amount EUR
02/09/2026{gap}Allianz SE{gap}DE0008404005{gap}10{gap}205.00{gap}2,050.00
04/09/2026{gap}{name}{gap}DE0007164600{gap}10{gap}105.00{gap}1,050.00
"""


@pytest.mark.parametrize("name", ["Dividend Growth Fund", "Tax-managed Fund", "Merger Arbitrage ETF"])
def test_a_purchase_of_a_security_that_is_called_as_another_booking_is_not_left_out(name: str) -> None:
    found = read(_PURCHASES.format(heading="Purchases", gap=" ", name=name))
    assert [reading.trade.isin for reading in found.trades] == ["DE0008404005", "DE0007164600"]
    assert [reading.confidence >= 0.9 for reading in found.trades] == [True, False]


_AFTER_OTHERS = """
Account statement
Account currency EUR
Period 01/09/2026 - 30/09/2026
{before}
12/09/2026  14/09/2026  {side}Siemens AG  DE0007236101  10  105.00  1,050.00
{heading}
22/09/2026  24/09/2026  {side}BASF SE  DE000BASF111  10  50.00  500.00
"""


@pytest.mark.parametrize(
    "heading", ["Completed transactions in funds", "Ausgeführte Aufträge in Fonds", "Operazioni eseguite su fondi"]
)
def test_trades_below_a_section_of_orders_are_read_though_their_heading_is_more_than_a_name(heading: str) -> None:
    (only,) = read(_AFTER_OTHERS.format(before="Open orders", heading=heading, side="Buy  ")).trades
    assert only.trade.isin == "DE000BASF111"


@pytest.mark.parametrize("heading", ["Savings plan", "Fondssparplan Depot", "Purchases of ETFs by plan"])
def test_a_statement_is_not_skipped_for_dividends_above_a_heading_of_trades(heading: str) -> None:
    found = read(_AFTER_OTHERS.format(before="Dividends", heading=heading, side=""))
    assert found.has_trades
    assert found.confidence < 0.9


@pytest.mark.parametrize("heading", ["Pending transactions", "Nicht ausgeführte Transaktionen", "Operazioni in corso"])
def test_what_a_heading_calls_not_done_is_not_certain(heading: str) -> None:
    text = _AFTER_OTHERS.format(before="Trades", heading=heading, side="Buy  ")
    assert [found.confidence >= 0.9 for found in read(text).trades] == [True, False]


@pytest.mark.parametrize(
    ("first", "second"), [("Kauf", "Verkauf"), ("Käufe", "Verkäufe"), ("Achat", "Vente"), ("Bought", "Sold")]
)
@pytest.mark.parametrize("is_head_repeated", [True, False])
def test_a_word_for_a_side_above_rows_is_that_of_all_of_them(
    first: str, second: str, *, is_head_repeated: bool
) -> None:
    head = "Handelstag  Wertpapier  ISIN  Stück  Kurs EUR  Betrag EUR"
    rows = (
        "03.11.2026  Siemens AG  DE0007236101  10  180,00  1.800,00",
        "05.11.2026  SAP SE  DE0007164600  5  200,00  1.000,00",
        "12.11.2026  BASF SE  DE000BASF111  25  44,50  1.112,50",
    )
    again = [head] if is_head_repeated else []
    reading = read("\n".join(["Umsatzübersicht", first, head, *rows[:2], second, *again, rows[2]]))
    assert [str(found.trade.direction) for found in reading.trades] == ["buy", "buy", "sell"]
    assert (reading.doubts, reading.confidence >= 0.9) == ((), True)
