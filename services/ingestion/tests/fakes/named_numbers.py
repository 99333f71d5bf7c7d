"""Numbers of a trade as labels name them, each field given as text."""

from ingestion.extract.trades.candidates import Candidates
from ingestion.extract.trades.numbers import Number, NumberStyle, find_numbers

STYLE = NumberStyle(".", has_blank_groups=False)


def given(text: str) -> tuple[Number, ...]:
    return tuple(find_numbers(text, 0, STYLE))


def candidates(**texts: str) -> Candidates:
    names = ("quantities", "prices", "gross", "settled", "weakly_settled", "fees", "taxes", "interests", "discounts")
    named = {name: given(texts.get(name, "")) for name in (*names, "unnamed_fees", "exchange_rates", "others")}
    every = tuple(number for numbers in named.values() for number in numbers)
    return Candidates(**{**named, "others": every})
