"""The numbers of a trade by what labels, units and places call them."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, list_numbers_at
from ingestion.extract.trades.numbers import Number

MAX_NUMBERS = 60
"""That may be an amount."""
_MAX_TAXES = 6  # lines of one settlement of taxes
_MAX_UNNAMED = 4  # cost lines that no label names


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
    percentages: tuple[Number, ...] = ()


def gather_candidates(lines: Sequence[ReadLine]) -> Candidates:
    lines = _cut_tax_settlement(lines)
    named = _name_numbers(lines)
    useless = {id(number) for number in named[Label.IGNORED]}
    others = [n for line in lines for n in line.numbers if id(n) not in useless and not n.is_percent]
    said = list(list_said_trades(lines))
    quantities = [*_list_quantities_by_unit(lines), *(quantity for quantity, _ in said), *named[Label.QUANTITY]]
    prices = [*(price for _, price in said), *named[Label.PRICE], *_list_prices_by_unit(lines)]
    dated = [number for number in named[Label.SETTLEMENT_DATE] if number.is_money]
    return Candidates(
        _drop_repeats(number for number in quantities if not number.is_percent),
        _drop_repeats(prices),
        _drop_repeats(named[Label.GROSS]),
        _drop_repeats(named[Label.SETTLED]),
        _drop_repeats([*dated, *_list_amounts_of_anchor(lines)]),
        _drop_repeats(named[Label.FEE]),
        _drop_repeats(named[Label.TAX]),
        _drop_repeats(named[Label.INTEREST]),
        _drop_repeats(named[Label.DISCOUNT]),
        _drop_repeats(named[Label.EXCHANGE_RATE]),
        _drop_repeats(others),
        *_list_unnamed_costs(lines, named),
        _drop_repeats([number for line in lines for number in line.numbers if number.is_percent]),
    )


def _cut_tax_settlement(lines: Sequence[ReadLine]) -> Sequence[ReadLine]:
    """Without what a note settles of taxes below what was paid for the trade: that has an amount of its own."""
    settled = [line.index for line in lines for place in line.labels if place.label is Label.SETTLED and line.numbers]
    for position, line in enumerate(lines):
        is_heading = not line.numbers and labels.TAX_SETTLEMENT.match(line.text) is not None
        if is_heading and settled and line.index > settled[0] and _settles_taxes(lines[position:]):
            return lines[:position]
    return lines


def _settles_taxes(lines: Sequence[ReadLine]) -> bool:
    """Whether what is settled is the sum of taxes that stand there, and nothing of a trade."""
    named = _name_numbers(lines)
    taxes = [number.value for number in named[Label.TAX][:_MAX_TAXES]]
    sums = {sum(chosen, Decimal(0)) for size in range(1, len(taxes) + 1) for chosen in combinations(taxes, size)}
    return bool(named[Label.SETTLED]) and all(number.value in sums for number in named[Label.SETTLED])


def add_unnamed_costs(candidates: Candidates, lines: Sequence[ReadLine], gross: Number) -> Candidates:
    """With the lines below the gross amount that quantity and price make, where no label says that it is one."""
    if candidates.gross or not candidates.settled:
        return candidates
    fields = (candidates.quantities, candidates.prices, candidates.settled, candidates.fees, candidates.taxes)
    known = {id(number) for numbers in (*fields, candidates.interests, candidates.exchange_rates) for number in numbers}
    usable = {id(number) for number in candidates.others} - known
    last = max(number.line for number in candidates.settled)
    fees, taxes = _list_costs_between(lines, gross.line, last, usable)
    return replace(candidates, unnamed_fees=fees, unnamed_taxes=taxes)


def _list_unnamed_costs(
    lines: Sequence[ReadLine], named: dict[Label, list[Number]]
) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    """Fees and taxes, by their words, of the lines that no label names, between gross amount and settled amount."""
    gross = [number.line for number in named[Label.GROSS]]
    settled = [number.line for number in named[Label.SETTLED]]
    if not gross or not settled:
        return (), ()
    known = {id(number) for numbers in named.values() for number in numbers}
    usable = {id(number) for line in lines for number in line.numbers} - known
    return _list_costs_between(lines, min(gross), max(settled), usable)


def _list_costs_between(
    lines: Sequence[ReadLine], first: int, last: int, usable: Collection[int]
) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    fees: list[Number] = []
    taxes: list[Number] = []
    for line in lines:
        amounts = [number for number in line.numbers if number.is_money]
        is_between = first < line.index < last
        if not is_between or not amounts or id(amounts[-1]) not in usable or not re.search(r"[^\W\d_]{3}", line.text):
            continue
        (taxes if labels.TAX_WORD.search(line.text) else fees).append(amounts[-1])
    return tuple(fees[:_MAX_UNNAMED]), tuple(taxes[:_MAX_UNNAMED])


def _name_numbers(lines: Sequence[ReadLine]) -> dict[Label, list[Number]]:
    """The numbers by what labels call them."""
    named: dict[Label, list[Number]] = {label: [] for label in Label}
    for line in lines:
        for place in line.labels:
            if place.label is Label.DISCOUNT and place is not line.labels[0]:
                continue  # `Provision nach Rabatt 4,95`: that is the fee
            if place.label is Label.QUANTITY and any(_is_unit_of(number, line, place) for number in line.numbers):
                continue
            numbers = list_numbers_at(lines, line, place)
            named[place.label] += _choose_numbers(place.label, numbers)
    return named


def _is_unit_of(number: Number, line: ReadLine, place: LabelPlace) -> bool:
    """`4,250 shares`: the word belongs to the number in front of it, and to none behind. Not so with a colon."""
    if line.masked[place.end :].lstrip().startswith(":"):
        return False
    return number.end <= place.start and number.currency is None and not line.masked[number.end : place.start].strip()


def _choose_numbers(label: Label, numbers: list[Number]) -> list[Number]:
    if label in (Label.FEE, Label.TAX, Label.INTEREST, Label.DISCOUNT):
        # Rate and base stand in front of the amount.
        return [number for number in numbers if number.is_money][-1:]
    if label is Label.EXCHANGE_RATE:
        # Behind the rate stands what it leads to: `EUR/CHF 1.2416  CHF 92,031.25`.
        return [number for number in numbers if number.currency is None or not number.is_money or number is numbers[0]]
    if label is Label.SETTLED:
        return [number for number in numbers if not number.is_percent and (number.is_money or len(numbers) == 1)]
    return numbers[:1] if label is Label.QUANTITY else numbers


def _drop_repeats(numbers: "Iterator[Number] | Sequence[Number]") -> tuple[Number, ...]:
    return tuple(dict.fromkeys(numbers))


def _list_quantities_by_unit(lines: Sequence[ReadLine]) -> Iterator[Number]:
    """`ST 132,80212`, `30 shares`."""
    for line in lines:
        for number in line.numbers:
            before, behind = line.masked[max(0, number.start - 24) : number.start], line.masked[number.end :][:40]
            if (number.currency is None and labels.QUANTITY_AFTER.match(behind)) or labels.QUANTITY_BEFORE.search(
                before
            ):
                yield number


def list_said_trades(lines: Sequence[ReadLine]) -> Iterator[tuple[Number, Number]]:
    """Quantity and price of a line that says all of it: `You sold 30 at 96.25`, `Achat 20 … à 74,5 EUR`."""
    for line in lines:
        plain = [number for number in line.numbers if number.currency is None and not number.is_percent]
        quantity = next((number for number in plain if labels.SAID_QUANTITY.search(line.masked[: number.start])), None)
        if quantity is None or quantity.value == 0:
            continue
        for number in line.numbers:
            between = line.masked[quantity.end : number.start]
            if number.start > quantity.end and labels.SAID_PRICE.search(between):
                yield quantity, number
                break


def _list_prices_by_unit(lines: Sequence[ReadLine]) -> Iterator[Number]:
    for line in lines:
        for number in line.numbers:
            if labels.PRICE_AFTER.match(line.masked[number.end :][:40]) or line.masked[
                : number.start
            ].rstrip().endswith("@"):
                yield number


def _list_amounts_of_anchor(lines: Sequence[ReadLine]) -> list[Number]:
    """In a statement the line that begins a trade ends with what was paid, and a balance."""
    for position, line in enumerate(lines):
        if labels.ANCHOR.match(line.text):
            amounts = [number for number in line.numbers if number.is_money]
            if amounts or position + 1 == len(lines):
                return amounts
            return [number for number in lines[position + 1].numbers if number.is_money]
    return []
