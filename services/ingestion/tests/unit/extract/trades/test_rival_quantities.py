import pytest
from note_texts import read

NOTE = """Contract note
{side}
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
{rows}
Settlement date   5 November 2026"""
BOUGHT, SOLD = "We have bought for you", "We have sold for you"


def is_settlement_proven(side: str, *rows: str) -> bool:
    (reading,) = read(NOTE.format(side=side, rows="\n".join(rows))).trades
    return reading.is_settlement_proven


@pytest.mark.parametrize(
    "rows",
    [
        ("Quantity   1,000", "Done   400", "Price   GBP 0.7200", "Amount   GBP 720.00", "Of it   GBP 288.00"),
        ("Bought   400", "New quantity   1,000", "Price   GBP 0.7200", "New   GBP 720.00", "Paid   GBP 288.00"),
    ],
)
def test_a_quantity_that_the_price_makes_into_a_smaller_amount_was_perhaps_the_one_that_was_traded(
    rows: tuple[str, ...],
) -> None:
    assert not is_settlement_proven(BOUGHT, *rows)


def test_what_is_less_than_what_is_then_held_was_bought() -> None:
    rows = ("Quantity   400", "Price   GBP 0.7200", "Traded   GBP 288.00", "In all   1,000", "Worth   GBP 720.00")
    assert is_settlement_proven(BOUGHT, *rows)


@pytest.mark.parametrize(("label", "is_proven"), [("Worth", True), ("Amount", False)])
def test_of_what_was_sold_less_may_be_left_where_both_amounts_have_a_label(label: str, is_proven: bool) -> None:
    rows = ("Quantity   400", "Price   GBP 0.7200", "Amount   GBP 288.00", "Others   1,000", f"{label}   GBP 720.00")
    assert is_settlement_proven(SOLD, *rows) is is_proven


def test_costs_that_lead_to_the_one_settled_amount_tell_which_quantity_was_traded() -> None:
    rows = ("Quantity   1,000", "Price   GBP 0.7200", "Amount   GBP 720.00", "Commission   GBP 9.95")
    assert is_settlement_proven(BOUGHT, *rows, "Total   GBP 729.95", "Last month   400", "Then   GBP 288.00")


def test_the_parts_in_which_an_order_was_filled_are_no_other_quantity() -> None:
    rows = ("Quantity   1,000", "Price   GBP 0.7200", "London   400   GBP 288.00", "Paris   600   GBP 432.00")
    assert is_settlement_proven(BOUGHT, *rows, "Amount   GBP 720.00", "Total   GBP 720.00")


def test_of_what_costs_next_to_nothing_a_number_makes_no_amount() -> None:
    rows = ("Quantity   1,000", "Price   GBP 0.001", "Amount   GBP 1.00")
    assert is_settlement_proven(BOUGHT, *rows, "Number   90", "Remark   GBP 0.09", "Total   GBP 1.00")
