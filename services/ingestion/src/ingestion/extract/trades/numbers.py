"""Numbers of a trade, whose decimal mark only the document tells: `1.000` are a thousand shares or one.

A number keeps all its readings, the likeliest first; arithmetic chooses.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from ingestion.extract import values

# What brokers' pages name beside numbers, and prices in pence; more would make currencies of words and symbols.
_CODES = (
    "EUR|USD|GBP|GBX|CHF|PLN|CAD|AUD|NZD|DKK|SEK|NOK|CZK|HUF|RON|BRL|JPY|HKD|SGD|CNY|INR|ZAR|MXN|TRY|ILS|KRW|THB|RUB"
)
CURRENCIES = frozenset(_CODES.split("|"))
DOLLARS = frozenset({"USD", "AUD", "CAD", "NZD", "HKD", "SGD"})
_MONEY = rf"(?:{_CODES}|US\$|C\$|CA\$|A\$|R\$|zł|Kč|kr\.?|[€$£])"
_SYMBOLS = {
    "€": "EUR",
    "$": "USD",
    "us$": "USD",
    "c$": "CAD",
    "ca$": "CAD",
    "a$": "AUD",
    "£": "GBP",
    "r$": "BRL",
    "zł": "PLN",
    "kč": "CZK",
}
_CENTS = 2  # decimals
_BLANKS = "\u00a0\u202f\u2009"
_TOKEN = re.compile(
    rf"(?<![\w.,'’/:])(?:(?P<before>{_MONEY})\s{{0,20}})?(?P<sign>[-−–+(])?\s?(?:(?P<inner>{_MONEY})\s?)?"
    rf"(?P<number>\d{{1,3}}(?:['’]\d{{3}})+(?:\.\d{{1,12}})?|\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+(?:[.,]\d{{1,12}})?|\d(?:[\d.,]{{0,30}}\d)?)"
    rf"(?:,--|,-|\.-|\.–)?(?P<after>\s?[-−–](?=\s|$|[A-Z]{{3}}))?(?![\w/:’']|[.,]\d)?(?:\s{{0,3}}(?P<unit>{_MONEY})(?![\w]))?",
)
_DIGIT = re.compile(r"\d")
_ENDS_WITH_AMOUNT = re.compile(rf"(?<!\w){_MONEY}\s?[-−–]?\d[\d.,'’]{{0,30}}\s*$")
_ENDS_WITH_CURRENCY = re.compile(rf"\d\s?[-−–]?\s?{_MONEY}\s*$")
_IN_PENCE = re.compile(r"p(?![^\W_])")
_BEFORE_NUMBER = re.compile(r"\s{0,3}[-−–+(]?\s?\d")
_GROUPED_BY_BLANK = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?:[.,]\d{1,12})?(?![\d.,])")
# With a decimal point, as in South Africa and the Baltics: no number begins with two zeros and none stands between a
# currency and another amount, so that `6 000.00` and `USD 6 250.00` are one.
_GROUPED_BEFORE_POINT = re.compile(
    rf"(?<![\d.,])\d{{1,3}} 0\d\d(?: \d{{3}})*\.\d{{2}}(?!\d)|{_MONEY}\s?\d{{1,3}}(?: \d{{3}})+\.\d{{2}}(?=\s*(?:$|\t))"
)
_GROUPED_BY_MARK = re.compile(r"\d{1,3}(?:[.'’]\d{3})+(?:,\d{1,12})?")
_MASKED = re.compile(
    r"\b[A-Z]{2}[A-Z0-9]{9}\d\b"  # ISIN
    r"|\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9*X]{4}){2,8}(?:\s?[A-Z0-9*X]{1,4})?\b(?![.,]\d)"  # IBAN, and no amount behind it
    r"|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,:]\d{1,6})?)?(?:\s?(?:uhr|am|pm))?\b"  # a time
    r"|(?<![\d.,])\b\d{8,}/?\S*"  # an account's or order's number
    r"|\(\d\)"  # a footnote
    r"|(?<=[^\W\d_]\s)\+\d(?=\s+[^\W\d_])",  # the mark of a footnote: `Price +1 Amount`
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """`start` and `end` are places in the text of its line; `decimals` is how many are written."""

    readings: tuple[Decimal, ...]
    start: int
    end: int
    line: int
    currency: str | None
    decimals: int
    is_percent: bool
    is_negative: bool

    @property
    def value(self) -> Decimal:
        return self.readings[0]

    @property
    def is_money(self) -> bool:
        """Whether it is written as money is: with its currency, or with cents."""
        return not self.is_percent and (self.currency is not None or self.decimals == 2)


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a document writes numbers: its decimal mark (None: nothing says), and whether blanks part thousands.

    `has_currency_in_front`: a currency between two numbers is that of the second one. `may_have_blank_groups`: some
    number may be read so, though another has points there. `dollar`: whose `$` is, where the numbers name one dollar
    only, and not that of the United States.
    """

    decimal_mark: str | None
    has_blank_groups: bool
    has_currency_in_front: bool = False
    may_have_blank_groups: bool = False
    dollar: str | None = None


def compute_rounding(one: Number, value: Decimal, other: Number, other_value: Decimal) -> Decimal:
    """How far a product may be from what is printed where its factors were rounded; whole shares were not."""
    return other_value * _round_half(one, value) + value * _round_half(other, other_value)


def _round_half(number: Number, value: Decimal) -> Decimal:
    """Half of the last digit that counts: `25.210` may have been 25.213 before it was rounded to cents."""
    if not number.decimals:
        return Decimal(0)
    _, _, exponent = value.normalize().as_tuple()
    return Decimal(1).scaleb(-min(number.decimals, max(_CENTS, -int(exponent)))) / 2


def mask_codes(text: str) -> str:
    """The text with dates, times and numbers of other things blanked out, places kept."""
    if _DIGIT.search(text) is None:
        return text
    masked = _MASKED.sub(lambda match: " " * len(match[0]), text)
    return values.DATES.sub(lambda match: " " * len(match[0]), masked)


def determine_style(texts: Iterable[str]) -> NumberStyle:
    marks: Counter[str] = Counter()
    blank_groups = before_point = other_groups = in_front = behind = 0
    dollars: set[str] = set()
    for text in texts:
        # A line that ends with an amount says on which side of it the currency stands.
        in_front += _ENDS_WITH_AMOUNT.search(text) is not None
        behind += _ENDS_WITH_CURRENCY.search(text) is not None
        for match in _TOKEN.finditer(text):
            if (mark := _find_decimal_mark(match["number"])) and not _is_percent(text, match):
                marks[mark] += 1
            dollars |= _list_dollars(match)
            other_groups += _GROUPED_BY_MARK.fullmatch(match["number"]) is not None
        blank_groups += any("," in match[0] for match in _GROUPED_BY_BLANK.finditer(text))
        before_point += _GROUPED_BEFORE_POINT.search(text) is not None
    ranked = marks.most_common(2)
    is_clear = ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
    mark = ranked[0][0] if is_clear else None
    dollar = next(iter(dollars)) if len(dollars) == 1 and "USD" not in dollars else None
    may_have_blank_groups = (blank_groups > 0 and mark == ",") or (before_point > 0 and mark == ".")
    return NumberStyle(
        mark, may_have_blank_groups and not other_groups, in_front > behind, may_have_blank_groups, dollar
    )


def find_numbers(text: str, line: int, style: NumberStyle) -> Iterator[Number]:
    """The numbers of a masked text, from left to right."""
    if style.has_blank_groups:
        text = _GROUPED_BY_BLANK.sub(lambda match: match[0].replace(" ", "\u00a0"), text)
    for match, unit in _list_tokens(text, style):
        following = text[match.end("number") : match.end("number") + 1]
        if following.isalpha() and unit is None and not _IN_PENCE.match(text, match.end("number")):
            continue
        readings = tuple(_list_readings(match["number"], style.decimal_mark))
        if not readings:
            continue
        mark = _find_decimal_mark(match["number"], readings[0])
        yield Number(
            readings,
            match.start("number"),
            match.end() if unit or not match["unit"] else match.start("unit"),
            line,
            _name_currency(match["before"] or match["inner"] or unit, style.dollar),
            len(match["number"].rpartition(mark)[2]) if mark else 0,
            _is_percent(text, match),
            match["sign"] in ("-", "−", "–", "(") or match["after"] is not None,
        )


def _list_tokens(text: str, style: NumberStyle) -> Iterator[tuple[re.Match[str], str | None]]:
    """Each number with the currency behind it, None where that is the next number's."""
    place = 0
    while (match := _TOKEN.search(text, place)) is not None:
        is_of_next = match["unit"] and style.has_currency_in_front and _BEFORE_NUMBER.match(text, match.end())
        yield match, None if is_of_next else match["unit"]
        place = match.start("unit") if is_of_next else match.end()


def _is_percent(text: str, match: re.Match[str]) -> bool:
    return text[match.end("number") : match.end("number") + 2].lstrip().startswith("%")


def _find_decimal_mark(written: str, value: Decimal | None = None) -> str | None:
    """The decimal mark of a number, None where it has none or may have none."""
    separators = [letter for letter in written if letter in ".,"]
    if not separators:
        return None
    last = separators[-1]
    if len(set(separators)) == 2 or any(mark in written for mark in f"'’{_BLANKS}"):
        return last
    if len(separators) > 1:
        return None
    if len(written.rpartition(last)[2]) != 3 or written.startswith("0"):
        return last
    return last if value is not None and value != value.to_integral_value() else None


def _list_readings(written: str, decimal_mark: str | None) -> Iterator[Decimal]:
    plain = re.sub(rf"['’{_BLANKS}]", "", written)
    separators = re.findall(r"[.,]", plain)
    if len(separators) > 1 and len(set(separators)) == 1:
        if all(len(group) == 3 for group in re.split(r"[.,]", plain)[1:]):
            yield Decimal(re.sub(r"[.,]", "", plain))
        return
    if len(set(separators)) == 2:
        if separators.count(separators[-1]) == 1:
            yield Decimal(plain.replace(separators[0], "").replace(separators[-1], "."))
        return
    if not separators:
        yield Decimal(plain)
        return
    with_decimals = Decimal(plain.replace(separators[0], "."))
    whole, _, decimals = plain.partition(separators[0])
    if len(decimals) != 3 or whole == "0" or len(whole) > 3 or plain != written:
        yield with_decimals
        return
    thousands = Decimal(whole + decimals)
    yield from (with_decimals, thousands) if decimal_mark == separators[0] else (thousands, with_decimals)


def _list_dollars(match: re.Match[str]) -> set[str]:
    """The dollars that a number's currencies name, `$` alone none of them."""
    written = {match["before"], match["inner"], match["unit"]} - {"$", None}
    return {currency for one in written if (currency := _name_currency(one)) in DOLLARS}


def _name_currency(written: str | None, dollar: str | None = None) -> str | None:
    if written is None:
        return None
    if written == "$" and dollar is not None:
        return dollar
    return written if re.fullmatch(_CODES, written) else _SYMBOLS.get(written.lower())
