"""What labels, units and places call the numbers of a trade."""

from decimal import Decimal

import pytest
from note_texts import (
    DUTCH,
    ENGLISH,
    FRENCH,
    GERMAN,
    read,
    read_only,
)


def test_the_label_of_a_line_says_what_its_amount_is_and_none_above_it() -> None:
    text = GERMAN.replace("20,500000 EUR", "20,500000 EUR FRANCO COURTAGE").replace(
        "Provision 4,95 EUR", "Finanztransaktionssteuer 0,20% 0,45 EUR\nProvision 4,50 EUR"
    )
    trade = read_only(text)
    assert (trade["fees"], trade["taxes"]) == ("4.50", "0.45")


def test_heads_of_a_table_do_not_name_what_the_labels_of_a_row_below_name() -> None:
    text = GERMAN.replace("Provision 4,95 EUR", "Kommission               Spesen\nFinanztransaktionssteuer 4,95 EUR")
    trade = read_only(text)
    assert (trade["fees"], trade["taxes"]) == ("0.00", "4.95")


def test_two_factors_that_nothing_tells_apart_are_not_certain() -> None:
    text = GERMAN.replace("Einheit Umsatz\nST 10,00000\nPreis pro Anteil 20,500000 EUR", "{}")
    assert read(text.format("10  20,50  205,00")).confidence >= 0.9
    assert read(text.format("2,5  82,0  205,00")).confidence < 0.9
    assert read(text.format("2,5  82,0 EUR  205,00 EUR")).confidence >= 0.9


def test_accrued_interest_goes_to_the_seller_of_a_bond() -> None:
    text = """
Wertpapierabrechnung Verkauf
Handelstag 12.05.2026
Nominal EUR 5.000,00 Anleihe DE0001102580
Kurs 98,00 %
Kurswert 4.900,00 EUR
Stückzinsen 12,33 EUR
Provision 5,00 EUR
Ausmachender Betrag 4.907,33 EUR
"""
    (found,) = read(text).trades
    assert (found.trade.gross_amount, found.trade.accrued_interest) == (Decimal("4900.00"), Decimal("12.33"))
    assert found.trade.adds_up() is True
    assert found.confidence >= 0.9


def test_a_tax_that_a_fee_includes_is_none() -> None:
    trade = read_only(ENGLISH.replace("Commission: €4.95", "Brokerage & costs incl GST: €4.95"))
    assert (trade["fees"], trade["taxes"]) == ("4.95", "0.00")


@pytest.mark.parametrize("price", ["241.80p", "241.80 GBX", "GBX 241.80", "241.80 pence", "£2.418"])
def test_a_price_in_pence_is_one_in_the_pounds_of_its_amount(price: str) -> None:
    note = f"""
Contract note
We have BOUGHT for your account
Security: LEGAL & GENERAL GROUP PLC
ISIN: GB0005603997
Trade date: 14/10/2026
Quantity: 1,250
Price: {price}
Consideration: £3,022.50
Commission: £11.95
Total amount due: £3,034.45
"""
    trade = read_only(note)
    assert (trade["quantity"], trade["price"], trade["gross_amount"]) == ("1250", "2.418", "3022.50")


def test_the_price_of_a_bond_stays_a_percentage_where_pounds_and_pence_are_paid() -> None:
    trade = read_only(
        """
Contract note
We have BOUGHT for your account
Security: 4 1/4% Treasury Stock 2036
ISIN: GB0032452392
Trade date: 14/10/2026
Nominal: 10,000
Price: 98.50
Consideration: £9,850.00
Total amount due: £9,850.00
"""
    )
    assert (trade["quantity"], trade["price"]) == ("10000", "98.5")


def test_a_note_that_goes_on_to_the_currency_of_the_account_was_settled_there() -> None:
    text = ENGLISH.replace("€", "EUR ") + "\nExchange rate EUR/GBP: 0.8600\nSettlement amount: GBP 180.56"
    trade = read_only(text)
    assert (trade["settled_amount"], trade["currency"], trade["gross_amount"]) == ("180.56", "GBP", "176.30")


def test_two_numbers_without_labels_are_quantity_and_price_if_they_make_the_gross_amount() -> None:
    text = DUTCH.replace("Aantal: 10\nKoers: 20,50 EUR", "10 ALLIANZ SE\ntegen EUR 20,50")
    trade = read_only(text)
    assert (trade["quantity"], trade["price"]) == ("10", "20.5")


def test_a_blank_parts_thousands_only_if_that_holds_together() -> None:
    text = FRENCH.replace("Quantité : 10   Cours : 20,50 EUR", "Quantité Cours Devise\n10 120,50 EUR").replace(
        "Montant brut : 205,00", "Montant brut : 1 205,00"
    )
    trade = read_only(text.replace("209,95", "1 209,95"))
    assert (trade["quantity"], trade["gross_amount"]) == ("10", "1205.00")


def test_costs_that_do_not_explain_what_was_settled_are_not_stated() -> None:
    trade = read_only(GERMAN.replace("209,95", "219,95"))
    assert (trade["gross_amount"], trade["settled_amount"]) == ("205.00", "219.95")
    assert (trade["fees"], trade["taxes"]) == (None, None)


def test_a_cost_that_no_label_names_stands_below_the_amount_that_multiplies() -> None:
    text = GERMAN.replace("Kurswert 205,00 EUR", "205,00 EUR").replace("Provision", "Hausbankanteil")
    assert read_only(text)["fees"] == "4.95"
    assert read(text).confidence < 0.9


def test_a_cost_of_a_cent_is_one() -> None:
    trade = read_only(GERMAN.replace("4,95", "0,01").replace("209,95", "205,01"))
    assert (trade["fees"], trade["settled_amount"]) == ("0.01", "205.01")


WITHOUT_PRODUCT = GERMAN.replace("Preis pro Anteil 20,500000 EUR", "Zwischensumme 198,00 EUR")


def test_where_nothing_multiplies_the_gross_amount_is_the_one_that_costs_lead_from() -> None:
    assert read_only(WITHOUT_PRODUCT)["gross_amount"] == "205.00"
    assert read_only(WITHOUT_PRODUCT.replace("209,95", "219,95"))["gross_amount"] is None


STOCK_PLAN = """
Purchase Confirmation
ISIN: DE0008404005
Purchase date: 15 Jan 2026
Shares purchased: 5.2350
Market value per share 215.590000 USD
Purchase price 183.250000 USD
Total value 1,128.61 USD
Net amount 959.31 USD
Total price 959.31375 USD
"""


def test_of_the_prices_of_a_plan_that_was_paid_which_leads_to_the_amount() -> None:
    text = STOCK_PLAN.replace("Total value 1,128.61 USD\n", "Value of shares 1,128.61 USD\n")
    trade = read_only(text)
    assert (trade["price"], trade["gross_amount"], trade["settled_amount"]) == ("183.25", "959.31", "959.31")


def test_of_totals_that_nothing_tells_apart_none_is_the_gross_amount() -> None:
    trade = read_only(STOCK_PLAN.replace("Purchase price 183.250000 USD\n", ""))
    assert (trade["gross_amount"], trade["settled_amount"]) == (None, None)


@pytest.mark.parametrize("name", ["SEC fee", "Section 31 fee", "FINRA TAF"])
def test_what_a_supervisor_takes_as_a_fee_is_no_tax(name: str) -> None:
    trade = read_only(ENGLISH.replace("Commission: €4.95", f"Commission: €4.50\n{name}: €0.45"))
    assert (trade["fees"], trade["taxes"]) == ("4.95", "0.00")


@pytest.mark.parametrize("said", ["YOU SOLD 7.5146 AT $58.9290", "Verkoop van 7,5146 HAVEN NV aan 58,9290 USD"])
def test_a_line_that_says_so_has_quantity_and_price(said: str) -> None:
    rest = "Trade date 15 Jan 2026\nSymbol: HVN\nOther terms 1,250\nNet proceeds USD 442.83"
    trade = read_only(f"Trade confirmation\n{said}\n{rest}")
    assert (trade["direction"], trade["quantity"], trade["settled_amount"]) == ("sell", "7.5146", "442.83")


def test_a_line_that_says_quantity_and_price_may_write_what_was_sold_with_a_minus() -> None:
    trade = read_only(
        """
Transaction no.: 904118220
REDEMPTION
Sale -74.620 HARBOUR-CHINA SHARES PT GBP-ACC. at GBP 1'565.99
ISIN: LU0378449770    Value date 20.07.2026
Gross amount GBP 116'854.17
Brokerage GBP -127.25 Execution date 14.07.2026 Executed quantity -74.620
Net amount GBP 116'726.92 Execution price GBP 1'565.99
"""
    )
    assert (trade["quantity"], trade["price"]) == ("74.62", "1565.99")


def test_what_a_row_counts_is_its_first_number_where_the_name_behind_it_has_numbers_too() -> None:
    trade = read_only(
        """
Contract Note
Date 27/03/2026 Time 11:46 Contract Note No. S4711-01
We have today on your instructions **SOLD** the security detailed below.
Quantity Security Price Consideration
GB0005603997 STOCK CODE: HAR.
132.00 Ordinary Shares 1p 752.896 993.82
Commission 11.95
Total amount payable: £981.87
"""
    )
    assert (trade["quantity"], trade["price"], trade["gross_amount"]) == ("132", "7.52896", "993.82")


def test_a_price_that_names_pounds_is_in_pence_where_a_hundredth_of_the_product_stands_there() -> None:
    trade = read_only(ENGLISH.replace("€20.50", "GBP 2050.00").replace("€", "GBP "))
    assert (trade["price"], trade["gross_amount"]) == ("20.5", "205.00")


def test_the_interest_of_a_bond_has_a_name_in_switzerland() -> None:
    (found,) = read(
        """
Abrechnung: Ihr Kauf
Wir haben für Sie am 20. Juli 2026 gekauft:
AUD 40'000.00 4.55% Obl Hafen Capital ISIN AU3CB0319416
Kurs 98.594% AUD 39'437.60
Marchzinsen (131 Tage) AUD 648.00
Kurswert AUD 40'085.60
Courtage AUD 160.34
Total AUD 40'245.94
Wechselkurs AUD/CHF 0.5751
Zu Ihren Lasten Valuta 22.07.2026 CHF 23'145.44
"""
    ).trades
    assert (found.trade.settled_amount, found.trade.currency) == (Decimal("23145.44"), "CHF")
    assert found.trade.accrued_interest == Decimal("372.66")


def test_the_number_of_a_house_is_no_quantity() -> None:
    text = GERMAN.replace("Preis pro Anteil 20,500000 EUR\n", "") + "FONDSBANK S.A. CALLE MUSTER Nº 12, SEVILLA\n"
    assert read_only(text)["quantity"] == "10"
