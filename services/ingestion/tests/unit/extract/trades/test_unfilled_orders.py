"""Papers on orders that found nobody, statements of holdings, and what levies are."""

import pytest
from note_texts import ENGLISH, read, read_only

from ingestion.extract.trades.unfilled_orders import says_nothing_filled

UNFILLED = """
Order notice
{sentence}
Account  52K-118R-1
Order  BUY 300 SHARES
Security  ROYAL BANK OF CANADA
ISIN  CA7800871021
Limit price  138.50 CAD
Order date  03/06/2026
Estimated amount  41,559.95 CAD
"""


@pytest.mark.parametrize(
    "sentence",
    [
        "The order below was not filled and has expired.",
        "No trade took place and no commission was charged.",
        "Order Status Notice - EXPIRED",
        "Quantity filled  0",
        "Ihr Auftrag konnte nicht ausgeführt werden",
        "Es ist kein Geschäft zustande gekommen.",
        "Votre ordre n'a pas été exécuté.",
        "Aucune opération n'a été réalisée.",
        "Su orden no ha sido ejecutada.",
        "Il Suo ordine non è stato eseguito.",
        "Uw order is niet uitgevoerd.",
        "A sua ordem não foi executada.",
        "Ordern har inte utförts.",
        "Ordren blev ikke gennemført.",
        "Zlecenie nie zostało zrealizowane.",
        "Pokyn nebyl proveden.",
    ],
)
def test_a_paper_that_says_that_nothing_was_traded_has_no_trade(sentence: str) -> None:
    assert read(UNFILLED.format(sentence=sentence)).has_trades is False


@pytest.mark.parametrize(
    "sentence",
    [
        "Orders that have not been filled by the last day expire.",
        "If an order was not filled, no commission is charged.",
        "The remaining 50 shares were not filled.",
        "Any order that has not been filled has expired",
        "Quantity filled  300",
        "Filled quantity  0.5",
        "Der übrige Teil konnte nicht ausgeführt werden",
    ],
)
def test_what_the_terms_say_or_of_the_rest_of_an_order_is_no_evidence(sentence: str) -> None:
    assert read(UNFILLED.format(sentence=sentence)).has_trades is True


HOLDINGS = """
Depotauszug per 31.03.2026
Anzahl  Bezeichnung / ISIN  {heads}
120  Roche GS  241.30  229.75  28.03.2026  27'570.00
CH0012032048
400  Zurich Insurance N  402.10  486.30  27.03.2026  194'520.00
CH0011075394
Total Wertschriften  222'090.00
"""


def test_a_table_of_what_was_paid_and_what_it_is_worth_lists_holdings() -> None:
    assert read(HOLDINGS.format(heads="Einstandskurs  Kurs  Kursdatum  Marktwert CHF")).has_trades is False
    assert read(HOLDINGS.format(heads="Kurs  Preis  Datum  Betrag CHF")).has_trades is True


@pytest.mark.parametrize("name", ["SEC fee", "TAF", "ORF", "FINRA fee"])
def test_what_a_supervisor_takes_as_a_fee_is_one(name: str) -> None:
    found = read_only(ENGLISH.replace("Commission: €4.95", f"Commission: €3.95\n{name}: €1.00"))
    assert (found["fees"], found["taxes"]) == ("4.95", "0.00")


@pytest.mark.parametrize(
    "name",
    ["Stamp duty", "SDRT", "FTT", "TOB", "Withholding tax", "Umsatzabgabe", "PTM levy", "SFC Transaction Levy", "Levy"],
)
def test_what_is_called_a_tax_a_duty_or_a_levy_is_a_tax(name: str) -> None:
    found = read_only(ENGLISH.replace("Commission: €4.95", f"Commission: €3.95\n{name}: €1.00"))
    assert (found["fees"], found["taxes"]) == ("3.95", "1.00")


@pytest.mark.parametrize(
    "sentence",
    [
        "This order was not executed on a regulated market or MTF; we dealt as principal.",
        "Your limit order of 27 February was not filled and was replaced by this order.",
        "Your right to cancel: the order has lapsed once we have dealt.",
        "Order status: Expired/Filled see overleaf",
        "A cancelled order cannot be reinstated.",
        "Your order was not executed.",
        "L'ordre n'a pas été exécuté sur un marché réglementé mais de gré à gré.",
        "L'ordine non è stato eseguito su un mercato regolamentato.",
    ],
)
def test_a_note_of_a_trade_is_kept_whatever_its_small_print_says_of_orders(sentence: str) -> None:
    note = ENGLISH.replace("Commission: €4.95\n", "")
    assert note != ENGLISH
    assert read(f"{note}\n{sentence}").has_trades is True


@pytest.mark.parametrize(
    "sentence",
    [
        "This order was not executed on a regulated market or MTF; we dealt as principal.",
        "Ihr Auftrag konnte nicht ausgeführt werden an der Börse, sondern wurde intern ausgeführt.",
        "L'ordre n'a pas été exécuté sur un marché réglementé.",
        "La orden no ha sido ejecutada en un mercado regulado.",
        "De order is niet uitgevoerd op een gereglementeerde markt.",
        "A ordem não foi executada num mercado regulamentado.",
        "Ordern har inte utförts på en reglerad marknad.",
        "Handlen er ikke gennemført på et reguleret marked.",
        "Zlecenie nie zostało wykonane w systemie obrotu.",
        "Pokyn nebyl proveden na regulovaném trhu.",
    ],
)
def test_where_an_order_was_not_carried_out_does_not_say_that_it_was_not(sentence: str) -> None:
    assert says_nothing_filled([sentence]) is False


def test_an_order_that_found_nobody_takes_no_trade_from_a_statement() -> None:
    statement = (
        "Statement of account\nTransactions\nTrade date  Type  Security  ISIN  Quantity  Price  Amount\n"
        "03 Mar 2026  Buy  Vodafone Group PLC  GB00BH4HKS39  1,000  0.72  729.95\n"
        "10 Mar 2026  Sell  BP PLC  GB0007980591  500  4.80  2,390.05\nOrders\nYour order for 100 HSBC has expired."
    )
    assert read(statement).has_trades is True


def test_what_a_sentence_says_was_not_carried_out_completes_only_where_its_amount_is_proven() -> None:
    note = ENGLISH.replace("Commission: €4.95\n", "")
    assert "unfilled" in read(f"{note}\nYour order was not executed.").doubts
    assert "unfilled" not in read(f"{ENGLISH}\nYour order was not executed.").doubts


LISTS_OF_SALES = {
    "Umsätze": "Depotauszug\nUmsätze\nDatum  Bezeichnung  ISIN  Stück  Kurs  Marktwert  Einstandswert\n"
    "03.03.2026  Siemens AG  DE0007236101  10  180,00  1.800,00  1.200,00",
    "Kurswert is the amount of a trade": "Depotauszug\nDatum  Bezeichnung  ISIN  Stück  Kurs  Kurswert  Einstandswert\n"
    "03.03.2026  Siemens AG  DE0007236101  10  180,00  1.800,00  1.200,00",
    "days of their own": "Statement of account\nDate  Security  Qty  Price  Market value  Book cost\n"
    "03 Mar 2026  Vodafone Group PLC  1,000  0.72  720.00  600.00\n"
    "10 Mar 2026  BP PLC  500  4.80  2,400.00  2,000.00",
    "quantities with a sign": "Kontoutdrag\nDatum  Värdepapper  Antal  Kurs  Marknadsvärde  GAV\n"
    "2026-03-03  Volvo B  -100  284,50  28 450,00  210,00\n2026-03-03  Ericsson B  -200  80,00  16 000,00  60,00",
    "a heading": "Statement of account\nActivity\nDate  Security  Qty  Price  Market value  Book cost\n"
    "03 Mar 2026  Vodafone Group PLC  1,000  0.72  720.00  600.00",
}


@pytest.mark.parametrize("text", LISTS_OF_SALES.values(), ids=LISTS_OF_SALES)
def test_a_list_of_what_was_done_is_kept_though_it_names_cost_and_value(text: str) -> None:
    assert read(text).has_trades is True


def test_a_sentence_on_purchases_makes_no_list_of_movements_of_what_is_held() -> None:
    text = (
        "Portfolio valuation as of 16/02/2026\nSecurity  ISIN  Quantity  Price  Price date  Market value\n"
        "Alpine Dairy SE  DE0008404005  1,250  2.2350 GBP  16/02/2026  2,793.75 GBP\n"
        "Purchases and sales are settled in two days."
    )
    assert read(text).has_trades is False
