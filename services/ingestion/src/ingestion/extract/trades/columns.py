"""A row of a table by its head: which of its numbers are quantity, price, amount, costs and what was settled.

A row that has its costs in columns of their own says nothing of them itself: `20 214.60 4,292.00 2.00`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from ingestion.domain.trade import Direction
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine
from ingestion.extract.trades.numbers import CURRENCIES, Number

_CENT = Decimal("0.02")
_LEAST = Decimal("0.01")
_MAX_ROWS = 400  # below one head
_COLUMNS = frozenset(
    {
        Label.QUANTITY,
        Label.PRICE,
        Label.GROSS,
        Label.SETTLED,
        Label.FEE,
        Label.TAX,
        Label.INTEREST,
        Label.EXCHANGE_RATE,
        Label.IGNORED,
    }
)
_COSTS = frozenset({Label.FEE, Label.TAX})
_CODE = re.compile(r"\b[A-Z]{3}\b")


@dataclass(frozen=True, slots=True)
class RowAmounts:
    """`gross` and `settled` in `currency` (None: the head names none). `settled` may not be printed: then the costs
    lead to it."""

    quantity: Decimal
    price: Number
    price_value: Decimal
    gross: Decimal
    fees: Decimal
    taxes: Decimal
    settled: Decimal
    settled_number: Number
    currency: str | None


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The numbers of one row, each with its head and the currency that the head names."""

    numbers: tuple[tuple[Label, str | None, Number], ...]

    def list_numbers(self, label: Label) -> list[Number]:
        return [number for own, _, number in self.numbers if own is label]

    def sum_costs(self, label: Label) -> Decimal:
        return sum((number.value for number in self.list_numbers(label)), Decimal(0))

    def find_currencies(self) -> set[str]:
        """Of its amounts; more than one where costs are in another one."""
        named = {
            number.currency or currency
            for label, currency, number in self.numbers
            if label in _COSTS or label in (Label.GROSS, Label.SETTLED)
        }
        return {currency for currency in named if currency is not None}


@dataclass(frozen=True, slots=True)
class Columns:
    """`rows` by the index of their line; `with_costs` are all lines below a head that names costs."""

    rows: Mapping[int, RowColumns]
    with_costs: frozenset[int]


def find_columns(lines: Sequence[ReadLine]) -> Columns:
    rows: dict[int, RowColumns] = {}
    with_costs: set[int] = set()
    head: list[tuple[LabelPlace, str | None]] = []
    distance = 0
    for line in lines:
        if found := _list_heads(line):
            head, distance = found, 0
        distance += 1
        if not head or not line.numbers or distance > _MAX_ROWS:
            continue
        if any(place.label in _COSTS for place, _ in head):
            with_costs.add(line.index)
        if len(line.numbers) >= len(head):
            # The name of a security, which stands in front, may have numbers too.
            numbers = line.numbers[-len(head) :]
            rows[line.index] = RowColumns(
                tuple((place.label, currency, number) for (place, currency), number in zip(head, numbers, strict=True))
            )
    return Columns(rows, frozenset(with_costs))


def _list_heads(line: ReadLine) -> list[tuple[LabelPlace, str | None]]:
    """The columns that have numbers, if the line is the head of a table of trades."""
    if line.numbers or line.dates:
        return []
    places = [place for place in line.labels if place.label in _COLUMNS]
    found = [place.label for place in places]
    amounts = [label for label in found if label in (Label.GROSS, Label.SETTLED)]
    if found.count(Label.QUANTITY) != 1 or found.count(Label.PRICE) != 1 or not amounts:
        return []
    if len(set(amounts)) < len(amounts):
        return []
    ends = [*(other.start for other in line.labels), len(line.text)]
    return [
        (place, _find_currency(line.text[place.end : min(end for end in ends if end >= place.end)])) for place in places
    ]


def _find_currency(text: str) -> str | None:
    return next((match[0] for match in _CODE.finditer(text) if match[0] in CURRENCIES), None)


def resolve_amounts(row: RowColumns, direction: Direction | None) -> RowAmounts | None:
    """What the columns say, if quantity × price is the gross amount and the costs lead from there to what was settled;
    None where they do not, where they are in several currencies, or where more than one reading does."""
    currencies = row.find_currencies()
    if len(currencies) > 1 or row.list_numbers(Label.INTEREST) or row.list_numbers(Label.EXCHANGE_RATE):
        return None
    found = sorted(_list_readings(row, direction), key=lambda reading: reading.deviation)
    if not found or (len(found) > 1 and found[0].deviation > _CENT):
        return None
    best = found[0]
    return RowAmounts(
        best.quantity,
        row.list_numbers(Label.PRICE)[0],
        best.price,
        best.gross.quantize(_LEAST),
        row.sum_costs(Label.FEE),
        row.sum_costs(Label.TAX),
        best.settled.quantize(_LEAST),
        [*row.list_numbers(Label.SETTLED), *row.list_numbers(Label.GROSS)][0],
        next(iter(currencies), None),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """`deviation`: how far the product is from the gross amount."""

    quantity: Decimal
    price: Decimal
    gross: Decimal
    settled: Decimal
    deviation: Decimal


def _list_readings(row: RowColumns, direction: Direction | None) -> Iterator[_Reading]:
    costs = row.sum_costs(Label.FEE) + row.sum_costs(Label.TAX)
    if direction is None and costs:
        return  # whether they were added or taken off, only the side says
    pairs = list(_list_amounts(row, costs * (direction.sign_of_costs if direction else 1)))
    quantity, price = row.list_numbers(Label.QUANTITY)[0], row.list_numbers(Label.PRICE)[0]
    for units, value in product(quantity.readings, price.readings):
        for gross, settled in pairs:
            deviation = abs(units * value - gross)
            if units and deviation <= _CENT + gross / 2000:
                yield _Reading(units, value, gross, settled, deviation)


def _list_amounts(row: RowColumns, costs: Decimal) -> Iterator[tuple[Decimal, Decimal]]:
    """Pairs of gross and settled amount; what is just called an amount may be either."""
    gross = [value for number in row.list_numbers(Label.GROSS)[:1] for value in number.readings]
    settled = [value for number in row.list_numbers(Label.SETTLED)[:1] for value in number.readings]
    if gross and settled:
        yield from (pair for pair in product(gross, settled) if abs(pair[0] + costs - pair[1]) <= _CENT)
        return
    yield from {(amount, amount + costs) for amount in gross} | {(amount - costs, amount) for amount in gross + settled}
