"""Rows that hold a trade each, or a part of one: quantity × price = amount stands in the row itself.

An order that was filled in parts has a row for each part, often with a total; a savings plan has a row for each month.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import combinations, islice, pairwise

from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import Number, compute_rounding

_CENT = Decimal("0.02")
_LEAST = Decimal("0.01")
_MAX_LETTERS = 200  # of a row
_MAX_NUMBERS = 7  # of a row that are looked at
_MAX_ROWS = 120
_MIN_GROUP = 2
_MAX_COST = 8  # of the amount, the part of it that a trade may have cost
_SMALL_COST = Decimal(60)  # whatever the amount
_WORDS = re.compile(r"[^\W\d_]{2,40}")

Pattern = tuple[int, int, int]  # the places of quantity, price and amount among the numbers of a row


@dataclass(frozen=True, slots=True)
class ProductRow:
    line: ReadLine
    pattern: Pattern
    quantity: Decimal
    price: Decimal
    amount: Decimal

    @property
    def trade_date(self) -> date | None:
        return self.line.dates[0].date if self.line.dates else None

    @property
    def amount_number(self) -> Number:
        return self.line.numbers[self.pattern[2]]

    @property
    def quantity_number(self) -> Number:
        return self.line.numbers[self.pattern[0]]

    @property
    def price_number(self) -> Number:
        return self.line.numbers[self.pattern[1]]


def find_product_rows(lines: Sequence[ReadLine], quantities: Collection[int] = ()) -> list[ProductRow]:
    """The rows of the one table that has most of them; `quantities` are the ids of numbers that a label calls so."""
    groups: dict[Pattern, list[ProductRow]] = defaultdict(list)
    candidates = (line for line in lines if _may_hold_product(line))
    for line in islice(candidates, _MAX_ROWS):
        for row in _list_products(line):
            groups[row.pattern].append(row)
    best = drop_repeats(max(groups.values(), key=len, default=[]))
    if best and any(id(row.line.numbers[row.pattern[1]]) in quantities for row in best):
        return [_swap(row) for row in best]
    return best


def build_row(line: ReadLine, pattern: Pattern) -> ProductRow | None:
    """The row whose numbers have these places, by the head of its table: then one of something is enough."""
    return _multiply(line, pattern, is_named=True)


def list_rows_like(row: ProductRow, lines: Sequence[ReadLine]) -> Iterator[ProductRow]:
    """Rows whose name has numbers of its own: counted from their end, the places are the same."""
    for line in lines:
        more = len(line.numbers) - len(row.line.numbers)
        places = tuple(place + more for place in row.pattern)
        if more and all(0 <= place < len(line.numbers) for place in places) and _may_hold_product(line):
            quantity, price, amount = places
            if (found := _multiply(line, (quantity, price, amount))) is not None:
                yield found


def drop_repeats(rows: Sequence[ProductRow]) -> list[ProductRow]:
    """The rows without those that say one again, its quantity with more places."""
    kept: dict[tuple[Decimal, Decimal], list[ProductRow]] = defaultdict(list)
    for row in rows:
        same = kept[row.price, row.amount]
        if not any(_is_rounded(row, other) or _is_rounded(other, row) for other in same):
            same.append(row)
    return [row for row in rows if any(row is other for other in kept[row.price, row.amount])]


def _is_rounded(row: ProductRow, other: ProductRow) -> bool:
    places, more = -row.quantity.as_tuple().exponent, -other.quantity.as_tuple().exponent  # type: ignore[operator]
    return 0 < places < more and abs(row.quantity - other.quantity) < Decimal(1).scaleb(-places)


def _may_hold_product(line: ReadLine) -> bool:
    return (
        len(line.numbers) > _MIN_GROUP
        and len(line.text) <= _MAX_LETTERS
        and any(number.is_money for number in line.numbers)
    )


def _list_products(line: ReadLine) -> Iterator[ProductRow]:
    """Each way in which two numbers of a row make a third one; of a pair the first is the quantity, if it can be."""
    numbers = line.numbers[:_MAX_NUMBERS]
    for places in combinations(range(len(numbers)), 3):
        for amount in places:
            first, second = (place for place in places if place != amount)
            if not numbers[amount].is_money or numbers[first].is_percent or numbers[second].is_percent:
                continue
            # What has a currency is the price of the two, or the last amount a repeat of the first one.
            if numbers[first].currency is not None and numbers[second].currency is None:
                first, second = second, first
            if (row := _multiply(line, (first, second, amount))) is not None:
                yield row


def _multiply(line: ReadLine, pattern: Pattern, *, is_named: bool = False) -> ProductRow | None:
    quantity, price, amount = (line.numbers[place] for place in pattern)
    for units in quantity.readings:
        for value in price.readings:
            for written in amount.readings:
                product = units * value
                # One of something proves nothing, since any number is one times itself.
                if (1 in (units, value) and not is_named) or not product:
                    continue
                if abs(product - written) > _CENT and _is_cost_between(line, pattern, abs(product - written)):
                    return ProductRow(line, pattern, units, value, product.quantize(_LEAST))
                rounding = compute_rounding(quantity, units, price, value)
                if abs(product - written) <= _CENT + min(written / 2000, rounding):
                    return ProductRow(line, pattern, units, value, written)
    return None


def _is_cost_between(line: ReadLine, pattern: Pattern, difference: Decimal) -> bool:
    """Whether the amount of a row is net: `30  412.10  1.00  12,364.00`."""
    start, end = max(pattern[:2]) + 1, pattern[2]
    return any(
        number.is_money and number.value and abs(number.value - difference) < _CENT
        for number in line.numbers[start:end]
    )


def _swap(row: ProductRow) -> ProductRow:
    first, second, amount = row.pattern
    return ProductRow(row.line, (second, first, amount), row.price, row.quantity, row.amount)


def are_trades(rows: Sequence[ProductRow]) -> bool:
    """Whether the rows are trades of their own: each has its day, and not the same one or not the same security."""
    what = {(row.trade_date, _find_first_words(row.line.text)) for row in rows}
    return len(rows) >= _MIN_GROUP and all(row.trade_date is not None for row in rows) and len(what) > 1


def _find_first_words(text: str) -> str:
    """What a row names: it stands in front of its numbers, or of its date."""
    return "".join(_WORDS.findall(text)[:2])


def are_of_several(rows: Sequence[ProductRow]) -> bool:
    """Whether the rows are of several securities, perhaps, and no parts of one order: other words stand in front of
    their numbers, and their prices are further apart than those of a day. A part may name the market it was done at."""
    words = {"".join(_WORDS.findall(row.line.text[: row.line.numbers[0].start])) for row in rows}
    prices = [row.price for row in rows]
    return len(words) > 1 and max(prices) > min(prices) * _SPREAD


_SPREAD = Decimal("1.05")


def drop_total(rows: Sequence[ProductRow]) -> list[ProductRow]:
    """The rows without one that sums up the others."""
    quantity = sum((row.quantity for row in rows), Decimal(0))
    rest = [row for row in rows if row.quantity * 2 != quantity]
    return rest if len(rest) == len(rows) - 1 else list(rows)


def explain_by_row(numbers: Sequence[Number], gross: Decimal, sign: int) -> tuple[Number, Decimal] | None:
    """The amount that was settled and what it cost, where the row goes on behind the gross amount with both.

    What is a large part of the amount is no cost: what was sold had been bought for it, and the rest is the gain.
    """
    starts = [number + 1 for number, found in enumerate(numbers) if found.value == gross]
    # Where the gross amount is not printed, anywhere in one row.
    for start in starts or [0]:
        last = start + 6 if starts else len(numbers)
        for cost, settled in pairwise(numbers[start:last]):
            is_row = bool(starts) or cost.line == settled.line
            is_small = cost.value <= max(gross / _MAX_COST, _SMALL_COST)
            if cost.value and is_small and is_row and abs(gross + sign * cost.value - settled.value) < _CENT:
                return settled, cost.value
    return None


def explain_converted_row(numbers: Sequence[Number], gross: Number, sign: int) -> tuple[Number, Number, Decimal] | None:
    """What was settled in the account's currency, what was traded in it, and what it cost, where a row goes on behind
    the gross amount with all of them: `USD 360.00  EUR 320.00  1.1250  EUR -0.70  EUR 319.30`."""
    behind = numbers[next(place for place, number in enumerate(numbers) if number is gross) + 1 :]
    if len(behind) not in _LENGTHS_OF_CONVERTED:
        return None
    value, rate, *costs, settled = behind
    cost = costs[0].value if costs else Decimal(0)
    is_in_another = value.currency is not None and gross.currency is not None and value.currency != gross.currency
    is_rate = rate.currency is None and rate.value > 0
    if not is_in_another or not is_rate or {number.currency for number in (*costs, settled)} != {value.currency}:
        return None
    is_converted = any(
        abs(gross.value * factor - value.value) <= _CENT + value.value / _RATES_OFF
        for factor in (rate.value, 1 / rate.value)
    )
    is_sum = abs(value.value + sign * cost - settled.value) < _CENT / 2
    return (settled, value, cost) if is_converted and is_sum else None


_LENGTHS_OF_CONVERTED = (3, 4)  # value, rate, what it cost, total
_RATES_OFF = 500  # a broker may add a thousandth to the rate that it prints
