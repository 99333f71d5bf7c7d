"""Amounts of a note that say that another one was settled than the one that was found, whatever they are called.

`Subtotal 710.05`, `Tax refund 20.00`, `Paid out 730.05`: the words for a subtotal, for what is given back and for what
was paid never end. That one amount of the page and the numbers below it make another one is arithmetic.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from ingestion.extract.trades.candidates import MAX_NUMBERS, Candidates
from ingestion.extract.trades.numbers import Number

_MAX_BELOW = 10  # amounts below the settled one
_MAX_SUMMANDS = 3
_LARGEST_STEP = Decimal("0.5")  # of the amount: what is given back or kept is less, and a balance more
_CENTS = 2
_TWO_CENTS = Decimal("0.02")
_LARGEST_CHARGE = Decimal("0.1")  # of what is invested
_MAX_RATES = 3
_MAX_PERCENTAGES = 8
_WITHOUT_CENTS = frozenset({"JPY", "HUF", "KRW"})


def goes_on_below(candidates: Candidates, amount: Number, value: Decimal, gross: Decimal | None) -> bool:
    """Whether an amount further down is made by the settled one and one or more numbers between them."""
    below = [
        number
        for number in candidates.others[:MAX_NUMBERS]
        if number.line > amount.line and _is_amount_in(number, amount.currency) and number.value
    ][:_MAX_BELOW]
    for last in below:
        if last.value in (value, gross):
            continue  # said again, or what the costs that are listed again lead from
        step = abs(last.value - value)
        if step > value * _LARGEST_STEP:
            continue
        between = list(dict.fromkeys(n.value for n in below if _is_before(n, last) and n.value <= step))
        if step in _list_sums(between):
            return True
    return False


def is_paid_otherwise(candidates: Candidates, gross: Decimal, currency: str | None) -> bool:
    """Of a note that names no settled amount: whether the account may have paid another one than the gross amount, in
    another currency, or with costs below it that no label knows."""
    amounts = [number for number in candidates.others[:MAX_NUMBERS] if number.value and number.is_money]
    if currency is not None and any(
        number.currency not in (None, currency) and (number.decimals == _CENTS or number.currency in _WITHOUT_CENTS)
        for number in amounts
    ):
        return True
    lines_of_gross = [number.line for number in candidates.others[:MAX_NUMBERS] if gross in number.readings]
    factors = {id(number) for number in (*candidates.prices, *candidates.quantities)}
    last_of_lines = {number.line: id(number) for number in sorted(candidates.others, key=lambda number: number.start)}
    return bool(lines_of_gross) and any(
        number.line > lines_of_gross[0]
        and _is_amount_in(number, currency)
        and number.value < gross
        and last_of_lines[number.line] == id(number)  # a day without its year stands in front
        and id(number) not in factors
        and not _makes_gross(number, gross, candidates)
        for number in amounts
    )


def is_more_than_invested(
    candidates: Candidates, quantity: Decimal, price: Decimal, amount: Number | None, gross: Decimal
) -> bool:
    """Of a purchase without costs: whether a little more was paid, of which a part was kept back: `Payment 1,000.00`,
    `Initial charge 5 %`, `Net amount invested 952.38`. A printed percentage leads from one to the other; or what was
    bought is no whole number, as what an amount buys is, and rounds to less than what is missing."""
    currency = amount.currency if amount is not None else None
    rounded = (
        price.scaleb(min(int(quantity.as_tuple().exponent), 0)) if quantity != quantity.to_integral_value() else None
    )
    factors = {id(number) for number in (*candidates.prices, *candidates.quantities)}
    rates = {value for number in candidates.exchange_rates[:_MAX_RATES] for value in number.readings if value}
    shares = [number.value / 100 for number in candidates.percentages[:_MAX_PERCENTAGES]]
    for number in candidates.others[:MAX_NUMBERS]:
        more = number.value - gross
        if not _TWO_CENTS < more <= gross * _LARGEST_CHARGE or id(number) in factors:
            continue
        if not _is_amount_in(number, currency) or (rates and number.currency is None):
            continue
        is_charge = any(
            min(abs(number.value * share - more), abs(gross * share - more)) <= _TWO_CENTS for share in shares
        )
        if is_charge or (rounded is not None and more > rounded + _TWO_CENTS):
            return True
    return False


def _is_amount_in(number: Number, currency: str | None) -> bool:
    return number.is_money and (number.currency is None or currency is None or number.currency == currency)


def _is_before(number: Number, last: Number) -> bool:
    return (number.line, number.start) < (last.line, last.start)


def _list_sums(numbers: Sequence[Decimal]) -> Iterator[Decimal]:
    for size in range(1, _MAX_SUMMANDS + 1):
        for chosen in combinations(numbers, size):
            yield sum(chosen, Decimal(0))


def _makes_gross(price: Number, gross: Decimal, candidates: Candidates) -> bool:
    """Whether it is the price, said again without a label."""
    quantities = [value for number in candidates.quantities for value in number.readings]
    return any(abs(price.value * quantity - gross) <= price.value / 100 + Decimal("0.02") for quantity in quantities)
