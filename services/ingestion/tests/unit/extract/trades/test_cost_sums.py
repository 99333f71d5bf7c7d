from decimal import Decimal

from named_numbers import candidates

from ingestion.extract.trades.cost_sums import CostSums


def test_many_cost_lines_are_summed_in_bounded_time() -> None:
    sums = CostSums(candidates(fees=" ".join(f"{number}.01" for number in range(1, 60))), "EUR", Decimal(1))
    assert sums.find_summands(Decimal("55.10"), Decimal("0.02")) == (
        Decimal("55.10"),
        Decimal(0),
        Decimal(0),
    )
