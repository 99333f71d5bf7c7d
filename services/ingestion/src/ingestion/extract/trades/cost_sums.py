"""Which of the costs that a note lists lead from the gross amount to what was settled."""

from collections.abc import Sequence
from decimal import Decimal

from ingestion.domain.trade import Direction
from ingestion.extract.trades.candidates import Candidates

TWO_CENTS = Decimal("0.02")
"""What rounding may have added or taken."""
_MAX_COSTS = 10  # lines: each may or may not belong to the sum

Costs = tuple[Decimal, Decimal, Decimal]  # fees, taxes, accrued interest
NO_COSTS: Costs = (Decimal(0), Decimal(0), Decimal(0))


def explain_costs(
    costs: "CostSums", gross: Decimal, settled: Decimal, direction: Direction | None, slack: Decimal, *, is_named: bool
) -> Costs | None:
    """What leads from gross to settled; None where nothing does."""
    signs = (1, -1) if direction is None else (direction.sign_of_costs,)
    for sign in signs:
        # Costs may be larger than what was sold: then the difference is paid, and named so. What was once paid for it
        # less what was lost is the gross amount as well.
        may_exceed = sign < 0 and is_named
        differences = ((settled - gross) * sign, gross + settled) if may_exceed else ((settled - gross) * sign,)
        for difference in differences:
            if difference > 0 and (exact := costs.find_summands(difference, Decimal(0))) is not None:
                return exact
            if abs(difference) <= min(slack, max(TWO_CENTS, gross / 1000)):
                return NO_COSTS
            if difference > 0 and (found := costs.find_summands(difference, slack)) is not None:
                return found
        if direction is not None and (signed := costs.find_signed((settled - gross) * sign, direction)) is not None:
            return signed
    return None


class CostSums:
    """The sums that some of the cost lines make, as many as possible of them: a page repeats some, and sums up others.

    Costs in `currency`, that of the price, are converted by `factor`. Accrued interest is a cost of the
    buyer alone.
    """

    def __init__(self, candidates: Candidates, currency: str | None, factor: Decimal) -> None:
        kinds = ((candidates.fees, 0, 1), (candidates.taxes, 1, 1), (candidates.interests, 2, 1))
        signed = (*kinds, (candidates.discounts, 0, -1))
        costs = [
            (number.value * sign * (factor if number.currency == currency else 1), kind)
            for numbers, kind, sign in signed
            for number in numbers
            if number.value
        ][:_MAX_COSTS]
        self.total = self._add(costs)
        self._signed = self._list_signed(candidates, currency, factor)
        self._sums: dict[int, tuple[int, Costs]] = {}
        for mask in range(1, 1 << len(costs)):
            chosen = [cost for number, cost in enumerate(costs) if mask >> number & 1]
            parts = self._add(chosen)
            key = int(sum(parts) * 100)
            if key not in self._sums or self._sums[key][0] < len(chosen):
                self._sums[key] = (len(chosen), parts)

    @staticmethod
    def _add(costs: Sequence[tuple[Decimal, int]]) -> Costs:
        parts = [sum((value for value, own in costs if own == kind), Decimal(0)) for kind in range(3)]
        return parts[0], parts[1], parts[2]

    @classmethod
    def _list_signed(cls, candidates: Candidates, currency: str | None, factor: Decimal) -> list[Costs]:
        """All costs where some have a minus and others do not: those of one of the two signs are given back."""
        kinds = (candidates.fees, candidates.taxes, candidates.interests)
        numbers = [(number, kind) for kind, own in enumerate(kinds) for number in own if number.value][:_MAX_COSTS]
        if len({number.is_negative for number, _ in numbers}) < 2:
            return []
        return [
            cls._add(
                [
                    (
                        number.value
                        * (factor if number.currency == currency else 1)
                        * (-1 if number.is_negative is is_given_back else 1),
                        kind,
                    )
                    for number, kind in numbers
                ]
            )
            for is_given_back in (True, False)
        ]

    def find_signed(self, total: Decimal, direction: Direction) -> Costs | None:
        """Not where a broker gave back more than it took: what that is, a person says. Interest is no seller's cost."""
        return next(
            (
                found
                for found in self._signed
                if abs(sum(found) - total) <= TWO_CENTS
                and found[0] >= 0
                and (direction is Direction.BUY or not found[2])
            ),
            None,
        )

    def find_summands(self, total: Decimal, slack: Decimal) -> Costs | None:
        """The costs whose sum is the total, to a cent or two."""
        key, reach = int(total * 100), min(int(slack * 100) + 1, 200)
        for step in sorted(range(-reach, reach + 1), key=abs):
            if (found := self._sums.get(key + step)) is not None and abs(sum(found[1]) - total) <= slack:
                return found[1]
        return None
