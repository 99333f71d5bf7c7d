"""Gross amount ± costs = settled amount: what was paid or received, and how far the numbers hold together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ingestion.domain.trade import Direction
from ingestion.extract.trades.candidates import MAX_NUMBERS, Candidates
from ingestion.extract.trades.cost_sums import NO_COSTS, TWO_CENTS, CostSums, explain_costs
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.onward_amounts import has_costs_behind, has_other_currency_below, may_go_on
from ingestion.extract.trades.rival_amounts import goes_on_below, is_paid_otherwise
from ingestion.extract.trades.rows import explain_by_row

_EXACT = Decimal("0.01")  # `959.31375` is the amount before it was rounded, and none of its own
_TWO = 2
_MAX_RATES = 3
_LARGEST_COSTS = Decimal("0.3")  # of the gross amount: taxes are kept from what is sold


@dataclass(frozen=True, slots=True)
class Settlement:
    """`gross` is in the currency of the settlement, None where no exchange rate leads there; `is_proven` where the
    costs explain the difference. Not `has_costs`: what is listed does not explain it, where gross is sure."""

    amount: Number | None
    value: Decimal
    gross: Decimal | None
    fees: Decimal | None
    taxes: Decimal | None
    interest: Decimal
    is_proven: bool
    is_converted: bool
    has_costs: bool = True

    @property
    def is_unnamed_conversion(self) -> bool:
        """Whether it is in another currency than the price, and does not say in which."""
        return self.is_converted and self.amount is not None and self.amount.currency is None


def find_settlement(
    candidates: Candidates, gross: Decimal, currency: str | None, direction: Direction | None
) -> Settlement | None:
    """What was paid or received for a gross amount in a currency."""
    money = tuple(number for number in candidates.settled if number.is_money) or candidates.settled
    named = tuple(number for number in money if number.value) or money
    found = _find_proven(candidates, named, gross, currency, direction)
    if found is not None:
        found = _convert_onward(found, (*named, *_list_beside_rates(candidates)), candidates.exchange_rates)
    elif direction is Direction.SELL:
        found = _find_sale_with_interest(candidates, named, gross, currency)
    if found is not None:
        found = _doubt_onward(_doubt_two_currencies(found, named), candidates)
        return _doubt_what_is_left_out(found, candidates, direction)
    if named and (candidates.unnamed_fees or candidates.unnamed_taxes):
        fees, taxes = candidates.unnamed_fees, candidates.unnamed_taxes
        more = replace(
            candidates,
            fees=_join(candidates.fees, fees),
            taxes=_join(candidates.taxes, taxes),
            weakly_settled=(),
            others=(),
        )
        if (found := _find_proven(more, named, gross, currency, direction)) is not None:
            return replace(found, is_proven=False)  # a fee or a tax: only a label says which
    if (last := find_single(named)) is not None:
        costs = CostSums(candidates, currency, Decimal(1)).total
        is_same = last.currency in (None, currency)
        return Settlement(
            last,
            last.value,
            gross if is_same else None,
            *costs,
            is_proven=False,
            is_converted=not is_same,
            has_costs=not is_same,
        )
    if not named and not _has_costs(candidates) and not candidates.exchange_rates:
        is_alone = not (
            _has_amount_near(candidates, gross)
            or _goes_on_behind(candidates, gross)
            or is_paid_otherwise(candidates, gross, currency)
        )
        return Settlement(None, gross, gross, *NO_COSTS, is_proven=is_alone, is_converted=False)
    return None


def _find_sale_with_interest(
    candidates: Candidates, named: Sequence[Number], gross: Decimal, currency: str | None
) -> Settlement | None:
    """Accrued interest is paid to the seller of a bond, and so comes on top of what it was sold for."""
    without = replace(candidates, interests=())
    for number in candidates.interests[:3]:
        found = _find_proven(without, named, gross + number.value, currency, Direction.SELL)
        if found is not None and not found.is_converted:
            return replace(found, gross=gross, interest=number.value)
    return None


def _convert_onward(found: Settlement, named: Sequence[Number], rates: Sequence[Number]) -> Settlement:
    """What was settled in the end, where a note goes on from it to the account's currency."""
    if found.amount is None or found.gross is None or found.is_converted or found.fees is None or found.taxes is None:
        return found
    factors = [factor for rate in rates[:3] for value in rate.readings if value > 0 for factor in (value, 1 / value)]
    for number in named:
        # Further down, what names no currency may be in the account's.
        if number.currency == found.amount.currency and (number.currency or number.line <= found.amount.line):
            continue
        if number.currency is None and found.amount.currency is not None:
            continue
        for factor in factors:
            if abs(number.value - found.value * factor) <= TWO_CENTS + number.value / 3000:
                costs = (found.fees * factor, found.taxes * factor, found.interest * factor)
                gross = number.value - (found.value - found.gross) * factor
                return Settlement(
                    number, number.value, gross.quantize(Decimal("0.01")), *costs, is_proven=True, is_converted=True
                )
    return found


def _list_beside_rates(candidates: Candidates) -> Iterator[Number]:
    """What the line of an exchange rate ends with: `Change USD/CHF 0.9000  CHF 188.96`, below what was settled."""
    for rate in candidates.exchange_rates[:_MAX_RATES]:
        behind = [n for n in candidates.others[:MAX_NUMBERS] if n.line == rate.line and n.start > rate.start]
        if len(behind) == 1 and behind[0].is_money and behind[0].currency is not None:
            yield behind[0]


def _doubt_two_currencies(found: Settlement, named: Sequence[Number]) -> Settlement:
    """Where what was settled is named in two currencies, and no rate leads from one to the other: in which of them the
    account paid, nothing says."""
    if found.is_converted or found.amount is None or len(list_currencies((*named, found.amount))) < _TWO:
        return found
    return replace(found, is_proven=False)


def _doubt_onward(found: Settlement, candidates: Candidates) -> Settlement:
    """Where the account may have paid another amount than the one that was found."""
    if found.amount is None or not found.is_proven:
        return found
    if found.is_converted:
        is_doubtful = has_costs_behind(candidates, found.amount)
    else:
        is_doubtful = may_go_on(candidates, found.amount, found.value)
        is_doubtful = is_doubtful or has_other_currency_below(candidates, found.amount)
    return replace(found, is_proven=False) if is_doubtful else found


def _doubt_what_is_left_out(found: Settlement, candidates: Candidates, direction: Direction | None) -> Settlement:
    """Where a tax of a sale stands below what was settled, and what it leaves of that too, or any number with what it
    makes of it: it was not yet paid so. And where the fees are a large part of the amount: what had once been paid for
    it is called a cost as well."""
    if found.amount is None or not found.is_proven:
        return found
    if goes_on_below(candidates, found.amount, found.value, found.gross):
        return replace(found, is_proven=False)
    if found.is_converted:
        return found
    line = found.amount.line
    below = {number.value for number in candidates.others[:MAX_NUMBERS] if number.line > line and number.is_money}
    is_before_tax = (
        direction is Direction.SELL
        and not found.taxes
        and any(
            tax.value and tax.line > line and found.value - tax.value in below
            for tax in (*candidates.taxes, *candidates.unnamed_taxes)
        )
    )
    is_large = found.gross is not None and (found.fees or Decimal(0)) > max(found.gross / _LARGE_FEES, _SMALL_FEES)
    return replace(found, is_proven=False) if is_before_tax or is_large else found


_LARGE_FEES = 4  # of the gross amount, the part of it that is more than a trade costs
_SMALL_FEES = Decimal(60)  # whatever the amount


def list_currencies(named: Sequence[Number]) -> set[str | None]:
    """In which amounts are written that labels call settled, those without a currency left out."""
    return {number.currency for number in named if number.value and number.is_money} - {None}


def find_single(named: Sequence[Number]) -> Number | None:
    """The one amount that was settled, where nothing but its label speaks for it: of several any may be meant."""
    return named[0] if len({number.value.quantize(_EXACT) for number in named}) == 1 else None


def _join(named: Sequence[Number], unnamed: Sequence[Number]) -> tuple[Number, ...]:
    return (*named, *(number for number in unnamed if number not in named))


def _has_amount_near(candidates: Candidates, gross: Decimal) -> bool:
    """Whether another amount stands there that may be what was settled, after costs that no label names."""
    return any(
        number.is_money and value != gross and abs(value - gross) <= gross * _LARGEST_COSTS
        for number in candidates.others[:MAX_NUMBERS]
        for value in number.readings
    )


def _goes_on_behind(candidates: Candidates, gross: Decimal) -> bool:
    """Whether the row of the gross amount has a smaller one behind it, which may be a cost below any head: `Brok.`"""
    found = [number for number in candidates.others[:MAX_NUMBERS] if number.is_money]
    return any(
        other.line == number.line and other.start > number.start and 0 < other.value < gross
        for number in found
        if gross in number.readings
        for other in found
    )


def _find_proven(
    candidates: Candidates,
    named: Sequence[Number],
    gross: Decimal,
    currency: str | None,
    direction: Direction | None,
) -> Settlement | None:
    rates = [rate for number in candidates.exchange_rates[:3] for rate in number.readings if rate > 0]
    factors_named = {id(number) for number in (*candidates.quantities, *candidates.prices)}
    others = [number for number in candidates.others[:MAX_NUMBERS] if id(number) not in factors_named]
    ways: list[_Way] = []
    for factor in (Decimal(1), *(1 / rate for rate in rates), *rates):
        ways.append(_Way(candidates, gross, currency, factor))
        if not named and factor == 1 and (by_row := _explain_by_row(candidates, gross, direction)) is not None:
            return by_row
        for numbers in (named, candidates.weakly_settled):
            if (found := ways[-1].explain(numbers, named, direction, is_named=True)) is not None:
                return found
    # An amount that no label names may be a step on the way to the one that a label does, in another currency.
    found_elsewhere = (way.explain(others, named, direction, is_named=False) for way in ways)
    return next((found for found in found_elsewhere if found is not None), None)


class _Way:
    """From a gross amount to what was settled, by a factor between their currencies."""

    def __init__(self, candidates: Candidates, gross: Decimal, currency: str | None, factor: Decimal) -> None:
        self._candidates = candidates
        self._currency = currency
        self._is_converted = factor != 1
        self._gross = _choose_converted(candidates, gross * factor, currency) if self._is_converted else gross
        self._slack = TWO_CENTS + (self._gross / 3000 if self._is_converted else 0)  # rates are rounded
        self._costs = CostSums(candidates, currency, factor)

    def explain(
        self, numbers: Sequence[Number], named: Sequence[Number], direction: Direction | None, *, is_named: bool
    ) -> Settlement | None:
        costs, gross, slack = self._costs, self._gross, self._slack
        found = [
            Settlement(number, value, gross, *parts, is_proven=True, is_converted=self._is_converted)
            for number in numbers
            if self._is_in_currency(number)
            for value in number.readings
            if (parts := explain_costs(costs, gross, value, direction, slack, is_named=is_named)) is not None
            # What merely equals the gross amount proves nothing unless it is named so, and is the only one.
            and (any(parts) or (is_named and not _is_contested(named, value)))
        ]
        has_costs = direction is not None and _has_costs(self._candidates, gross)
        return _choose_explained(found, has_costs=has_costs, is_named=is_named) if found else None

    def _is_in_currency(self, number: Number) -> bool:
        is_any = number.currency is None or self._currency is None
        return is_any or (number.currency != self._currency) is self._is_converted


def _choose_explained(found: Sequence[Settlement], *, has_costs: bool, is_named: bool) -> Settlement:
    """The first one; where costs are listed, the first that they lead to: what merely equals the gross amount is
    nothing that they prove. Of amounts that labels call settled the one that most of the costs lead to: a sum before
    taxes is not yet what was paid."""
    if not has_costs:
        return found[0]
    explained = [settlement for settlement in found if settlement.fees or settlement.taxes or settlement.interest]
    if is_named and len({settlement.value for settlement in explained}) > 1:
        return max(explained, key=_sum_costs)
    return explained[0] if explained else replace(found[0], is_proven=False)


def _sum_costs(settlement: Settlement) -> Decimal:
    return (settlement.fees or Decimal(0)) + (settlement.taxes or Decimal(0)) + settlement.interest


def _explain_by_row(candidates: Candidates, gross: Decimal, direction: Direction | None) -> Settlement | None:
    """Where the row of a statement goes on with what a trade cost, and what was paid."""
    sign = Direction.BUY.sign_of_costs if direction is None else direction.sign_of_costs
    if (found := explain_by_row(candidates.weakly_settled, gross, sign)) is None:
        return None
    number, cost = found
    return Settlement(number, number.value, gross, cost, Decimal(0), Decimal(0), is_proven=True, is_converted=False)


def _choose_converted(candidates: Candidates, converted: Decimal, currency: str | None) -> Decimal:
    """The gross amount in the currency of the settlement: as printed, where it is."""
    for number in (*candidates.gross, *candidates.others[:MAX_NUMBERS]):
        if number.currency not in (None, currency) and abs(number.value - converted) <= TWO_CENTS + converted / 1000:
            return number.value
    return converted.quantize(Decimal("0.01"))


def _is_contested(named: Sequence[Number], value: Decimal) -> bool:
    return len({number.value.quantize(_EXACT) for number in named if number.is_money} | {value.quantize(_EXACT)}) > 1


def _has_costs(candidates: Candidates, gross: Decimal | None = None) -> bool:
    """Whether any are listed, small ones beside a gross amount."""
    costs = (*candidates.fees, *candidates.taxes, *candidates.interests)
    return any(number.value and (gross is None or number.value <= gross * _LARGEST_COSTS) for number in costs)
