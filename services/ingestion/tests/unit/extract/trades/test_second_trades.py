"""A second trade of one security in what was read as one note."""

import pytest
from note_texts import read

FIRST = """Contract note - Purchase
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Quantity   1,000
Price   GBP 0.7200
Consideration   GBP 720.00
Commission   GBP 9.95
Total payable   GBP 729.95"""


@pytest.mark.parametrize(
    ("quantity", "price", "gross", "paid"),
    [
        ("2,500", "0.7100", "1,775.00", "1,784.95"),
        ("400", "0.7200", "288.00", "297.95"),
        ("1,000", "0.7100", "710.00", "719.95"),
    ],
)
def test_a_second_note_of_the_security_in_the_file_is_a_doubt(quantity: str, price: str, gross: str, paid: str) -> None:
    second = FIRST.replace("Quantity   1,000", f"Quantity   {quantity}").replace("0.7200", price)
    second = second.replace("720.00", gross).replace("729.95", paid)
    assert read(FIRST).doubts == ()
    assert "trades" in read(f"{FIRST}\n{second}").doubts


def test_a_note_that_is_there_twice_names_no_second_trade() -> None:
    assert read(f"{FIRST}\n{FIRST}").doubts == ()


def test_the_parts_in_which_an_order_was_filled_are_no_second_trade() -> None:
    parts = FIRST[FIRST.index("Quantity") : FIRST.index("Commission")]
    parts = parts.replace("1,000", "600").replace("720.00", "432.00") + parts.replace("1,000", "400").replace(
        "720.00", "288.00"
    )
    assert read(f"{FIRST}\n{parts}").doubts == ()
    rows = "Quantity   Price   Consideration\n600   0.7200   432.00\n400   0.7200   288.00"
    assert read(f"{FIRST}\n{rows}").doubts == ()
