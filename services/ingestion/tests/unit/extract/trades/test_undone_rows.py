"""A row of a list that takes a trade back is no new trade."""

import pytest
from trade_lists import is_completed, list_trades


@pytest.mark.parametrize("side", ["Buy correction", "Buy (busted)", "Buy - void", "Bought in error", "Kauf (Korr.)"])
def test_a_row_that_takes_a_trade_back_is_no_new_trade(side: str) -> None:
    assert not is_completed(list_trades(f"14/11/2026  {side}  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00"))


def test_a_purchase_of_a_negative_quantity_among_others_is_no_new_trade() -> None:
    assert not is_completed(list_trades("14/11/2026  Buy  Vodafone Group  GB00BH4HKS39  -1,000  0.7200  -720.00"))
