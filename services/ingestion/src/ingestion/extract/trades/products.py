"""Quantity × price = gross amount: which of the numbers that labels name belong together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, pairwise

from ingestion.domain.trade import Direction
from ingestion.extract.trades.candidates import MAX_NUMBERS, Candidates
from ingestion.extract.trades.cost_sums import TWO_CENTS
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.rows import ProductRow
from ingestion.extract.trades.settlement import find_settlement

_MAX_CANDIDATES = 8  # of one field
_MAX_UNNAMED = 40  # numbers that may be quantity or price without a label
_LABELLED = 4  # the score of two numbers that labels name
_HUNDRED = Decimal(100)
_LEAST = Decimal("0.005")  # rounded it is a cent
_POUND = "GBP"
PENNY = "GBX"  # a hundredth of a pound: what London's shares are priced in


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
    yield from _multiply_by_line_of_price(candidates)
    others = tuple(number for number in candidates.others[:MAX_NUMBERS] if number not in prices)
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


def _multiply_by_line_of_price(candidates: Candidates) -> Iterator[Product]:
    """Price and amount in one line, and the quantity alone in front of what was traded, as the parts of an order have
    labels: `10'000 N-Akt … / Kurs EUR 6.822613 EUR 68'226.13`."""
    counts = [
        number
        for number in candidates.others[:MAX_NUMBERS]
        if number.start == 0 and number.currency is None and number not in candidates.quantities
    ]
    for price, amount in pairwise(candidates.prices[:_MAX_CANDIDATES]):
        if price.line == amount.line and amount.is_money and price.currency == amount.currency is not None:
            exact = replace(candidates, gross=(amount,), settled=(), exchange_rates=(), others=())
            for quantity in counts:
                yield from _multiply(exact, (quantity,), (price,), 0)


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
    amounts = _list_amounts(candidates)
    for rank, quantity in enumerate(quantities):
        for number, price in enumerate(prices):
            if price is quantity:
                continue
            for units in quantity.readings:
                for value in price.readings:
                    if units and value:
                        factors = _Factors(quantity, units, price, value)
                        yield from _match_gross(amounts, factors, rates, score - rank - number)


_Amount = tuple[Number, bool, bool]


@dataclass(frozen=True, slots=True)
class _Factors:
    """Two numbers, and one of the readings of each."""

    quantity: Number
    units: Decimal
    price: Number
    value: Decimal


def _match_gross(
    amounts: Sequence[_Amount], factors: _Factors, rates: Sequence[Decimal], score: int
) -> Iterator[Product]:
    for is_bond in _list_kinds_of_price(factors.quantity, factors.price):
        if not is_bond and factors.quantity.currency is not None and factors.price.currency is None:
            continue  # `1,565.99 GBP`: the price, and what it is multiplied by the quantity
        yield from _match_amount(amounts, factors, rates, score, is_bond=is_bond)


def _list_kinds_of_price(quantity: Number, price: Number) -> tuple[bool, ...]:
    """Whether a price may be a percentage of a bond's face value, which has a currency; the likelier first."""
    if price.is_percent or price.currency == PENNY:
        return (True,)
    if price.currency == _POUND:
        return (False, True)  # `GBP 241.80` of a share of London may be pence
    if price.currency is not None:
        return (False,)
    # A bond's price is often a percentage without a sign, and London's prices are in pence.
    return (True, False) if quantity.currency is not None else (False, True)


def _match_amount(
    amounts: Sequence[_Amount], factors: _Factors, rates: Sequence[Decimal], score: int, *, is_bond: bool
) -> Iterator[Product]:
    quantity, units, price, value = factors.quantity, factors.units, factors.price, factors.value
    amount = units * value / _HUNDRED if is_bond else units * value
    slack = _compute_slack(factors) / (_HUNDRED if is_bond else 1)
    converted = (
        [(amount, False)] + [(amount / rate, True) for rate in rates] + [(amount * rate, True) for rate in rates]
    )
    # Nothing is paid that is less than a cent, and all that is small is near to it; rates are rounded.
    wanted = [
        (expected, is_foreign, slack + off, min(slack, TWO_CENTS + expected / 2000) + off)
        for expected, is_foreign in converted
        if expected >= _LEAST
        for off in (expected / 1000 if is_foreign else Decimal(0),)
    ]
    is_guess = is_bond and not price.is_percent and quantity.currency is None
    for other, is_labelled, is_gross in amounts:
        if other is quantity or other is price:
            continue
        is_by_label = is_labelled and (is_gross or not is_guess)
        for expected, is_foreign, allowed_by_label, allowed_elsewhere in wanted:
            allowed = allowed_by_label if is_labelled else allowed_elsewhere
            for written in other.readings:
                if abs(written - expected) <= allowed and (is_by_label if is_guess else is_labelled or units != 1):
                    bonus = (4 if is_labelled else 1) - 3 * is_guess
                    exact = 1 if abs(written - expected) <= TWO_CENTS else 0
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


def _list_amounts(candidates: Candidates) -> list[_Amount]:
    """What two numbers may make: each amount, whether a label names it, and whether as the gross one."""
    labelled = {id(number) for number in (*candidates.gross, *candidates.settled)}
    return [
        (number, id(number) in labelled, number in candidates.gross)
        for number in _list_once((*candidates.gross, *candidates.settled, *candidates.others[:MAX_NUMBERS]))
        if not number.is_percent
    ]


def _list_once(numbers: Sequence[Number]) -> Iterator[Number]:
    seen: set[int] = set()
    for number in numbers:
        if id(number) not in seen:
            seen.add(id(number))
            yield number


def _compute_slack(factors: _Factors) -> Decimal:
    """How far a product may be from what is printed, since both its factors were rounded."""
    units, value = factors.units, factors.value
    price, quantity = factors.price, factors.quantity
    of_price = units * Decimal(1).scaleb(-price.decimals) / 2 if price.decimals else Decimal(0)
    of_quantity = value * Decimal(1).scaleb(-quantity.decimals) / 2 if quantity.decimals else Decimal(0)
    return TWO_CENTS + min(of_price, units * value / 200) + min(of_quantity, units * value / 50)
