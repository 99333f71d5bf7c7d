import pytest
from note_texts import read

NOTE = """Contract note
{side}
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Quantity   1,000
Price   GBP 0.7200
Consideration   GBP 720.00
Net total   GBP 720.00
{row}"""
BOUGHT, SOLD = "We have bought for you", "We have sold for you"


@pytest.mark.parametrize(
    ("side", "row"),
    [
        (SOLD, "Reinvested: bought 980 of the same at GBP 0.7210 for your ISA   GBP 706.58"),
        (BOUGHT, "To cover our charges we sold 5 shares at GBP 0.72: GBP 3.60."),
        (SOLD, "Proceeds used to buy 98 Blue Fund units at GBP 7.20."),
        (SOLD, "Opbrengst herbelegd: aankoop van 98 stuks Blauw Fonds tegen 7.20."),
        (BOUGHT, "In addition we bought 500 at GBP 0.73, consideration GBP 365.00."),
    ],
)
def test_a_sentence_with_a_quantity_and_a_price_of_the_other_side_or_an_amount_of_another_price_is_one_more_trade(
    side: str, row: str
) -> None:
    assert read(NOTE.format(side=side, row=row)).doubts == ("trades",)


@pytest.mark.parametrize(
    ("side", "row"),
    [
        (BOUGHT, "You may have sold at any time: 2 years, 3 months and 30 days"),
        (SOLD, "In London we sold 400 shares at GBP 0.72, GBP 288.00"),
        (SOLD, "You had bought 1,000 at GBP 0.60, GBP 600.00"),
    ],
)
def test_what_makes_no_amount_is_of_the_same_side_or_of_the_same_quantity_is_no_other_trade(
    side: str, row: str
) -> None:
    assert read(NOTE.format(side=side, row=row)).doubts == ()
