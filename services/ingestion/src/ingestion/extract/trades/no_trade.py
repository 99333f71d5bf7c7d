"""Whether a document says that nothing was traded: a paper on income, a deposit, an account, a tax, a transfer.

That takes what such papers are called or what only they say, and no line that tells of a trade as notes do. A word for
buying or selling in a sentence of the terms is none: every bank's footer has one.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.titles import kind_words
from ingestion.extract.trades import labels
from ingestion.extract.trades import no_trade_words as words
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine, list_places, list_words_behind
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.trade import TradeReading

_HEAD_LINES = 40
_MAX_TITLE = 90  # letters
_MAX_LINE = 140  # letters of a line that may tell of a trade
_MAX_INCOME = 60  # letters of a line
_MAX_HEADING = 40  # letters of a cell that says what was done, and nothing else
_MAX_WORDS = 5  # of a heading
_MAX_WORDS_WITH_PERIOD = 9  # `Activity from 1 March 2026 to 31 March 2026`
_ENOUGH = 2
_WORDS_OF_SENTENCE = 4
_LINES_BELOW = 2  # a head, and the values in its columns
_LINES_OF_SENTENCE = 3
_SO_MANY = re.compile(rf"{labels.DIRECTION.pattern}\W{{1,4}}\d", re.IGNORECASE)  # `bought 100`
_SECURITY = re.compile(r"\b(?:[A-Z]{2}[A-Z0-9]{9}\d|etf|ucits|sicav|fcp|oeic)\b", re.IGNORECASE)


def says_no_trade(page: Sequence[TextLine], lines: Sequence[ReadLine], readings: Sequence[TradeReading]) -> bool:
    is_named = _has_title(page, lines) or _says_kind(lines) or _tells_of_income(lines)
    if not is_named and _count_fields_of_income(lines) < _ENOUGH:
        return False
    return not tells_of_trade(lines) and not is_read_as_trade(lines, readings)


def names_income(lines: Sequence[ReadLine]) -> bool:
    """Whether a short line names a dividend, interest or the like: that has a quantity and a rate as well."""
    return any(
        len(line.text) <= _MAX_INCOME
        and (
            words.INCOME.search(line.text)
            or words.PER_SHARE.search(line.text)
            or words.WITHOUT_INCOME_FROM.search(line.text)
        )
        for line in lines
    )


def tells_of_trade(lines: Sequence[ReadLine]) -> bool:
    """Whether a line says as a note does that something was bought or sold."""
    return any(_is_of_trade(line) for line in lines if len(line.text) <= _MAX_LINE)


def may_book_trade(line: ReadLine) -> bool:
    """Whether a line of a statement may book a trade: it has a word for one and a number.

    A sentence of the terms books none, nor does a total of nothing: `Purchases 0.00`.
    """
    text = words.NO_BOOKING.sub("", line.text)
    if len(line.text) > _MAX_LINE or not line.numbers or labels.DIRECTION.search(text) is None:
        return False
    return not is_of_terms(line) and not _is_total_of_nothing(line)


def is_of_terms(line: ReadLine) -> bool:
    """A sentence that names no day, and no quantity with its price: it tells what may be, and not what was done."""
    plain = [number for number in line.numbers if not number.is_money and not number.is_percent]
    has_trade = values.DATES.search(line.text) is not None or (bool(plain) and len(plain) < len(line.numbers))
    has_trade = has_trade or _SO_MANY.search(line.text) is not None
    return not has_trade and len(words.SMALL_WORD.findall(line.text)) >= _WORDS_OF_SENTENCE


def _is_total_of_nothing(line: ReadLine) -> bool:
    """In the period, whatever there was since the year began."""
    money = [number for number in line.numbers if number.is_money]
    is_total = bool(money) and len(money) == len(line.numbers) and not values.DATES.search(line.text)
    return is_total and not money[0].value and not any(number.value for number in money[2:])


def has_valuation_title(page: Sequence[TextLine]) -> bool:
    return any(words.VALUATION_TITLE.search(text) for _, text in _list_titles(page))


def names_costs_and_value(lines: Sequence[ReadLine]) -> bool:
    """Whether one head of a table names what was paid for securities and what they are worth: it lists holdings."""
    return any(
        not line.numbers and words.COST_OF_HOLDING.search(line.text) and words.VALUE_OF_HOLDING.search(line.text)
        for line in lines
    )


def may_list_what_was_done(page: Sequence[TextLine], lines: Sequence[ReadLine], rows: Sequence[ReadLine]) -> bool:
    """Whether rows may be of trades, though their table names what was paid and what that is worth: each has a day of
    its own, a quantity with a sign stands in one, or a heading says that it lists movements. Lists of sales have both
    for the gain. What is held was priced on several days where a head says so.
    """
    if not rows:
        return False
    headings = [line.text for line in lines if not line.numbers] + [text for _, text in _list_titles(page)]
    if any(_is_heading_of_movements(text) for text in headings):
        return True
    if any(words.DAY_OF_PRICE.search(line.text) for line in lines if not line.numbers):
        return False
    days = {match[0] for row in rows for match in values.DATES.finditer(row.text)}
    return len(days) > 1 or any(_has_signed_quantity(row) for row in rows)


def _is_heading_of_movements(text: str) -> bool:
    """No sentence: `Purchases and sales are settled in two days.`"""
    is_short = len(text.split()) <= _MAX_WORDS_WITH_PERIOD and not text.rstrip().endswith(".")
    return is_short and words.MOVEMENTS.search(text) is not None


def _has_signed_quantity(row: ReadLine) -> bool:
    """The first number of a row is its quantity, as a rule."""
    return bool(row.numbers) and (row.numbers[0].is_negative or row.text[: row.numbers[0].start].endswith("+"))


def _is_of_trade(line: ReadLine) -> bool:
    if words.LIKE_TRADE.search(line.text) and (line.numbers or len(line.text) <= _MAX_HEADING):
        return True
    if labels.DIRECTION.search(line.text) is None or _is_total_of_nothing(line):
        return False
    has_quantity = any(
        not number.is_money and not number.is_percent and not _is_year(line, number) for number in line.numbers
    )
    return (
        values.DATES.search(line.text) is not None
        or (has_quantity and not is_of_terms(line))
        or any(place.label is Label.DIRECTION for place in line.labels)
        or kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        or any(_begins_with_side(cell, has_numbers=bool(line.numbers)) for cell in line.text.split("\t"))
    )


def _is_year(line: ReadLine, number: Number) -> bool:
    """`March 2026`."""
    words = line.text[: number.start].split()
    return bool(words) and words[-1].lower() in values.MONTH_NAMES


def _begins_with_side(cell: str, *, has_numbers: bool) -> bool:
    """`Kauf`, `You have PURCHASED`, `Purchase 100 units at 20.50`; no sentence that begins so."""
    if labels.ANCHOR.match(cell) is None:
        return labels.WE_CONFIRM.search(cell) is not None and has_numbers and bool(labels.DIRECTION.search(cell))
    is_heading = len(cell) <= _MAX_HEADING and len(cell.split()) <= _MAX_WORDS
    return is_heading or has_numbers


def says_side_alone(lines: Sequence[ReadLine]) -> bool:
    """Whether the field for the side, or a line of a few words, says that something was bought or sold."""
    return any(
        labels.DIRECTION.search(line.text) is not None
        and not line.numbers
        and (
            any(place.label is Label.DIRECTION for place in line.labels)
            or any(_begins_with_side(cell, has_numbers=False) for cell in line.text.split("\t"))
        )
        for line in lines
        if len(line.text) <= _MAX_LINE
    )


def _has_title(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    for number, text in _list_titles(page):
        if any(found.is_money for found in lines[number].numbers):
            continue  # a line of costs
        if words.NO_TRADE_TITLE.match(text) or words.FEE_TITLE.match(text):
            return True
        if words.CORPORATE_ACTION_TITLE.match(text) and not _SECURITY.search(text):
            return True
        if words.DEPOSIT.search(text) and words.DEPOSIT_PAPER.search(text):
            return True
    return False


def is_called_no_trade(page: Sequence[TextLine]) -> bool:
    """A title of income, a tax or a transfer; one of a corporate action may have a trade below it."""
    return any(words.NO_TRADE_TITLE.match(text) for _, text in _list_titles(page))


def _says_kind(lines: Sequence[ReadLine]) -> bool:
    """`Type of transaction: Dividend`."""
    return any(
        words.KIND_OF_INCOME.match(list_words_behind(line, place)) is not None
        for line, place in list_places(lines, Label.DIRECTION)
    )


def _list_titles(page: Sequence[TextLine]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(islice(page, _HEAD_LINES)):
        yield from ((number, cell.text) for cell in line.cells if len(cell.text) <= _MAX_TITLE)


def _tells_of_income(lines: Sequence[ReadLine]) -> bool:
    """A sentence over up to three lines says that income was credited, and how much it was."""
    head = lines[:_HEAD_LINES]
    for start in range(len(head)):
        part = head[start : start + _LINES_OF_SENTENCE]
        text = " ".join(line.text for line in part)
        has_amount = any(number.is_money for line in part for number in line.numbers)
        if has_amount and words.INCOME.search(text) and words.CREDITED.search(text):
            return True
    return False


def _count_fields_of_income(lines: Sequence[ReadLine]) -> int:
    def has_field(pattern: re.Pattern[str]) -> bool:
        return any(
            pattern.search(line.text)
            and any(row.numbers or row.dates for row in lines[start : start + 1 + _LINES_BELOW])
            for start, line in enumerate(lines)
        )

    return has_field(words.PER_SHARE) + has_field(words.WITHOUT_INCOME_FROM)


def is_read_as_trade(lines: Sequence[ReadLine], readings: Sequence[TradeReading]) -> bool:
    """Whether labels name the day of a trade and its price, and its numbers multiply, though no word says so."""
    named = {place.label for line in lines for place in line.labels}
    return any(reading.is_product_proven for reading in readings) and {Label.TRADE_DATE, Label.PRICE} <= named
