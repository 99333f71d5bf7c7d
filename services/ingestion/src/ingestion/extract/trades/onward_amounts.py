"""Amounts of a note behind what was settled, in the currency of the account: whether the account paid another amount.

`Net amount USD 2,270.00`, `Exchange rate 1.2500`, `GBP equivalent GBP 1,816.00`: the words differ from bank to bank,
and seldom tell what was paid from what it is worth. What a printed rate makes of the amount was perhaps paid.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.domain.trade import Trade
from ingestion.extract.trades.candidates import MAX_NUMBERS, Candidates
from ingestion.extract.trades.currency_names import PENNY
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import DOLLARS, Number

_TWO_CENTS = Decimal("0.02")
_MIN_DECIMALS = 3  # of a rate that no label names
_MAX_RATES = 8
_LINES_OF_ROW = 2
_CENTS = 2
_LARGEST_RATE = 3  # what is a smaller part of the amount is a cost


def may_go_on(candidates: Candidates, amount: Number, value: Decimal) -> bool:
    """Whether a rate of the note makes of a settled amount one in another currency."""
    numbers = candidates.others[:MAX_NUMBERS]
    rates = _list_rates(candidates)
    return any(
        abs(number.value - product) <= _TWO_CENTS + number.value / 3000
        for number in numbers
        if number.is_money and number.currency not in (None, amount.currency)
        for rate in rates
        for product in (value * rate, value / rate)
    )


def has_other_currency_below(candidates: Candidates, amount: Number) -> bool:
    """Whether below a settled amount stands one in another currency that is no cost: the account may have paid that."""
    return amount.currency is not None and any(
        number.line > amount.line
        and number.is_money
        and number.currency not in (None, PENNY, amount.currency)
        and number.decimals == _CENTS
        and number.value * _LARGEST_RATE >= amount.value
        for number in candidates.others[:MAX_NUMBERS]
    )


def has_costs_behind(candidates: Candidates, amount: Number) -> bool:
    """Whether below a converted amount another one stands in its currency, and what lies between them."""
    below = [n for n in candidates.others[:MAX_NUMBERS] if n.line > amount.line and n.is_money]
    own = [number.value for number in below if number.currency == amount.currency]
    return any(abs(last - amount.value) == cost for last in own for cost in own if last != amount.value)


def names_other_currency(row: Sequence[ReadLine], trade: Trade) -> bool:
    """Whether beside a row, or in the line below it, an amount is in neither of the currencies of its trade."""
    known = {trade.currency, trade.foreign_currency, None, PENNY}
    if known & DOLLARS:
        known |= DOLLARS  # `$`
    return any(
        number.is_money and number.currency not in known for line in row[:_LINES_OF_ROW] for number in line.numbers
    )


def _list_rates(candidates: Candidates) -> Sequence[Decimal]:
    return tuple(dict.fromkeys(_list_factors(candidates)))[:_MAX_RATES]


def _list_factors(candidates: Candidates) -> Iterator[Decimal]:
    for number in candidates.exchange_rates:
        yield from (value for value in number.readings if value > 0)
    for number in candidates.others[:MAX_NUMBERS]:
        if number.decimals >= _MIN_DECIMALS and number.currency is None:
            yield from (value for value in number.readings if value > 0)
