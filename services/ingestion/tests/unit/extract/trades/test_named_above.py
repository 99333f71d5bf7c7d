"""Trades whose security or number stands above them: what names the next trade is none of the one before."""

import pytest
from note_texts import read

BY_SECURITY = """
Transaction statement
Trade date  Side  Quantity  Price (GBP)  Amount (GBP)
{first}
03/11/2026  Buy  1,000  0.7200  720.00
{second}
13/11/2026  Sell  200  4.1000  820.00
Holdings at 30 November 2026
Vodafone Group PLC  GB00BH4HKS39  1,000  750.00
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Vodafone Group PLC GB00BH4HKS39", "BP PLC GB0007980591"),
        ("ISIN: GB00BH4HKS39", "ISIN: GB0007980591"),
        ("Vodafone Group PLC\nISIN GB00BH4HKS39", "BP PLC\nISIN GB0007980591"),
    ],
)
def test_a_security_above_each_row_is_not_that_of_the_row_before(first: str, second: str) -> None:
    reading = read(BY_SECURITY.format(first=first, second=second))
    assert [found.trade.isin for found in reading.trades] != ["GB0007980591", "GB00BH4HKS39"]
    assert all(found.trade.isin in (None, own) for found, own in zip(reading.trades, ISINS, strict=True))
    assert reading.confidence < 0.9


ISINS = ("GB00BH4HKS39", "GB0007980591")

BY_ORDER = """
Transaction statement
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
Order no. 88120
03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00
Order no. 88145
13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


def test_an_order_number_above_each_row_is_not_that_of_the_row_before() -> None:
    found = [(reading.trade.isin, reading.trade.reference) for reading in read(BY_ORDER).trades]
    assert found == [(ISINS[0], None), (ISINS[1], None)]


BELOW_EACH = BY_ORDER.replace("Order no. 88120\n", "").replace("Order no. 88145\n", "") + "Order no. 88145\n"


def test_a_number_below_a_row_is_its_own() -> None:
    text = BELOW_EACH.replace("720.00\n", "720.00\nOrder no. 88120\n")
    assert [found.trade.reference for found in read(text).trades] == ["88120", "88145"]


def test_a_name_above_each_row_is_not_that_of_the_row_before() -> None:
    text = BY_ORDER.replace("Order no. 88120", "Security: Vodafone Group").replace(
        "Order no. 88145", "Security: BP PLC"
    )
    assert read(text).trades[0].trade.security_name != "BP PLC"
