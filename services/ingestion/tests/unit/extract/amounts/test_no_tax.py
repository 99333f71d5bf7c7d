from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.no_tax import says_that_no_tax_is_owed

GROSS = Decimal("280.00")


def says_so(*rows: str) -> bool:
    return says_that_no_tax_is_owed(Transcript.from_rows(rows).lines, GROSS, [])


def test_a_position_without_tax_says_nothing_of_the_others() -> None:
    assert not says_so("Bench grinder  160.00", "Grinding wheel (reverse charge)  120.00", "Total  280.00")


@pytest.mark.parametrize(
    "row", ["Consulting, reverse charge  280.00", "Reverse charge  0.00", "Reverse charge, article 196"]
)
def test_the_only_position_and_a_row_without_an_amount_say_it_of_the_whole(row: str) -> None:
    assert says_so(row, "Total  280.00")


def test_a_net_amount_that_is_another_one_denies_it() -> None:
    page = Transcript.from_rows(["Reverse charge", "Total  280.00"]).lines
    assert says_that_no_tax_is_owed(page, GROSS, [GROSS])
    assert not says_that_no_tax_is_owed(page, GROSS, [Decimal("233.33")])
