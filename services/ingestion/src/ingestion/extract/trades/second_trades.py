"""A second trade of one security in what was read as one note: two notes in one file, or one below the other.

Both name the same security, and nothing begins the second one that a rule knows: but its quantity, price and amount
stand there with their labels, and make a product of their own. The parts in which an order was filled come to its
quantity together, and so they are none.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from ingestion.domain.trade import Trade
from ingestion.extract.trades.candidates import Candidates, gather_candidates
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.rows import drop_total, find_product_rows

_MAX_NUMBERS = 12  # of one field
_MAX_PARTS = 6
_CENT = Decimal("0.02")


def has_second_trade(lines: Sequence[ReadLine], trade: Trade) -> bool:
    """Whether labels name a quantity, a price and an amount that belong together, and are not those of the trade."""
    if trade.quantity is None or trade.price is None:
        return False
    parts = drop_total(find_product_rows(lines))
    is_sum = sum((row.quantity for row in parts), Decimal(0)) == trade.quantity
    of_parts = {row.line.index for row in parts} if is_sum else frozenset[int]()
    others = {
        id(quantity): (quantity.value, price.value)
        for quantity, price in _list_others(gather_candidates(lines), trade)
        if quantity.line not in of_parts
    }
    quantities = [quantity for quantity, _ in others.values()]
    return any(
        price != trade.price if quantity == trade.quantity else not _is_part(quantity, quantities, trade.quantity)
        for quantity, price in others.values()
    )


def _list_others(candidates: Candidates, trade: Trade) -> Iterator[tuple[Number, Number]]:
    """Quantity and price of each product whose amount is not the trade's."""
    own = {trade.gross_amount, trade.settled_amount, trade.foreign_gross_amount}
    named = (*candidates.gross[:_MAX_NUMBERS], *candidates.settled[:_MAX_NUMBERS])
    amounts = [number for number in named if number.is_money and number.value not in own]
    for quantity in candidates.quantities[:_MAX_NUMBERS]:
        for price in candidates.prices[:_MAX_NUMBERS]:
            for amount in amounts:
                difference = abs(quantity.value * price.value - amount.value)
                is_product = difference <= _CENT + amount.value / 2000 and amount.currency == price.currency
                if is_product and _are_apart(quantity, price, amount):
                    yield quantity, price


def _are_apart(*numbers: Number) -> bool:
    return len({id(number) for number in numbers}) == len(numbers) and all(number.value for number in numbers)


def _is_part(quantity: Decimal, quantities: Sequence[Decimal], whole: Decimal) -> bool:
    return any(
        quantity in chosen and sum(chosen, Decimal(0)) == whole
        for size in range(2, _MAX_PARTS + 1)
        for chosen in combinations(quantities[:_MAX_NUMBERS], size)
    )
