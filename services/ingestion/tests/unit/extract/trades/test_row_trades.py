"""Trades that are rows of a table, or an order that was filled in parts."""

from decimal import Decimal
from string import ascii_uppercase

import pytest
from note_texts import (
    read,
    read_only,
)

PARTS = """
Wertpapierabrechnung
Kauf am 15.01.2026
ALLIANZ SE  DE0008404005
Stück  Kurs  Kurswert
4  20,50  82,00
6  20,60  123,60
10  205,60
Provision 4,95 EUR
Endbetrag 210,55 EUR
"""


def test_the_parts_of_an_order_are_one_trade() -> None:
    trade = read_only(PARTS)
    assert (trade["quantity"], trade["gross_amount"], trade["settled_amount"]) == ("10", "205.60", "210.55")
    assert read(PARTS).confidence >= 0.9


def test_rows_that_nothing_sums_up_are_not_certain() -> None:
    without_total = PARTS.replace("10  205,60\n", "")
    assert read(without_total.replace("210,55", "86,95")).confidence < 0.9  # as if the first one were all


PLAN = """
Sparplan Kauf  ISIN DE0008404005
Handelstag  Anteile  Preis  Betrag
05.01.2026  2,125  20,50  43,56 EUR
05.02.2026  2,075  21,00  43,58 EUR
"""


def test_each_row_with_a_day_of_its_own_is_a_trade() -> None:
    found = [reading.trade for reading in read(PLAN).trades]
    assert [(str(trade.trade_date), trade.quantity, trade.settled_amount) for trade in found] == [
        ("2026-01-05", Decimal("2.125"), Decimal("43.56")),
        ("2026-02-05", Decimal("2.075"), Decimal("43.58")),
    ]


SIGNED = """
Activity Statement
Symbol  Date  Quantity  Price  Proceeds
Stocks EUR
SAP  2026-01-06  50  240.15  -12,007.50
Stocks USD
NVDA  2026-01-06  -10  149.20  1,492.00
"""


def test_signs_say_which_way_where_no_word_does_and_a_person_looks_at_it() -> None:
    found = [reading.trade for reading in read(SIGNED).trades]
    assert [(trade.direction, trade.ticker, trade.currency) for trade in found] == [
        ("buy", "SAP", "EUR"),
        ("sell", "NVDA", "USD"),
    ]
    assert read(SIGNED).confidence < 0.9


NET_ROWS = """
Monthly Account Statement
Opening cash balance 18,904.11 USD
Trade date  Settle date  Buy/Sell  Symbol  Quantity  Price  Comm.  Net amount
07/06/2026  07/07/2026  Buy  MSFT  30  412.10  1.00  -12,364.00
07/14/2026  07/15/2026  Sell  KO  120  61.25  1.20  7,348.80
Closing cash balance 13,888.91 USD
"""


def test_a_row_with_its_cost_and_a_net_amount_has_the_gross_amount_that_multiplies() -> None:
    found = [reading.trade for reading in read(NET_ROWS).trades]
    assert [(trade.gross_amount, trade.fees, trade.settled_amount) for trade in found] == [
        (Decimal("12363.00"), Decimal("1.00"), Decimal("12364.00")),
        (Decimal("7350.00"), Decimal("1.20"), Decimal("7348.80")),
    ]


def test_a_row_with_two_days_was_settled_on_the_second() -> None:
    found = [reading.trade for reading in read(NET_ROWS).trades]
    assert [str(trade.settlement_date) for trade in found] == ["2026-07-07", "2026-07-15"]


TWICE = """
Trade Confirmation
Account number AB-5579
Symbol  Security name  ISIN  Type  Quantity  Unit price  Total amount  Settlement date
ARN  Arno Global Fund  LU0378449770  Buy  2.61848651  €38.19  €100.00  06 Jan 2026
Symbol  Security name  Type  Quantity  Unit price  Total amount  Execution time
ARN  Arno Global Fund  Buy  2.6184865147  €38.19  €100.00  02 Jan 2026 08:10:12
"""


@pytest.mark.parametrize("again", ["2.6184865147", "2.61848651"])
def test_a_row_that_says_another_one_again_is_no_second_trade(again: str) -> None:
    trade = read_only(TWICE.replace("2.6184865147", again))
    assert (trade["trade_date"], trade["settlement_date"]) == ("2026-01-02", "2026-01-06")
    assert (trade["quantity"], trade["settled_amount"], trade["ticker"]) == ("2.61848651", "100.00", "ARN")


CONVERTED = """
Liquidación de valores
Compra de valores
ISIN valor LU0378449770
Nº de valores 100
Precio unitario 21,0000
Fecha ejecución 20/06/2026
Cambio divisa 1,2500 USD/EUR
S/títulos USD  100  21,0000  2.100,00
Subtotal en origen USD  2.100,00
Contravalor EUR  2.100,00  0,80000000  1.680,00
Comisión fija EUR  20,00
Importe total EUR  1.700,00
"""


def test_what_an_amount_is_worth_in_another_currency_is_no_part_of_an_order() -> None:
    trade = read_only(CONVERTED)
    assert (trade["quantity"], trade["foreign_gross_amount"]) == ("100", "2100.00")
    assert (trade["gross_amount"], trade["fees"], trade["settled_amount"]) == ("1680.00", "20.00", "1700.00")
    assert read(CONVERTED).confidence >= 0.9


def test_rows_that_convert_the_costs_of_one_trade_are_no_trades() -> None:
    text = (
        "Trade details\nKauf  Handelszeit 05-Dez-2026 11:21:27\nISIN IE00B4L5Y983  Menge 49,00\nPreis 111,8455 USD\n"
        "Gehandelter Wert -5.480,43 USD\nStempelgebühr 05-Dez-2026 09-Dez-2026 -8,22 0,887182 -7,29\n"
        "Aktienbetrag 05-Dez-2026 09-Dez-2026 -5.480,43 0,887182 -4.862,14"
    )
    assert [found.trade.quantity for found in read(text).trades] == [49]


NAMES = """
Activity statement
Base currency EUR
Symbol  Name  Trade date  Side  Quantity  Price  Amount EUR
APC  APPLE INC  02 Sep 2026  Sell  20  214.60  4,292.00
F30  LIFE FUND 30  09 Sep 2026  Buy  15  171.24  2,568.60
ASML  ASML HOLDING  10 Sep 2026  Buy  1  650.00  650.00
"""


def test_a_number_in_a_name_and_a_single_share_leave_no_row_out() -> None:
    reading = read(NAMES)
    assert [(found.trade.ticker, found.trade.quantity) for found in reading.trades] == [
        ("APC", Decimal(20)),
        ("F30", Decimal(15)),
        ("ASML", Decimal(1)),
    ]
    assert reading.confidence >= 0.9


@pytest.mark.parametrize(
    "row",
    ["NOK  NOKIA  18 Sep 2026  Buy  100  4.00  500.00", "NOK  NOKIA  18 Sep 2026  100  4.00  500.00"],
    ids=["does not multiply", "has no side"],
)
def test_a_row_that_may_be_a_trade_and_was_not_read_is_a_doubt(row: str) -> None:
    assert read(NAMES).doubts == ()
    assert read(NAMES + row).doubts == ("trades",)


def test_rows_beyond_the_limit_are_a_doubt_where_all_have_one_price_and_one_day() -> None:
    head = "Activity statement\nBase currency EUR\nSymbol  Trade date  Side  Quantity  Price  Amount EUR\n"
    names = [f"{first}{second}" for first in ascii_uppercase for second in ascii_uppercase]
    rows = [f"{name}  18 Sep 2026  Buy  {10 + i}  12.37  {(10 + i) * 12.37:,.2f}" for i, name in enumerate(names[:420])]
    assert read(head + "\n".join(rows[:20])).doubts == ()
    assert read(head + "\n".join(rows)).doubts == ("trades",)


@pytest.mark.parametrize("written", ["{:02} Sep 2026", "{:02}.09.2026"])
def test_a_date_in_a_name_is_no_day_of_the_trade(written: str) -> None:
    text = f"""
Activity statement
Base currency EUR
Trade date  Side  Instrument  ISIN  Quantity  Price  Amount EUR
{written.format(2)}  Sell  CALL APPLE 15.09.2026  US0378331005  20  214.60  4,292.00
{written.format(9)}  Buy  BUND 15.08.2020  DE0001102580  15  171.24  2,568.60
"""
    found = [reading.trade for reading in read(text).trades]
    assert [(str(trade.trade_date), trade.settlement_date) for trade in found] == [
        ("2026-09-02", None),
        ("2026-09-09", None),
    ]


def test_a_minus_before_a_quantity_says_that_it_was_given_away() -> None:
    text = SIGNED.replace("50  240.15  -12", "50  240.15  12").replace("1,492.00", "-1,492.00")
    assert [found.trade.direction for found in read(text).trades] == ["buy", "sell"]


@pytest.mark.parametrize("balance", ["15,708.00", "3.00"])
def test_money_that_nothing_explains_behind_what_multiplies_makes_a_row_uncertain(balance: str) -> None:
    rows = [f"{row}  {balance}" if "Sep" in row else f"{row}  Other" for row in NAMES.strip().splitlines()]
    assert read("\n".join(rows)).confidence < 0.9


CURRENCIES = """
Activity statement
Account currency: EUR
{heading}
Trade date  Side  Instrument  ISIN{ccy}  Quantity  Price{price}  Amount{amount}
{day}02{month}  Buy  APPLE INC  US0378331005{own}  20  214.60  4,292.00
{day}17{month}  Sell  NVIDIA  US67066G1040{own}  8  228.95  1,831.60
"""


@pytest.mark.parametrize(("day", "month"), [("", " Sep 2026"), ("", ".09.2026")])
@pytest.mark.parametrize(
    ("places", "currency"),
    [
        ({}, "EUR"),
        ({"amount": " USD"}, "USD"),
        ({"amount": " (USD)"}, "USD"),
        ({"price": " (USD)"}, "USD"),
        ({"price": " $"}, "USD"),
        ({"price": " USD", "amount": " CHF"}, None),
        ({"ccy": "  Currency", "own": "  USD"}, "USD"),
    ],
    ids=str,
)
def test_the_currency_of_a_row_is_what_stands_nearest_to_it(
    places: dict[str, str], currency: str | None, day: str, month: str
) -> None:
    empty = dict.fromkeys(("heading", "ccy", "price", "amount", "own"), "")
    text = CURRENCIES.format(day=day, month=month, **empty | places)
    assert {found.trade.currency for found in read(text).trades} == {currency}


def test_each_row_of_a_table_with_several_currencies_has_its_own() -> None:
    text = CURRENCIES.format(heading="", ccy="  Currency", price="", amount="", own="  USD", day="", month=" Sep 2026")
    rows = text.replace("US67066G1040  USD", "US67066G1040  CHF")
    assert [found.trade.currency for found in read(rows).trades] == ["USD", "CHF"]


def test_a_table_whose_heads_are_not_understood_does_not_have_the_currency_of_the_account() -> None:
    text = CURRENCIES.format(heading="", ccy="", price=" USD", amount="", own="", day="", month=".09.2026")
    assert {found.trade.currency for found in read(text.replace("Amount", "Wert")).trades} == {None}


def test_a_list_of_more_trades_than_are_read_is_a_doubt() -> None:
    row = "02.09.2026  Buy  SAP SE  DE0007164600  20  214.60  4,292.00\n"
    head = "Activity statement\nBase currency EUR\nDate  Side  Instrument  ISIN  Quantity  Price  Amount\n"
    assert (read(head + row * 9).doubts, read(head + row * 210).doubts) == ((), ("trades",))


TO_ACCOUNT = """
Transactions from 01-01-2026 until 31-03-2026
Date Time Product ISIN Venue Quantity Price Local value Value Exchange rate Costs Total
03-02-2026 10:05 Bought SAP SE DE0007164600 XET 40 25.50 USD -1,020.00 USD -918.00 CHF 1.11 {cost}-{total} CHF
29-01-2026 14:20 Sold SAP SE DE0007164600 XET 30 12.00 USD 360.00 USD 319.68 CHF 1.125 -0.70 CHF 318.98 CHF
"""


def test_a_row_that_goes_on_to_the_accounts_currency_is_settled_in_it() -> None:
    bought, sold = (found.trade for found in read(TO_ACCOUNT.format(cost="-0.55 CHF ", total="918.55")).trades)
    assert (bought.settled_amount, bought.currency, bought.fees) == (Decimal("918.55"), "CHF", Decimal("0.55"))
    assert (bought.gross_amount, bought.foreign_gross_amount) == (Decimal("918.00"), Decimal("1020.00"))
    assert (sold.settled_amount, sold.currency, sold.foreign_currency) == (Decimal("318.98"), "CHF", "USD")
    without_costs = read(TO_ACCOUNT.format(cost="", total="918.00")).trades[0].trade
    assert (without_costs.settled_amount, without_costs.fees) == (Decimal("918.00"), Decimal(0))
    assert without_costs.currency == "CHF"


@pytest.mark.parametrize(("cost", "total"), [("-0.55 CHF ", "918.00"), ("-0.55 ", "918.55"), ("-0.55 CHF ", "920.00")])
def test_a_row_whose_total_its_costs_do_not_explain_is_settled_in_no_other_currency(cost: str, total: str) -> None:
    reading = read(TO_ACCOUNT.format(cost=cost, total=total))
    assert reading.trades[0].trade.foreign_currency is None
    assert reading.confidence < 0.9


@pytest.mark.parametrize("title", ["Account statement", "Securities transactions"])
@pytest.mark.parametrize(
    ("heads", "is_certain"),
    [
        ("Trade date  Settlement date", True),
        ("Date  Value date", True),
        ("Order date  Trade date", False),
        ("Auftragsdatum  Handelstag", False),
        ("Date d'ordre  Date d'exécution", False),
        ("Booking date  Value date", False),
        ("Trade date  Maturity", False),
    ],
)
def test_beside_the_day_of_an_order_or_a_booking_that_of_the_trade_is_not_certain(
    heads: str, is_certain: bool, title: str
) -> None:
    text = f"""
{title}
{heads}  Side  Security  ISIN  Quantity  Price  Amount EUR
01/09/2026  02/09/2026  Buy  Allianz SE  DE0008404005  10  205.00  2,050.00
03/09/2026  04/09/2026  Buy  SAP SE  DE0007164600  10  105.00  1,050.00
"""
    assert [found.is_date_certain for found in read(text).trades] == [is_certain, is_certain]


@pytest.mark.parametrize("day", [" Sep 2026", "/09/2026"])
@pytest.mark.parametrize("heading", ["USD", "Stocks USD", "Trades in USD", "Transactions (USD)"])
def test_a_row_below_a_heading_in_another_currency_is_not_in_that_of_the_account(heading: str, day: str) -> None:
    text = f"""
Account statement
Account currency EUR
Trades
Trade date  Settlement date  Side  Security  ISIN  Quantity  Price  Amount
02{day}  04{day}  Buy  Allianz SE  DE0008404005  10  205.00  2,050.00
{heading}
03{day}  05{day}  Sell  SAP SE  DE0007164600  10  105.00  1,050.00
"""
    own, other = (found.trade.currency for found in read(text).trades)
    assert own in ("EUR", None)
    assert other in ("USD", None)


def test_a_name_that_ends_with_a_currency_is_no_heading_in_that_currency() -> None:
    text = """
Wertpapierabrechnung
Käufe im September 2026
Kontowährung EUR
Handelstag  Wertpapier  ISIN  Stück  Kurs  Betrag
02.09.2026  Vanguard FTSE  IE00B4L5Y983  10  205,00  2.050,00
Emerging Markets USD
03.09.2026  SAP SE  DE0007164600  10  105,00  1.050,00
"""
    assert {found.trade.currency for found in read(text).trades} == {"EUR"}


GAINS = """
Transaction statement
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  {heads}
17/11/2026  Sell  Tesco PLC  GB00BLGZ9862  500  4.5000  2,250.00  2,000.00  250.00
"""


@pytest.mark.parametrize("heads", ["Proceeds (GBP)  Cost (GBP)  Gain (GBP)", "Amount  Cost Basis  Realized Gain"])
def test_what_was_once_paid_for_what_is_sold_is_no_cost_of_the_sale(heads: str) -> None:
    reading = read(GAINS.format(heads=heads))
    assert reading.confidence < 0.9 or reading.trades[0].trade.settled_amount == Decimal("2250.00")
    assert reading.trades[0].trade.settled_amount != Decimal("250.00")


COSTS_BELOW = """
Transaction statement
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00
{first}
13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


@pytest.mark.parametrize(
    "first",
    [
        "Commission  9.95",
        "Commission 9.95   Net 729.95",
        "Stamp duty  3.60",
        "Our charge 9.95, government 3.60, you owe 733.55",
    ],
)
def test_costs_in_the_line_below_a_row_leave_it_uncertain_what_was_settled(first: str) -> None:
    assert read(COSTS_BELOW.format(first=first)).confidence < 0.9
    assert read(COSTS_BELOW.format(first="Commission  0.00")).confidence >= 0.9


TWO_ACCOUNTS = """
Transaction statement
Account number: 40218833
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00
Account number: {second}
13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


def test_of_two_accounts_none_is_that_of_all_trades() -> None:
    assert [found.trade.account for found in read(TWO_ACCOUNTS.format(second="40218999")).trades] == [None, None]
    assert {found.trade.account for found in read(TWO_ACCOUNTS.format(second="40218833")).trades} == {"40218833"}


@pytest.mark.parametrize(
    ("line", "is_proven"),
    [
        ("Our charge 9.95, government duty 3.60, to pay 733.55", False),
        ("Commission 9.95", False),
        ("Total 720.00", True),
        ("Commission 0.00", True),
    ],
)
def test_what_the_line_below_the_row_of_a_note_adds_is_not_left_out(line: str, is_proven: bool) -> None:
    head = "Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)"
    row = "Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00"
    note = read(f"Contract note\nTrade date  13 November 2026\n{head}\n{row}\n{line}")
    assert note.trades[0].is_settlement_proven is is_proven


def test_trades_of_a_paper_that_names_several_accounts_have_none() -> None:
    head = "Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)"
    first = "03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00"
    second = "13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00"
    for other, account in (("40218999", None), ("40218833", "40218833")):
        lines = ("Account number 40218833", head, first, f"Account number {other}", head, second)
        found = read("\n".join(["Transaction statement", *lines])).trades
        assert [reading.trade.account for reading in found] == [account, account]
