"""What the head of a table says of the numbers of its rows."""

from decimal import Decimal

import pytest
from note_texts import read

from ingestion.extract.trades.trade import TradeReading

ROWS = """
Kontoauszug September 2026
Alter Saldo 20.000,00 EUR
{head}
02.09.2026  Kauf  SAP SE  DE0007164600  {first}
17.09.2026  Verkauf  SIEMENS AG  DE0007236101  {second}
"""
GROSS_ONLY = ROWS.format(
    head="Datum  Art  Wertpapier  ISIN  Stück  Kurs  Betrag EUR  Gebühr EUR",
    first="20  214,60  4.292,00  2,00",
    second="8  228,95  1.831,60  2,50",
)
GROSS_AND_NET = ROWS.format(
    head="Datum  Art  Wertpapier  ISIN  Stück  Kurs  Kurswert EUR  Provision EUR  Steuer EUR  Endbetrag EUR",
    first="20  214,60  4.292,00  2,00  0,00  4.294,00",
    second="8  228,95  1.831,60  2,50  12,00  1.817,10",
)
NET_ONLY = ROWS.format(
    head="Datum  Art  Wertpapier  ISIN  Stück  Kurs  Gebühr EUR  Endbetrag EUR",
    first="20  214,60  2,00  4.294,00",
    second="8  228,95  2,50  1.829,10",
)


def amounts(found: TradeReading) -> tuple[Decimal | None, ...]:
    trade = found.trade
    return trade.gross_amount, trade.fees, trade.taxes, trade.settled_amount


@pytest.mark.parametrize(
    ("text", "taxes", "settled"),
    [(GROSS_ONLY, "0.00", "1829.10"), (GROSS_AND_NET, "12.00", "1817.10"), (NET_ONLY, "0.00", "1829.10")],
)
def test_costs_in_columns_of_their_own_lead_to_what_was_settled(text: str, taxes: str, settled: str) -> None:
    reading = read(text)
    assert [amounts(found) for found in reading.trades] == [
        (Decimal("4292.00"), Decimal("2.00"), Decimal("0.00"), Decimal("4294.00")),
        (Decimal("1831.60"), Decimal("2.50"), Decimal(taxes), Decimal(settled)),
    ]
    assert reading.confidence >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        GROSS_ONLY.replace("4.292,00  2,00", "4.292,00"),
        GROSS_ONLY.replace("Gebühr EUR", "Gebühr USD"),
        GROSS_AND_NET.replace("4.294,00", "4.295,00"),
    ],
    ids=["no cost in the row", "a cost in another currency", "a sum that is another one"],
)
def test_a_row_whose_costs_are_not_explained_is_not_certain(text: str) -> None:
    assert read(text).confidence < 0.9


def test_the_head_says_in_which_currency_its_amounts_are() -> None:
    assert {found.trade.currency for found in read(GROSS_ONLY.replace("EUR\n", "\n").replace("EUR", "CHF")).trades} == {
        "CHF"
    }


def test_a_number_in_the_name_of_a_security_is_in_no_column() -> None:
    reading = read(GROSS_ONLY.replace("SAP SE", "FUND 30"))
    assert amounts(reading.trades[0])[:2] == (Decimal("4292.00"), Decimal("2.00"))


def test_rows_that_each_name_their_side_are_trades_though_buys_and_sales_are_as_many() -> None:
    text = """
Account activity
Trade date  Side  Security  Quantity  Price  Amount USD
02 Sep 2026  Buy  SAP SE DE0007164600  20  214.60  4,292.00
17 Sep 2026  Sell  SIEMENS AG DE0007236101  8  228.95  1,831.60
"""
    assert [found.trade.direction for found in read(text).trades] == ["buy", "sell"]


WRAPPED = """
Kontoauszug September 2026
Kontowährung EUR
Datum       Art      Wertpapier  ISIN            Stück    Kurs     Betrag      Gebühr/
                                                          in USD   in USD      Spesen
02.09.2026  Kauf     APPLE       US0378331005    20       214,60   4.292,00    2,00
17.09.2026  Verkauf  NVIDIA      US67066G1040    8        228,95   1.831,60    2,50
"""


def test_a_head_that_goes_on_in_the_next_line_is_one_head() -> None:
    found = [reading.trade for reading in read(WRAPPED).trades]
    assert [(trade.currency, trade.fees, trade.settled_amount) for trade in found] == [
        ("USD", Decimal("2.00"), Decimal("4294.00")),
        ("USD", Decimal("2.50"), Decimal("1829.10")),
    ]


@pytest.mark.parametrize("place", [0, 62], ids=["at the margin", "in its column"])
def test_the_second_line_of_a_head_is_no_heading_of_fees(place: int) -> None:
    text = f"""
Monthly activity statement
Trades
Symbol   Trade date   Type   Quantity   Price    Proceeds     Comm/
{" " * place}Fee
SAP      2026-01-06   Buy    50         240.15   12,007.50    5.00
NVDA     2026-01-07   Sell   10         149.20   1,492.00     1.00
Base currency EUR
"""
    found = [reading.trade for reading in read(text).trades]
    if place:
        assert [trade.fees for trade in found] == [5, 1]
    else:
        assert [trade.quantity for trade in found] == [50, 10]
        assert read(text).confidence < 0.9  # of which column it is, nothing says


@pytest.mark.parametrize("settled", ["4.294,00", "4.291,00"])
def test_a_net_amount_that_hides_a_small_cost_is_no_gross_amount(settled: str) -> None:
    text = NET_ONLY.replace("  Gebühr EUR", "").replace("2,00  4.294,00", settled).replace("2,50  1.829,10", "1.831,60")
    assert read(text.replace(settled, "4.292,00")).confidence >= 0.9
    assert read(text).confidence < 0.9


def test_a_price_that_was_rounded_to_cents_may_be_off_by_half_a_cent_for_each_share() -> None:
    text = (
        NET_ONLY.replace("  Gebühr EUR", "").replace("2,00  4.294,00", "4.292,08").replace("2,50  1.829,10", "1.831,60")
    )
    assert read(text).confidence >= 0.9


def test_a_column_of_commissions_may_be_called_by_their_short_name() -> None:
    head = "Symbol  Trade Date/Time       Type  Quantity  Price   Proceeds    {}"
    row = "AMD     2026-11-04, 10:12:44  BUY   100       251.30  -25,130.00  -1.00"
    rows = "Trade Confirmation Report\nBase Currency  USD\n{}\n{}\nISIN US0079031078"
    found = read(rows.format(head.format("Comm"), row))
    assert all(reading.confidence < 0.9 or reading.trade.fees for reading in found.trades)
