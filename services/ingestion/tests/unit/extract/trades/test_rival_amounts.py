import pytest
from note_texts import read

SALE = """Contract note
We have sold for you
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Quantity   1,000
Price   GBP 0.7200
Consideration   GBP 720.00"""
COMMISSION = "Commission   GBP 9.95"


def is_settlement_proven(*rows: str) -> bool:
    (reading,) = read("\n".join((SALE, *rows))).trades
    return reading.is_settlement_proven


@pytest.mark.parametrize(
    "rows",
    [
        ("Subtotal   GBP 710.05", "Given back   GBP 20.00", "Paid out   GBP 730.05"),
        ("Net proceeds   GBP 710.05", "Retained   GBP 50.00", "Paid out   GBP 660.05"),
        ("Net proceeds   GBP 710.05", "Loyalty   GBP 20.00", "Loss offset   GBP 2.75", "Paid out   GBP 732.80"),
    ],
)
def test_an_amount_that_the_settled_one_and_those_below_it_make_was_perhaps_paid(rows: tuple[str, ...]) -> None:
    assert not is_settlement_proven(COMMISSION, *rows)


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ("Costs in detail: commission   GBP 9.95", "Value   GBP 720.00"),
        ("Cash of yesterday   GBP 1,000.00", "Cash of today   GBP 1,710.05"),
    ],
)
def test_costs_said_again_and_what_an_account_then_has_leave_the_settled_amount_as_it_is(rows: tuple[str, ...]) -> None:
    assert is_settlement_proven(COMMISSION, "Net proceeds   GBP 710.05", *rows)


@pytest.mark.parametrize("row", ["Ticket   GBP 9.95", "Our remuneration   GBP 250.00", "Debited   EUR 1,240.00"])
def test_of_a_note_without_a_total_the_gross_amount_was_not_surely_paid_beside_an_amount_below_it(row: str) -> None:
    assert is_settlement_proven()
    assert not is_settlement_proven(row)


@pytest.mark.parametrize("row", ["Last quoted at   GBP 0.72", "Cover of the scheme is limited to   EUR 100,000"])
def test_the_price_and_a_limit_in_another_currency_were_not_paid(row: str) -> None:
    assert is_settlement_proven(row)


FUND = """Contract note
We have bought for you
Security   Blue Fund
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Payment received   GBP {}
Units   {}
Price   GBP 81.00
Consideration   GBP {}
Net amount invested   GBP {}"""


def is_fund_proven(paid: str, units: str, invested: str, *rows: str) -> bool:
    (reading,) = read("\n".join((FUND.format(paid, units, invested, invested), *rows))).trades
    assert reading.is_product_proven
    return reading.is_settlement_proven


def test_of_what_was_paid_for_parts_of_a_unit_a_charge_was_kept_back_perhaps() -> None:
    assert not is_fund_proven("1,000.00", "11.7580", "952.38")
    assert not is_fund_proven("1,000.00", "11.7580", "952.38", "Initial charge   5.00%")
    assert is_fund_proven("952.38", "11.7580", "952.38")


def test_what_whole_units_leave_of_an_amount_or_parts_of_one_by_rounding_is_no_charge() -> None:
    assert is_fund_proven("1,000.00", "12", "972.00")
    assert is_fund_proven("952.40", "11.758", "952.40")
    assert is_fund_proven("1,000.00", "12", "972.00", "Yield   5.00%")
    assert not is_fund_proven("1,020.60", "12", "972.00", "Initial charge   5.00%")
