"""The arithmetic of a trade: quantity × price = gross amount, and gross amount ± costs = settled amount.

It chooses among the numbers that labels name, and says how far they hold together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

from ingestion.domain.trade import Direction
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.rows import ProductRow, explain_by_row

_CENT = Decimal("0.02")
_EXACT = Decimal("0.01")  # `959.31375` is the amount before it was rounded, and none of its own
_MAX_CANDIDATES = 8  # of one field
_MAX_UNNAMED = 40  # numbers that may be quantity or price without a label
_MAX_NUMBERS = 60  # that may be an amount
_MAX_COSTS = 10  # lines: each may or may not belong to the sum
_LABELLED = 4  # the score of two numbers that labels name
_LARGEST_COSTS = Decimal("0.3")  # of the gross amount: taxes are kept from what is sold
_HUNDRED = Decimal(100)
PENNY = "GBX"  # a hundredth of a pound: what London's shares are priced in


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the labels of a trade name, the likeliest first; `others` are all its numbers.

    Unnamed are the amounts of lines between the gross amount and what was settled: whatever such a line is called, it
    may be a cost.
    """

    quantities: tuple[Number, ...]
    prices: tuple[Number, ...]
    gross: tuple[Number, ...]
    settled: tuple[Number, ...]
    weakly_settled: tuple[Number, ...]
    fees: tuple[Number, ...]
    taxes: tuple[Number, ...]
    interests: tuple[Number, ...]
    discounts: tuple[Number, ...]
    exchange_rates: tuple[Number, ...]
    others: tuple[Number, ...]
    unnamed_fees: tuple[Number, ...] = ()
    unnamed_taxes: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class Product:
    """Quantity × price, and the number that it makes: in another currency where an exchange rate stands between."""

    quantity: Decimal
    price: Number
    price_value: Decimal
    amount: Decimal
    gross: Number | None
    gross_value: Decimal
    is_foreign: bool
    score: int

    @property
    def is_labelled(self) -> bool:
        """Whether labels name quantity and price, and a number equals their product without a rate in between."""
        return self.score >= _LABELLED and not self.is_foreign


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


def build_product(rows: Sequence[ProductRow]) -> Product:
    """What rows come to together, each of which is quantity × price = amount."""
    quantity = sum((row.quantity for row in rows), Decimal(0))
    amount = sum((row.amount for row in rows), Decimal(0))
    prices = {row.price for row in rows}
    price = prices.pop() if len(prices) == 1 else (amount / quantity).quantize(Decimal("0.000001"))
    number = rows[0].amount_number if len(rows) == 1 else None
    return Product(quantity, rows[0].price_number, price, amount, number, amount, is_foreign=False, score=0)


def find_product(candidates: Candidates, direction: Direction | None = None) -> Product | None:
    """The likeliest quantity, price and gross amount that belong together.

    Of several prices that labels name, the market's and the one that was paid, it is the one that leads to what was
    settled.
    """
    found = sorted(islice(_list_products(candidates), 400), key=lambda product: product.score, reverse=True)
    labelled = list({product.gross_value: product for product in reversed(found) if product.is_labelled}.values())
    if len(labelled) > 1:
        settled = [
            product for product in reversed(labelled[-_MAX_CANDIDATES:]) if _is_settled(candidates, product, direction)
        ]
        return next(iter(settled), found[0])
    return found[0] if found else None


def _is_settled(candidates: Candidates, product: Product, direction: Direction | None) -> bool:
    named = replace(candidates, weakly_settled=(), others=())
    settlement = find_settlement(named, product.gross_value, product.price.currency, direction)
    return settlement is not None and settlement.is_proven and settlement.amount is not None


def _list_products(candidates: Candidates) -> Iterator[Product]:
    quantities = candidates.quantities[:_MAX_CANDIDATES]
    prices = candidates.prices[:_MAX_CANDIDATES]
    yield from _multiply(candidates, quantities, prices, _LABELLED)
    others = tuple(number for number in candidates.others[:_MAX_NUMBERS] if number not in prices)
    if quantities and prices and candidates.gross:
        # What a label calls the price may be none: then one with a currency makes exactly the gross amount.
        exact = replace(candidates, settled=(), exchange_rates=(), others=())
        for price in others:
            if price.currency is not None and price not in candidates.gross and price not in candidates.settled:
                yield from _multiply(exact, quantities, (price,), 0)
    if not prices:
        for price in others:
            yield from _multiply(candidates, quantities, (price,), int(price.currency is not None))
    if not quantities:
        for quantity in others:
            yield from _multiply(candidates, (quantity,), prices, int(quantity.currency is None))
    if not quantities and not prices:
        yield from _multiply_unnamed(candidates)
        # A row of a table, whose heads stand far above: quantity, price, amount.
        for quantity, price, amount in zip(others[:9], others[1:], others[2:], strict=False):
            if quantity.line == amount.line and amount.is_money and quantity.value != 1:
                row = replace(candidates, others=(amount,))
                yield from _multiply(row, (quantity,), (price,), 2)


def _multiply_unnamed(candidates: Candidates) -> Iterator[Product]:
    """Two numbers that no label names, and that make exactly what a label calls the gross amount."""
    numbers = [number for number in candidates.others[:_MAX_UNNAMED] if not number.is_percent and number.value != 1]
    gross = tuple(number for number in candidates.gross[:3] if number.is_money)
    exact = replace(candidates, gross=gross, settled=(), exchange_rates=(), others=())
    for quantity in numbers:
        if quantity.currency is None and gross:
            prices = [price for price in numbers if price.currency is not None and price not in gross]
            yield from (found for found in _multiply(exact, (quantity,), prices, 1) if not found.is_foreign)


def _multiply(
    candidates: Candidates, quantities: Sequence[Number], prices: Sequence[Number], score: int
) -> Iterator[Product]:
    rates = [rate for number in candidates.exchange_rates[:3] for rate in number.readings if rate > 0]
    for rank, quantity in enumerate(quantities):
        for number, price in enumerate(prices):
            if price is quantity:
                continue
            for units in quantity.readings:
                for value in price.readings:
                    if units and value:
                        yield from _match_gross(candidates, quantity, units, price, value, rates, score - rank - number)


def _match_gross(
    candidates: Candidates,
    quantity: Number,
    units: Decimal,
    price: Number,
    value: Decimal,
    rates: Sequence[Decimal],
    score: int,
) -> Iterator[Product]:
    for is_bond in _list_kinds_of_price(quantity, price):
        yield from _match_amount(candidates, quantity, units, price, value, rates, score, is_bond=is_bond)


def _list_kinds_of_price(quantity: Number, price: Number) -> tuple[bool, ...]:
    """Whether a price may be a percentage of a bond's face value, which has a currency; the likelier first."""
    if price.is_percent or price.currency == PENNY:
        return (True,)
    if price.currency is not None:
        return (False,)
    # A bond's price is often a percentage without a sign, and London's prices are in pence.
    return (True, False) if quantity.currency is not None else (False, True)


def _match_amount(
    candidates: Candidates,
    quantity: Number,
    units: Decimal,
    price: Number,
    value: Decimal,
    rates: Sequence[Decimal],
    score: int,
    *,
    is_bond: bool,
) -> Iterator[Product]:
    amount = units * value / _HUNDRED if is_bond else units * value
    slack = _compute_slack(quantity, units, price, value) / (_HUNDRED if is_bond else 1)
    converted = (
        [(amount, False)] + [(amount / rate, True) for rate in rates] + [(amount * rate, True) for rate in rates]
    )
    labelled = {id(number) for number in (*candidates.gross, *candidates.settled)}
    is_guess = is_bond and not price.is_percent and quantity.currency is None
    for other in _list_once((*candidates.gross, *candidates.settled, *candidates.others[:_MAX_NUMBERS])):
        if other is quantity or other is price or other.is_percent:
            continue
        is_labelled = id(other) in labelled
        for expected, is_foreign in converted:
            allowed = slack if is_labelled else min(slack, _CENT + expected / 2000)
            allowed += expected / 1000 if is_foreign else 0  # rates are rounded
            for written in other.readings:
                is_by_label = is_labelled and (other in candidates.gross or not is_guess)
                if abs(written - expected) <= allowed and (is_by_label if is_guess else is_labelled or units != 1):
                    bonus = (4 if is_labelled else 1) - 3 * is_guess
                    exact = 1 if abs(written - expected) <= _CENT else 0
                    yield Product(
                        units,
                        price,
                        value,
                        amount,
                        other,
                        written,
                        is_foreign,
                        score + bonus + exact - 2 * is_foreign - (other.currency is None) + other.is_money,
                    )


def _list_once(numbers: Sequence[Number]) -> Iterator[Number]:
    seen: set[int] = set()
    for number in numbers:
        if id(number) not in seen:
            seen.add(id(number))
            yield number


def _compute_slack(quantity: Number, units: Decimal, price: Number, value: Decimal) -> Decimal:
    """How far a product may be from what is printed, since both its factors were rounded."""
    of_price = units * Decimal(1).scaleb(-price.decimals) / 2 if price.decimals else Decimal(0)
    of_quantity = value * Decimal(1).scaleb(-quantity.decimals) / 2 if quantity.decimals else Decimal(0)
    return _CENT + min(of_price, units * value / 200) + min(of_quantity, units * value / 50)


def find_settlement(
    candidates: Candidates, gross: Decimal, currency: str | None, direction: Direction | None
) -> Settlement | None:
    """What was paid or received for a gross amount in a currency."""
    money = tuple(number for number in candidates.settled if number.is_money) or candidates.settled
    named = tuple(number for number in money if number.value) or money
    if (found := _find_proven(candidates, named, gross, currency, direction)) is not None:
        return _convert_onward(found, named, candidates.exchange_rates)
    if (
        direction is Direction.SELL
        and (found := _find_sale_with_interest(candidates, named, gross, currency)) is not None
    ):
        return found
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
        is_alone = not _has_amount_near(candidates, gross)
        return Settlement(None, gross, gross, *_NOTHING, is_proven=is_alone, is_converted=False)
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
        if number.currency in (None, found.amount.currency):
            continue
        for factor in factors:
            if abs(number.value - found.value * factor) <= _CENT + number.value / 3000:
                costs = (found.fees * factor, found.taxes * factor, found.interest * factor)
                gross = number.value - (found.value - found.gross) * factor
                return Settlement(
                    number, number.value, gross.quantize(Decimal("0.01")), *costs, is_proven=True, is_converted=True
                )
    return found


def find_single(named: Sequence[Number]) -> Number | None:
    """The one amount that was settled, where nothing but its label speaks for it: of several any may be meant."""
    return named[0] if len({number.value.quantize(_EXACT) for number in named}) == 1 else None


def _join(named: Sequence[Number], unnamed: Sequence[Number]) -> tuple[Number, ...]:
    return (*named, *(number for number in unnamed if number not in named))


def _has_amount_near(candidates: Candidates, gross: Decimal) -> bool:
    """Whether another amount stands there that may be what was settled, after costs that no label names."""
    return any(
        number.is_money and value != gross and abs(value - gross) <= gross * _LARGEST_COSTS
        for number in candidates.others[:_MAX_NUMBERS]
        for value in number.readings
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
    others = [number for number in candidates.others[:_MAX_NUMBERS] if id(number) not in factors_named]
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
        self._slack = _CENT + (self._gross / 3000 if self._is_converted else 0)  # rates are rounded
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
            if (parts := _explain(costs, gross, value, direction, slack, is_named=is_named)) is not None
            # What merely equals the gross amount proves nothing unless it is named so, and is the only one.
            and (any(parts) or (is_named and not _is_contested(named, value)))
        ]
        has_costs = direction is not None and _has_costs(self._candidates, gross)
        return _choose_explained(found, has_costs=has_costs) if found else None

    def _is_in_currency(self, number: Number) -> bool:
        is_any = number.currency is None or self._currency is None
        return is_any or (number.currency != self._currency) is self._is_converted


def _choose_explained(found: Sequence[Settlement], *, has_costs: bool) -> Settlement:
    """The first one; where costs are listed, the first that they lead to: what merely equals the gross amount is
    nothing that they prove."""
    if not has_costs:
        return found[0]
    explained = (settlement for settlement in found if settlement.fees or settlement.taxes or settlement.interest)
    return next(explained, replace(found[0], is_proven=False))


def _explain_by_row(candidates: Candidates, gross: Decimal, direction: Direction | None) -> Settlement | None:
    """Where the row of a statement goes on with what a trade cost, and what was paid."""
    sign = Direction.BUY.sign_of_costs if direction is None else direction.sign_of_costs
    if (found := explain_by_row(candidates.weakly_settled, gross, sign)) is None:
        return None
    number, cost = found
    return Settlement(number, number.value, gross, cost, Decimal(0), Decimal(0), is_proven=True, is_converted=False)


def _choose_converted(candidates: Candidates, converted: Decimal, currency: str | None) -> Decimal:
    """The gross amount in the currency of the settlement: as printed, where it is."""
    for number in (*candidates.gross, *candidates.others[:_MAX_NUMBERS]):
        if number.currency not in (None, currency) and abs(number.value - converted) <= _CENT + converted / 1000:
            return number.value
    return converted.quantize(Decimal("0.01"))


def _is_contested(named: Sequence[Number], value: Decimal) -> bool:
    return len({number.value.quantize(_EXACT) for number in named if number.is_money} | {value.quantize(_EXACT)}) > 1


def _has_costs(candidates: Candidates, gross: Decimal | None = None) -> bool:
    """Whether any are listed, small ones beside a gross amount."""
    costs = (*candidates.fees, *candidates.taxes, *candidates.interests)
    return any(number.value and (gross is None or number.value <= gross * _LARGEST_COSTS) for number in costs)


_NOTHING = (Decimal(0), Decimal(0), Decimal(0))
Costs = tuple[Decimal, Decimal, Decimal]  # fees, taxes, accrued interest


def _explain(
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
            if abs(difference) <= min(slack, max(_CENT, gross / 1000)):
                return _NOTHING
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
                if abs(sum(found) - total) <= _CENT and found[0] >= 0 and (direction is Direction.BUY or not found[2])
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
