from decimal import Decimal

import pytest
from named_numbers import candidates
from note_texts import ENGLISH, GERMAN, read, read_only

from ingestion.domain.trade import Direction
from ingestion.extract.trades.settlement import find_settlement


def test_the_costs_that_explain_what_was_settled_are_told_from_those_that_repeat_them() -> None:
    settlement = find_settlement(
        candidates(settled="EUR 212.45", fees="4.95 2.50 7.45"), Decimal(205), "EUR", Direction.BUY
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees) == (True, Decimal("7.45"))


def test_costs_larger_than_what_was_sold_are_paid() -> None:
    settlement = find_settlement(candidates(settled="0.95", fees="3.95"), Decimal("3.00"), "EUR", Direction.SELL)
    assert settlement is not None
    assert settlement.is_proven


def test_the_wrong_way_round_costs_explain_nothing() -> None:
    settlement = find_settlement(candidates(settled="212.45", fees="7.45"), Decimal(205), "EUR", Direction.SELL)
    assert settlement is not None
    assert not settlement.is_proven


def test_an_exchange_rate_leads_to_the_currency_of_the_settlement() -> None:
    settlement = find_settlement(
        candidates(settled="525.92 EUR", fees="5.00 EUR 19.95 EUR", exchange_rates="1.0779"),
        Decimal(540),
        "USD",
        Direction.BUY,
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.is_converted, settlement.gross) == (True, True, Decimal("500.97"))


def test_another_currency_without_a_rate_proves_nothing() -> None:
    settlement = find_settlement(candidates(settled="540.00 EUR"), Decimal(540), "USD", Direction.BUY)
    assert settlement is not None
    assert not settlement.is_proven


def test_a_line_that_no_label_names_is_a_cost_if_it_explains_what_was_settled_and_a_person_says_which() -> None:
    settlement = find_settlement(
        candidates(settled="EUR 212.45", fees="4.95", unnamed_fees="2.50"), Decimal(205), "EUR", Direction.BUY
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees) == (False, Decimal("7.45"))


def test_a_row_goes_on_with_its_costs_and_what_was_paid() -> None:
    settlement = find_settlement(
        candidates(weakly_settled="(974.40) (0.10) (974.50) 25.50"), Decimal("974.40"), "CAD", Direction.BUY
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees, settlement.value) == (True, Decimal("0.10"), Decimal("974.50"))


def test_of_several_amounts_that_nothing_tells_apart_none_is_what_was_settled() -> None:
    assert find_settlement(candidates(settled="212.45 219.00"), Decimal(205), "EUR", Direction.BUY) is None


def test_a_gross_amount_is_what_was_settled_only_where_no_other_amount_is_near() -> None:
    alone = find_settlement(candidates(quantities="10"), Decimal(205), "EUR", Direction.BUY)
    beside = find_settlement(candidates(quantities="10", gross="212.45"), Decimal(205), "EUR", Direction.BUY)
    assert alone is not None
    assert beside is not None
    assert (alone.is_proven, beside.is_proven) == (True, False)


def test_a_gross_amount_with_a_smaller_one_behind_it_in_its_row_is_not_what_was_settled_for_certain() -> None:
    behind = find_settlement(candidates(others="205.00 4.95"), Decimal(205), "EUR", Direction.BUY)
    before = find_settlement(candidates(others="4.95 205.00"), Decimal(205), "EUR", Direction.BUY)
    assert behind is not None
    assert before is not None
    assert (behind.is_proven, before.is_proven) == (False, True)


def test_a_tax_with_a_minus_beside_costs_without_one_is_given_back() -> None:
    named = candidates(settled="14920.97 EUR", interests="99.94 EUR", fees="22.22 EUR", taxes="-12.49 EUR")
    settlement = find_settlement(named, Decimal("14811.30"), "EUR", Direction.BUY)
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees, settlement.taxes, settlement.interest) == (
        True,
        Decimal("22.22"),
        Decimal("-12.49"),
        Decimal("99.94"),
    )


def test_what_a_broker_gives_back_beyond_its_fees_is_for_a_person() -> None:
    named = candidates(settled="12907.21 EUR", fees="247.76 EUR -380.70 EUR")
    settlement = find_settlement(named, Decimal("13040.15"), "EUR", Direction.BUY)
    assert settlement is not None
    assert not settlement.is_proven


def test_interest_comes_to_who_sells_a_bond_whatever_signs_its_costs_have() -> None:
    named = candidates(settled="15476.09 EUR", interests="317.59 EUR", fees="-38.00 EUR -4.50 EUR")
    settlement = find_settlement(named, Decimal("15201.00"), "EUR", Direction.SELL)
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees, settlement.interest) == (True, Decimal("42.50"), Decimal("317.59"))


def test_of_a_bond_that_was_sold_with_interest_another_amount_may_have_been_paid_in_the_end() -> None:
    assert read(BOND).trades[0].is_settlement_proven
    assert not read(f"{BOND}\nRetained   GBP 50.00\nPaid out   GBP 15,426.09").trades[0].is_settlement_proven


BOND = """Contract note
We have sold for you
Security   Treasury 4% 2030
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Nominal   GBP 15,000
Price   101.34%
Consideration   GBP 15,201.00
Commission   GBP -38.00
Charges   GBP -4.50
Accrued interest   GBP 317.59
Net proceeds   GBP 15,476.09"""


def test_a_large_amount_in_another_currency_is_not_proven_by_its_size() -> None:
    settlement = find_settlement(
        candidates(settled="CHF 92658.45", exchange_rates="1.241652", fees="CHF 489.15", taxes="CHF 138.05"),
        Decimal(74120),
        "EUR",
        Direction.BUY,
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.gross) == (True, Decimal("92031.25"))
    assert (settlement.fees, settlement.taxes) == (Decimal("489.15"), Decimal("138.05"))


def test_the_price_is_not_what_was_settled_however_little_that_is() -> None:
    settlement = find_settlement(
        candidates(quantities="4000", prices="EUR 0.001", gross="EUR 4.00", fees="EUR 3.99", others="EUR 0.01"),
        Decimal("4.00"),
        "EUR",
        Direction.SELL,
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.value) == (True, Decimal("0.01"))


SOLD = """
Transaction notification
Sell order carried out on 21.10.2026 at 09:31
Arno Silver Fund ISIN: LU0378449770
Quantity Price Amount
5 110.27 CHF 551.35
Total CHF 551.35
Commission CHF 2.75
Tax (stamp duty) CHF 0.40
To your credit CHF 548.20
"""


def test_costs_that_are_listed_lead_to_what_was_settled_though_a_total_equals_the_gross_amount() -> None:
    trade = read_only(SOLD)
    assert (trade["settled_amount"], trade["fees"], trade["taxes"]) == ("548.20", "2.75", "0.40")
    assert read(SOLD).confidence >= 0.9


def test_a_total_that_equals_the_gross_amount_is_not_certain_beside_costs_that_lead_nowhere() -> None:
    assert read(SOLD.replace("To your credit CHF 548.20\n", "")).confidence < 0.9


DOLLARS = """
Sell confirmation
Sold on 15/01/2026 at 10:02
Symbol HBRD
Quantity 40  Price $20.50
Value A$820.00
Brokerage & GST A$3.00
Amount due A$817.00
"""


def test_a_dollar_sign_is_that_of_the_one_dollar_that_the_amounts_name() -> None:
    trade = read_only(DOLLARS)
    assert (trade["currency"], trade["gross_amount"], trade["settled_amount"]) == ("AUD", "820.00", "817.00")


def test_a_fee_and_the_tax_on_it_in_one_amount_are_a_fee() -> None:
    assert (read_only(DOLLARS)["fees"], read_only(DOLLARS)["taxes"]) == ("3.00", "0.00")


def test_what_was_once_paid_and_what_was_lost_are_no_costs_of_a_sale() -> None:
    text = SOLD.replace("To your credit CHF 548.20", "Costs CHF 560.35\nReturn CHF 9.00")
    text = text.replace("Commission CHF 2.75\nTax (stamp duty) CHF 0.40\n", "").replace("Total CHF 551.35\n", "")
    assert read_only(text)["settled_amount"] != "9.00"


def test_what_a_bank_takes_off_its_fee_lowers_the_fees() -> None:
    settlement = find_settlement(
        candidates(settled="USD 214.90", fees="USD 12.00", taxes="USD 0.90", discounts="USD 3.00"),
        Decimal(205),
        "USD",
        Direction.BUY,
    )
    assert settlement is not None
    assert (settlement.is_proven, settlement.fees, settlement.taxes) == (True, Decimal("9.00"), Decimal("0.90"))


def test_a_step_in_the_currency_of_the_price_is_not_what_was_settled_in_another_one() -> None:
    settlement = find_settlement(
        candidates(
            settled="EUR 3096.85",
            taxes="AUD 254.10",
            fees="EUR 29.36",
            exchange_rates="1.5181",
            others="AUD 4745.90 EUR 3126.21",
        ),
        Decimal(5000),
        "AUD",
        Direction.SELL,
    )
    assert settlement is not None
    assert (settlement.value, settlement.is_proven, settlement.fees) == (Decimal("3096.85"), True, Decimal("29.36"))


ABROAD = """
Effektenabrechnung
Ihr Kauf
Abschluss per: 04.10.2026
Registered Shs Hafen PLC
ISIN JE00B4T3BW64
Stück GBP GBP
1'000 zu 3.545 3'545.00
Fremde Kommission 10.71
Total 3'555.71
zum Kurs von GBP CHF 1.258775 CHF
Total zu Ihren Lasten Valuta 06.10.2026 4'475.84
"""


def test_an_amount_without_a_currency_below_an_exchange_rate_is_in_the_one_to_which_it_leads() -> None:
    trade = read_only(ABROAD)
    assert (trade["settled_amount"], trade["currency"], trade["foreign_currency"]) == ("4475.84", "CHF", "GBP")


def test_where_nothing_says_in_which_currency_an_amount_was_converted_none_is_named() -> None:
    trade = read_only(ABROAD.replace("von GBP CHF 1.258775 CHF", "1.258775").replace("zum Kurs", "Devisenkurs"))
    assert (trade["settled_amount"], trade["currency"]) == ("4475.84", None)


@pytest.mark.parametrize(
    "label",
    [
        *("Verrechneter Betrag", "Gutgeschriebener Betrag", "Importe cargado", "Importo incassato"),
        *("Bijgeschreven bedrag", "Somme créditée", "Settled amount"),
    ],
)
def test_an_amount_that_was_booked_is_the_settled_one_in_each_language(label: str) -> None:
    text = GERMAN.replace("Provision 4,95 EUR\nzulasten Konto-Nr. 12345678", label)
    assert read_only(text)["settled_amount"] == "209.95"


def test_what_a_swiss_exchange_takes_is_a_fee_and_its_stamp_a_tax() -> None:
    text = GERMAN.replace("Provision 4,95 EUR", "Börsenabgaben 1,00 EUR\nStempelabgaben 3,95 EUR")
    assert (read_only(text)["fees"], read_only(text)["taxes"]) == ("1.00", "3.95")


def test_two_net_amounts_in_two_currencies_without_a_rate_do_not_complete() -> None:
    debited = "Total amount payable: €209.95\nTotal amount debited: CHF 195.10"
    text = ENGLISH.replace("Total amount payable: €209.95", debited)
    assert read(text).confidence < 0.9
    assert read(text + "Exchange rate EUR/CHF 0.92927\n").confidence >= 0.9
    without_gross = text.replace("Consideration: €205.00\n", "").replace("Number of units: 10\n", "")
    assert (read_only(without_gross)["settled_amount"], read_only(without_gross)["currency"]) == (None, None)


def test_what_the_line_of_an_exchange_rate_ends_with_is_what_was_settled() -> None:
    text = ENGLISH.replace("Total amount payable", "Net").replace("€", "USD ") + "Change USD/CHF 0.900000 CHF {}\n"
    trade = read_only(text.format("188.96"))
    assert (trade["settled_amount"], trade["currency"]) == ("188.96", "CHF")
    assert (trade["foreign_gross_amount"], trade["foreign_currency"]) == ("205.00", "USD")
    assert read_only(text.format("198.96"))["settled_amount"] == "209.95"


@pytest.mark.parametrize(
    ("label", "are_known"),
    [
        ("Provision und Umsatzsteuer", True),  # a tax on the fee is part of it
        ("Gebühren", True),
        ("Kosten und Steuern", False),
        ("Steuern, Gebühren", False),
        ("Fees and taxes", False),
        ("Taxes & charges", False),
        ("Frais et impôts", False),
        ("Gastos e impuestos", False),
        ("Commissioni e imposte", False),
        ("Wisselkosten en belastingen", False),
        ("Comissões e impostos", False),
    ],
)
def test_what_bank_and_state_took_together_is_neither_a_fee_nor_a_tax(label: str, are_known: bool) -> None:
    trade = read_only(GERMAN.replace("Provision", label))
    assert (trade["fees"] is not None) is are_known
    assert (trade["taxes"] is not None) is are_known
    assert trade["settled_amount"] == "209.95"


TAX_SETTLEMENT = """
Steuerliche Ausgleichrechnung
Verrechnete Aktienverluste 15,75- EUR
Kapitalertragsteuer 25,00% auf 15,75 EUR 3,94 EUR
Ausmachender Betrag 3,94 EUR
"""


@pytest.mark.parametrize("heading", ["Steuerliche Ausgleichrechnung", "Steuerverrechnung", "Tax settlement"])
def test_what_is_settled_of_taxes_below_a_trade_is_none_of_it(heading: str) -> None:
    text = GERMAN.replace("zulasten Konto-Nr. 12345678 209,95 EUR", "Ausmachender Betrag 209,95 EUR")
    found = read(text + TAX_SETTLEMENT.strip().replace("Steuerliche Ausgleichrechnung", heading))
    trade = found.trades[0].trade
    assert (str(trade.settled_amount), str(trade.taxes), found.confidence >= 0.9) == ("209.95", "0.00", True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Nettobetrag 200,05 EUR", "Endbetrag 196,11 EUR"),
        ("Ausmachender Betrag 200,05 EUR", "Ausmachender Betrag 196,11 EUR"),
        ("Nettobetrag 200,05 EUR\nSteuerverrechnung", "zugunsten Konto 12345678 196,11 EUR"),
    ],
)
def test_what_was_settled_before_taxes_is_not_yet_what_was_paid(before: str, after: str) -> None:
    text = GERMAN.replace("Kauf am", "Verkauf am")
    text = text.replace("zulasten Konto-Nr. 12345678 209,95 EUR", f"{before}\nKapitalertragsteuer 3,94 EUR\n{after}")
    trade = read_only(text)
    assert (trade["settled_amount"], trade["fees"], trade["taxes"]) == ("196.11", "4.95", "3.94")


@pytest.mark.parametrize(
    "line",
    [
        "Umrechnung der Einzelpositionen in EUR zum Kurs von 1,2500",
        "Converted into EUR at a rate of 1,2500",
        "Conversion en EUR au cours de 1,2500",
        "Convertido a EUR al cambio de 1,2500",
        "Convertito in EUR al cambio di 1,2500",
        "Omgerekend in EUR tegen koers 1,2500",
        "Convertido em EUR ao câmbio de 1,2500",
    ],
)
def test_below_a_conversion_the_account_pays_in_its_own_currency(line: str) -> None:
    text = GERMAN.replace("EUR", "USD").replace(
        "zulasten Konto-Nr. 12345678 209,95 USD", "Ausmachender Betrag 209,95 USD"
    )
    found = read(f"{text}{line}\nZu Lasten Konto 12345678 EUR 167,96")
    trade = found.trades[0].trade.to_json()
    assert (trade["settled_amount"], trade["currency"], trade["foreign_currency"]) == ("167.96", "EUR", "USD")
    assert found.confidence >= 0.9


CONVERTED = """
Contract note
You have sold
Investment name: Allianz SE
ISIN: DE0008404005
Trade date: 15 Jan 2026
Settlement date: 19 Jan 2026
Number of units: 10
Price: USD 228.00
Consideration: USD 2,280.00
Commission: USD 10.00
Net amount: USD 2,270.00
"""


@pytest.mark.parametrize(
    "behind",
    [
        "Exchange rate  1.2500\nGBP equivalent  GBP 1,816.00",
        "GBP equivalent at 1.2500  GBP 1,816.00",
        "Rate of exchange  1.2500\nSterling equivalent  £1,816.00",
        "We have credited GBP 1,816.00 to your account at a rate of 1.2500.",
        "Exchange rate USD/GBP  0.8000\nCredited to your account  GBP 1,816.00",
        "Devisenkurs  1,2500\nGegenwert in GBP  1.816,00 GBP",
        "Indicative GBP value at 1.2500  GBP 1,816.00",
        "Exchange rate  1.2500\nNet amount  GBP 1,816.00\nUK dealing fee  GBP 5.00\nCredited  GBP 1,811.00",
    ],
)
def test_an_amount_that_a_rate_makes_of_what_was_settled_is_perhaps_what_the_account_paid(behind: str) -> None:
    assert read(CONVERTED).confidence >= 0.9
    assert read(f"{CONVERTED}{behind}").confidence < 0.9


@pytest.mark.parametrize(
    "behind",
    [
        "Exchange rate  1.2500\nNet amount  GBP 1,816.00",
        "Exchange rate  1.2500\nNet amount  GBP 1,816.00\nCash balance  GBP 9,411.20",
        "Exchange rate  1.2500\nCash balance  GBP 9,411.20",
    ],
)
def test_a_balance_behind_what_was_settled_speaks_against_nothing(behind: str) -> None:
    assert read(f"{CONVERTED}{behind}").confidence >= 0.9


ROWS = """
Transaction statement
Trade date  Side  Security  ISIN  Quantity  Price  Amount{head}
03/11/2026  Buy  Apple Inc  US0378331005  10  USD 228.00  USD 2,280.00{beside}
{below}
17/11/2026  Sell  Microsoft  US5949181045  5  USD 410.00  USD 2,050.00
"""


@pytest.mark.parametrize(
    ("head", "beside", "below", "is_certain"),
    [
        ("", "", "", True),
        ("", "", "Converted at 1.2500  GBP 1,824.00", False),
        ("  Cash account", "  GBP 1,824.00", "", False),
        ("  Cash account", "  USD 2,280.00", "", True),
    ],
)
def test_an_amount_in_another_currency_beside_a_row_is_perhaps_what_the_account_paid(
    head: str, beside: str, below: str, is_certain: bool
) -> None:
    assert (read(ROWS.format(head=head, beside=beside, below=below)).confidence >= 0.9) is is_certain


@pytest.mark.parametrize(
    ("title", "isin", "currency"),
    [
        ("Avräkningsnota", "NO0010096985", "SEK"),
        ("Fondsnota", "SE0000115446", "DKK"),
        ("Sluttseddel", "SE0000115446", "NOK"),
        ("Contract note", "SE0000115446", None),
    ],
)
def test_crowns_are_those_of_who_wrote_the_note_and_not_of_the_security(
    title: str, isin: str, currency: str | None
) -> None:
    note = CONVERTED.replace("Contract note", title).replace("DE0008404005", isin).replace("USD ", "kr. ")
    assert read_only(note).get("currency") == currency


@pytest.mark.parametrize(
    ("line", "currency"),
    [
        ("Valuation currency: GBP", None),
        ("Reporting currency GBP", None),
        ("Depotwährung: EUR", None),
        ("Cash balance  GBP 1,200.00", None),
        ("Account valued in GBP", None),
        ("Currency: USD", "USD"),
        ("All amounts in USD", "USD"),
    ],
)
def test_the_currency_of_an_account_as_a_whole_is_not_that_of_bare_amounts(line: str, currency: str | None) -> None:
    bare = CONVERTED.replace("USD ", "")
    assert read_only(f"{bare}{line}").get("currency") == currency


BEFORE_TAX = """
Wertpapierabrechnung Verkauf
Allianz SE  DE0008404005
Handelstag 12.11.2026
Stück 10
Kurs 180,00 EUR
Kurswert 1.800,00 EUR
Provision 9,90 EUR
Gutschrift vor Steuern 1.790,10 EUR
Abgeführte Steuern 31,65- EUR
{last}
"""


def test_what_is_settled_before_a_tax_is_not_certain_where_the_rest_is_printed_too() -> None:
    assert read(BEFORE_TAX.format(last="Überweisung 1.758,45 EUR")).confidence < 0.9
    assert read(BEFORE_TAX.format(last="Bestand danach 0 Stück")).confidence >= 0.9


GAIN = """
Contract note
You have SOLD
Investment name: Vodafone Group plc
ISIN: GB00BH4HKS39
Execution date/time: 13 Nov 2026 08:13:35
Number of units: 1,000
Price: GBP 0.7200
Proceeds: GBP 720.00
Original cost: GBP 500.00
Gain: GBP 220.00
"""


def test_what_had_been_paid_for_what_is_sold_is_no_certain_fee() -> None:
    assert read(GAIN).confidence < 0.9
    assert read(GAIN.replace("500.00", "9.95").replace("220.00", "710.05")).confidence >= 0.9


def test_a_commission_without_a_tax_is_no_tax() -> None:
    lines = "Commission (excl. VAT): €4.13\nVAT 20%: €0.82"
    trade = read_only(ENGLISH.replace("Commission: €4.95", lines))
    assert (trade["fees"], trade["taxes"]) == ("4.13", "0.82")


def test_an_amount_in_another_currency_below_the_settled_one_was_perhaps_paid_without_a_rate_too() -> None:
    assert read(ENGLISH).trades[0].is_settlement_proven
    assert not read(ENGLISH + "Total in pounds: GBP 183.25\n").trades[0].is_settlement_proven
    assert read(ENGLISH + "Our charge: GBP 4.25\n").trades[0].is_settlement_proven
