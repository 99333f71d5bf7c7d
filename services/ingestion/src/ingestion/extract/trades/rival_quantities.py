"""Another quantity of a note that its one price makes another amount of the page: of the order, or of the holding.

`Order 1,000`, `Executed 400`, `Price 0.72`, `720.00`, `288.00`: which of the two was traded only words say, and those
differ from bank to bank. What was paid, named so and the only one, tells it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.domain.trade import Direction
from ingestion.extract.trades.candidates import MAX_NUMBERS, Candidates
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.products import Product
from ingestion.extract.trades.settlement import Settlement, find_single

_CENT = Decimal("0.01")
_LEAST_AMOUNT = 1  # what costs next to nothing makes cents of each number
_SEVERAL = 2


def may_be_of_other_quantity(
    candidates: Candidates, product: Product, settlement: Settlement, direction: Direction | None, *, is_of_column: bool
) -> bool:
    """Whether quantity and amount may be those of an order or a holding. Not where costs lead to the one amount that is
    called settled; nor where it is the smaller of two: less is executed than ordered, and bought than held. Of what was
    sold less may be left: there a label or the head of a column names the amount, and none the other one."""
    rivals = list(_list_rivals(candidates, product))
    if not rivals or _are_parts(rivals, product):
        return False
    is_settled = settlement.amount in candidates.settled and find_single(candidates.settled) is not None
    if is_settled and (settlement.fees or settlement.taxes or settlement.interest):
        return False
    named = (*candidates.gross, *candidates.settled)
    is_named = is_settled or is_of_column or product.gross in named
    is_smaller = all(amount.value > product.gross_value for _, amount in rivals)
    is_told = direction is Direction.BUY or (is_named and not any(amount in named for _, amount in rivals))
    return not (is_smaller and is_told)


def _list_rivals(candidates: Candidates, product: Product) -> Iterator[tuple[Decimal, Number]]:
    if not product.quantity or product.price_value == 1:
        return  # of a fund that costs one each amount is a quantity too
    numbers = candidates.others[:MAX_NUMBERS]
    known = {product.quantity, product.price_value, product.amount, product.gross_value, Decimal(1)}
    amounts = [n for n in numbers if n.is_money and n.value >= _LEAST_AMOUNT and n.value not in known]
    in_line = Counter(number.line for number in numbers)
    for quantity in numbers:
        if quantity.currency is not None or not quantity.value or quantity.value in known:
            continue
        expected = quantity.value * product.amount / product.quantity
        for amount in amounts:
            is_beside = in_line[quantity.line] == 1 or quantity.line == amount.line
            if is_beside and amount is not quantity and abs(amount.value - expected) <= _CENT:
                yield quantity.value, amount
                break


def _are_parts(rivals: Sequence[tuple[Decimal, Number]], product: Product) -> bool:
    """Whether they are what the order was filled in."""
    return len(rivals) >= _SEVERAL and sum(quantity for quantity, _ in rivals) == product.quantity
