"""What says that nothing was traded is skipped; what tells of a trade is not, whatever it is called."""

import pytest

from ingestion.domain.trade import Direction
from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.note import read_note

FOOTER = "\nDividends and interest are credited to your account.\nNext coupon date 01/12/2027."


def has_trades(text: str) -> bool:
    return read_note(Transcript.from_rows(text.splitlines()).lines).has_trades


TRADES_BELOW_OTHER_TITLES = {
    "income that is invested": "Dividend reinvestment\nGB00BN7SWP63\nEx-dividend date 01/05/2026\n"
    "Shares bought 1.234\nPrice 20.50",
    "income that is invested, without a side": "Income distribution\nReinvested units 1.234 at 20.50\nGB00BN7SWP63",
    "rights that are used": "Rights issue\nGB00BN7SWP63\nSubscription of 100 new shares at 5.00 GBP\nAmount 500.00 GBP",
    "rights that are used, without a side": "Corporate action: claimemissie\nUitoefening van claims\n"
    "GB00BN7SWP63\nAantal 10\nKoers 20,50 EUR",
    "an offer that was taken": "Tender offer\nGB00BN7SWP63\nYour 100 shares were purchased at 20.50 GBP",
    "a bond that ends": "Kapitalmaßnahme\nRückzahlung Anleihe DE0008404005\nNominal 1.000,00\n"
    "Kurs 100 %\nGutschrift 1.000,00 EUR",
    "shares that are taken for cash, by the fields of a trade": "Kapitalmaßnahme: Barabfindung\nAbfindung\n"
    "DE0008404005\nHandelstag 12.05.2026\nStück 10\nKurs 180,00 EUR\nKurswert 1.800,00 EUR",
    "a second paper in the file": "Zinsgutschrift\nGutschrift 12,00 EUR\n\nWertpapierabrechnung\n"
    "Kauf\nStück 10 DE0008404005\nKurs 20,50 EUR",
    "a line with a day": "Dividendengutschrift\nDividende pro Stück 1,20 EUR\n\n"
    "12.05.2026 Kauf 10 Stück DE0008404005 zu 20,50 EUR",
    "a field that says the side": "Opération sur titres\nSens : Achat\nGB00BN7SWP63\nQuantité 10\nCours 20,50 EUR",
    "a field above the side": "Interest payment\nGB00BN7SWP63 bond\nSide\nSell\nNominal 1,000\nPrice 99.50 %",
    "a transfer for money": "Depotübertrag\nGB00BN7SWP63\nGeschäftsart: Kauf\nStück 10",
    "day and price without a side": "Willkommen bei uns\nIhr erster Sparplan wurde ausgeführt\n"
    "Handelstag 12.05.2026\nStück 10\nKurs 20,50 EUR\n"
    "Kurswert 205,00 EUR\nBelastung 205,00 EUR\nDE0008404005",
    "a sale in a tax paper": "Tax voucher\nSale of 100 shares GB00BN7SWP63 on 12/05/2026 at 20.50",
    "a day that has two readings": "Portfolio valuation as of 12/05/2026\n"
    "Trade date Security Quantity Price Amount\n12/05/2026 Acme 10 20.50 205.00",
    "a row in a valuation": "Portfolio valuation as of 12/05/2026\nBuy 10 Acme GB00BN7SWP63 20.50 205.00",
    "a sentence in a statement": "Account statement\nOpening balance 10.00\nDividend payment 10.00\n"
    "YOU BOUGHT 100 SHARES OF THE ACME COMPANY FOR YOUR ACCOUNT",
}


@pytest.mark.parametrize("text", TRADES_BELOW_OTHER_TITLES.values(), ids=TRADES_BELOW_OTHER_TITLES)
def test_a_paper_that_tells_of_a_trade_is_kept_whatever_it_is_called(text: str) -> None:
    assert has_trades(text)
    assert has_trades(text + FOOTER)


TITLE_AND_TERMS = (
    "Dividendengutschrift\nDE0008404005\nBestand 43 Stück\nDividende pro Stück 1,20 EUR\nGutschrift 51,60 EUR"
)


@pytest.mark.parametrize(
    "terms",
    [
        "Der Kauf oder Verkauf von Wertpapieren ist mit Risiken verbunden.",
        "Verkaufte Anteile zahlen wir aus.",
        "Unser Schreiben in Bezug auf Ihren Freistellungsauftrag vom 12.05.2026",
        "davon Gewinne aus der Veräußerung von Aktien 12,00 EUR",
    ],
)
def test_a_word_for_a_trade_in_the_terms_keeps_no_paper_on_income(terms: str) -> None:
    assert not has_trades(f"{TITLE_AND_TERMS}\n{terms}")


def test_the_title_of_a_note_keeps_no_paper_on_income_below_it() -> None:
    assert not has_trades(f"Wertpapierabrechnung\n{TITLE_AND_TERMS}")
    assert has_trades("Wertpapierabrechnung\nDE0008404005\nStück 43\nGutschrift 51,60 EUR")


def test_a_paper_on_income_with_the_fields_of_a_trade_has_none() -> None:
    fields = "DE0008404005\nHandelstag 12.05.2026\nStück 10\nKurs 1,80 EUR\nBruttobetrag 18,00 EUR"
    assert not has_trades(f"Dividendengutschrift\n{fields}")
    assert has_trades(f"Kapitalmaßnahme\n{fields}")


def test_what_only_income_has_says_that_it_is_income() -> None:
    fields = "Advice\nGB00BN7SWP63\nHolding 100\nDistribution per unit 1.20 GBP\nEx-date 12/05/2026\nNet 120.00 GBP"
    assert not has_trades(f"{fields}\nThe sale of units may lead to tax.")
    assert has_trades(fields.replace("Distribution per unit", "Amount").replace("Ex-date", "Date") + "\nSale")


def test_the_kind_of_a_transaction_may_be_income() -> None:
    text = "Settlement\nGB00BN7SWP63\nTransaction type: Dividend\nAmount 12.00 GBP\nThe sale of units may lead to tax."
    assert not has_trades(text)
    assert has_trades(text.replace("Dividend", "Sale"))


def test_a_letter_that_tells_of_income_is_none_of_a_trade() -> None:
    letter = (
        "Dear customer,\nwe credited a dividend on your shares\n"
        "in Acme (GB00BN7SWP63) of 51.60 GBP.\nThe sale of units may lead to tax."
    )
    assert not has_trades(letter)
    assert has_trades(letter.replace("credited a dividend on", "made an entry for"))


def test_the_name_of_a_security_is_no_title() -> None:
    assert has_trades("Select Dividend UCITS ETF GB00BN7SWP63\nMerger Arbitrage UCITS ETF\nsale of units")


STATEMENT = "Account statement\nOpening balance 10.00\nClosing balance 12.00\n"


@pytest.mark.parametrize(
    "row",
    [
        "Total purchase 0.00 0.00",
        "Purchase of securities 0.00 1,204.00",
        "The sale of a security is settled as Rule 4210 of the exchange says.",
        "Available for purchase 1,204.00",
        "Purchase price 1,204.00",
    ],
)
def test_a_line_of_a_statement_that_books_nothing_is_no_trade(row: str) -> None:
    assert not has_trades(STATEMENT + row)
    assert has_trades(STATEMENT + "Purchase of securities 1,204.00")


def test_what_is_held_on_the_day_of_a_valuation_is_no_trade() -> None:
    rows = "\nAcme GB00BN7SWP63 10 20.50 GBP 31/12/2026 205.00 GBP"
    assert not has_trades(f"Portfolio valuation at 31/12/2026{rows}")
    assert has_trades(f"Portfolio valuation at 31/12/2026{rows}{rows.replace('31', '30')}")
    assert has_trades(f"Account statement{rows}")


def test_a_dividend_of_a_number_is_no_trade() -> None:
    assert not has_trades(
        "TRANSAKTIONSBELEG\nDividende Unsere Referenz: 32484929\nGB00BN7SWP63\nAnzahl 350\nDividende 0.08 USD\n"
        "Betrag USD 28.00\nQuellensteuer 15.00% (US) USD 4.20\nTotal USD 23.80\nAusführungsdatum 19.06.2026"
    )


NOTE_BELOW_A_STATEMENT_TITLE = (
    "Portfolio Summary\nAccount 123-4567\nYou bought\nALLIANZ SE\nISIN DE0008404005\nQuantity 10\nPrice 20.50 EUR\n"
    "Amount 205.00 EUR\nTrade date 15/01/2026"
)


def test_one_trade_below_the_title_of_a_statement_is_read() -> None:
    reading = read_note(Transcript.from_rows(NOTE_BELOW_A_STATEMENT_TITLE.splitlines()).lines)
    assert [(found.trade.direction, str(found.trade.quantity)) for found in reading.trades] == [(Direction.BUY, "10")]
    assert reading.confidence >= 0.9


def test_what_is_held_beside_one_trade_sends_it_to_a_person() -> None:
    text = NOTE_BELOW_A_STATEMENT_TITLE + "\nHoldings\nALLIANZ SE 30 21.50 645.00"
    reading = read_note(Transcript.from_rows(text.splitlines()).lines)
    assert reading.has_trades
    assert reading.confidence < 0.9


def test_a_statement_of_what_is_held_has_no_trade_though_its_numbers_multiply() -> None:
    held = NOTE_BELOW_A_STATEMENT_TITLE.replace("You bought\n", "").replace("Trade date", "Date")
    assert not has_trades(held)


PAYOUT = """
Uw Uitbetaling dividenden van 2.130 HAVEN NV aan 0,0057 USD 12,14 USD
Bronheffing 3,04 USD
Netto credit 9,10 USD
Waardecode LU0378449770
"""
CUSTODY = """
ADMINISTRACION DE DEPOSITOS
ACC. HARBOUR INC  967,26 USD 1,1678 828,28
COMISION BANCARIA 20,88
IMPORTE TOTAL 20,88
"""
EVENT = """
Cash Amount Details, USD
Event Interest Amount 3.32 USD
Posting date 01-May-2026
Net amount 3.32 USD
"""
COUPONS = """
COUPONS REMBOURSEMENTS : MARS 2026
15/02/2026 248 HOULE (LU0378449770) 40,33 12,09 28,24
REMBOURSEMENTS : BRUTS GLOBAUX 0,00 EUR
"""


@pytest.mark.parametrize("text", [PAYOUT, CUSTODY, EVENT, COUPONS], ids=["payout", "custody", "event", "coupons"])
def test_a_payout_a_custody_fee_interest_and_coupons_are_no_trades(text: str) -> None:
    assert not has_trades(text)


ORDER = (
    "CONFIRMACIÓN DE RECEPCIÓN DE ORDEN\nEstado: Pendiente de ejecución\nTipo: Compra limitada\nValor: IBERDROLA\n"
    "ISIN: ES0144580Y14\nTítulos: 500\nPrecio límite: 14,20 EUR\nImporte estimado: 7.100,00 EUR\n{} 30/11/2026"
)


def test_an_order_that_was_received_is_no_trade_and_its_last_day_no_trade_date() -> None:
    assert not has_trades(ORDER.format("Válida hasta:"))
    assert has_trades(ORDER.format("Fecha de ejecución:"))
