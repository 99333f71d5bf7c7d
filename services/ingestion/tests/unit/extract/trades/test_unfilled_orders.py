"""Papers on orders that found nobody, statements of holdings, and what levies are."""

import pytest
from note_texts import ENGLISH, read, read_only

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
