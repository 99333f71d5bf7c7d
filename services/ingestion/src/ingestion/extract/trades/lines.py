"""The lines of a document with what a reader of trades looks for: its labels, numbers and dates, and their places."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum, auto
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.trades.labels import LABELS_OF_NUMBERS, Label, find_labels
from ingestion.extract.trades.numbers import CURRENCIES, Number, NumberStyle, determine_style, find_numbers, mask_codes

MAX_LINES = 1500
_MAX_LINE = 400  # letters
MAX_PROSE = 110  # letters; a longer line without money is a sentence of the terms
_MAX_SENTENCE = 140  # letters of a line that may say which way a trade goes
_NEXT_WORD = 6  # letters: `: ` or ` per ` between a label and its date
_MIN_HEADS = 4  # cells or labels of a line from which on it is the head of a table
_LABELS_OF_SHORT_HEAD = 2
_WORDS_OF_SHORT_HEAD = 8
_MAX_NUMBERS = 40  # of a line
_MIN_HEADS_AROUND_NAME = 3
_MAX_ROWS_BELOW = 6  # of a table's head and its first row
_MAX_ROWS_BELOW_HEADS = 2  # where columns are lost


@dataclass(frozen=True, slots=True)
class LabelPlace:
    label: Label
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DatePlace:
    date: date
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadLine:
    """`masked` is the text without dates, times and numbers of other things; `offsets` are the places of its cells."""

    index: int
    text: str
    masked: str
    source: TextLine
    labels: tuple[LabelPlace, ...]
    numbers: tuple[Number, ...]
    dates: tuple[DatePlace, ...]

    def locate(self, place: int) -> float:
        """How far to the right of its page a letter of the line stands, in points, about."""
        start = 0
        for cell in self.source.cells:
            if place <= start + len(cell.text):
                return cell.left + (cell.right - cell.left) * (place - start) / max(len(cell.text), 1)
            start += len(cell.text) + 1
        return self.source.cells[-1].right


class BlankGroups(Enum):
    """Where a blank between digits is taken for a mark of thousands: `1 234,50`.

    Where columns are lost `12 171,50` may be two numbers of a row; behind a label it is one.
    """

    NOWHERE = auto()
    BEHIND_LABELS = auto()
    EVERYWHERE = auto()


def read_lines(
    page: Sequence[TextLine], day_first: bool | None, blank_groups: BlankGroups | None = None
) -> tuple[list[ReadLine], BlankGroups | None]:
    """The lines, and how else their blanks may be meant; without `blank_groups` as the document says."""
    # Between cells no blank parts the thousands of a number: `13` and `142,25` side by side are two.
    texts = ["\t".join(cell.text for cell in line.cells)[:_MAX_LINE] for line in page[:MAX_LINES]]
    masked = [mask_codes(text) for text in texts]
    style = determine_style(masked)
    other = BlankGroups.BEHIND_LABELS if style.has_blank_groups else BlankGroups.EVERYWHERE
    if blank_groups is None:
        blank_groups = BlankGroups.EVERYWHERE if style.has_blank_groups else BlankGroups.NOWHERE
    in_rows = replace(style, has_blank_groups=blank_groups is BlankGroups.EVERYWHERE)
    labelled = replace(style, has_blank_groups=blank_groups is not BlankGroups.NOWHERE)
    named = [list(find_labels(text)) for text in texts]
    lines = [
        _read_line(
            index,
            texts[index],
            masked[index],
            line,
            labelled if _has_label(named[index]) else in_rows,
            day_first,
            named[index],
        )
        for index, line in enumerate(page[:MAX_LINES])
    ]
    return lines, other if style.may_have_blank_groups else None


def _has_label(named: Iterable[re.Match[str]]) -> bool:
    return any(match.lastgroup in LABELS_OF_NUMBERS for match in named)


def _read_line(
    index: int,
    text: str,
    masked: str,
    line: TextLine,
    style: NumberStyle,
    day_first: bool | None,
    named: Iterable[re.Match[str]],
) -> ReadLine:
    numbers = tuple(islice(find_numbers(masked, index, style), _MAX_NUMBERS))
    numbers = tuple(_name_currency(numbers, text))
    dates = tuple(_find_dates(text, day_first))
    is_prose = len(text) > MAX_PROSE and len(line.cells) < _MIN_HEADS and not any(number.is_money for number in numbers)
    labels = tuple(_list_label_places(text, named))
    if is_prose:
        labels = tuple(place for place in labels if _is_settlement_day(place, dates))
    return ReadLine(index, text, masked, line, labels, numbers, dates)


def _name_currency(numbers: Sequence[Number], text: str) -> Iterator[Number]:
    """With the currency that stands in what a number is called: `Kurs USD: 214,60`, `Price (USD): 214.60`."""
    end = 0
    for number in numbers:
        called = _CALLED_IN.search(text, end, number.start) if number.currency is None else None
        is_currency = called is not None and called[1] in CURRENCIES and not number.is_percent
        yield replace(number, currency=called[1]) if called is not None and is_currency else number
        end = number.end


_CALLED_IN = re.compile(r"[^\W\d_]\.?\s?\(?(?:in\s)?\b([A-Z]{3})(?:\)\s?:?|\s?:)\s{0,20}$")


def _is_settlement_day(place: LabelPlace, dates: Sequence[DatePlace]) -> bool:
    """`… buchen wir mit Wertstellung 19.01.2026 zu Lasten …`: what a sentence may say."""
    return place.label is Label.SETTLEMENT_DATE and any(
        place.end <= found.start <= place.end + _NEXT_WORD for found in dates
    )


def find_label_places(text: str) -> Iterator[LabelPlace]:
    return _list_label_places(text, find_labels(text))


def _list_label_places(text: str, named: Iterable[re.Match[str]]) -> Iterator[LabelPlace]:
    label: Label | None = None
    label_end = 0  # of the label before
    cost_end: int | None = None  # of the cost or interest that was named last
    for match in named:
        before = text[max(0, match.start() - 30) : match.start()] if match.lastgroup == Label.TAX else ""
        if label is Label.FEE and _EXCLUDING.search(before):
            continue  # `Commission (excl. VAT)`
        if _INCLUDING.search(before) or _BEFORE_OR_AFTER.search(before) or (_AND.search(before) and label is Label.FEE):
            continue  # `Brokerage incl. VAT` and `Fee & GST` are fees, `to your debit before taxes` what was settled
        if cost_end is not None and _is_of_cost(text, cost_end, match):
            continue
        if label in _DATED and _IN_BRACKETS.fullmatch(text, label_end, match.start()) and ")" in text[match.end() :]:
            continue  # `Fecha de la operación (valor liquidativo)`
        cost_end = match.end() if match.lastgroup in _COSTS else None
        label, label_end = Label(match.lastgroup or ""), match.end()
        yield LabelPlace(label, match.start(), match.end())


def _find_dates(text: str, day_first: bool | None) -> Iterator[DatePlace]:
    for match, written in values.match_dates(text):
        if (found := written.resolve_date(day_first=day_first)) is not None:
            yield DatePlace(found, match.start(), match.end())


def _is_of_cost(text: str, cost_end: int, match: re.Match[str]) -> bool:
    """`Provision 1,1 % vom Kurswert 57,32`, `Imposta su rateo`: what a cost was computed from. `Rateo interessi lordo`:
    of which kind it is. In the head of a table each is a column."""
    between = text[cost_end : match.start()]
    is_base = _BASE_OF_COST.fullmatch(between) is not None
    is_kind = _ONE_WORD.fullmatch(between) is not None and _KIND_OF_COST.fullmatch(match[0]) is not None
    return (is_base or is_kind) and re.search(r"\d", text[match.end() :]) is not None


_COSTS = frozenset({Label.FEE, Label.TAX, Label.INTEREST})
_BASE_OF_COST = re.compile(
    r"(?: [^\W\d_]{1,20})?[ (]{1,3}(?:\d{1,3}(?:[.,]\d{1,6})? ?[%‰] )?"
    r"(?:(?:v(?:om|on)|auf|aus|of|on|sur|su[il]?|sull[ae']|sobre|over|op|van|do|da|af|av) |s/ ?)"
    r"(?:(?:the|den|dem|der|die|le|la|les|el|los|lo|il|i|o|a|het|de) )?",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(r"(?: [^\W\d_]{1,20})?[ (]{1,3}")
_KIND_OF_COST = re.compile(r"brutt?o|brute?s?|lord[oiae]|gross|nett?[oiae]?s?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r" {0,2}\([^()\d]{0,30}")
_AND = re.compile(r"[^\W\d_]\s?(?:&|\+|plus)\s{0,2}$", re.IGNORECASE)
_INCLUDING = re.compile(
    r"\b(?:inc|incl|inkl|including|inklusive|inclus\w*|comprensiv\w*|enthalten\w*|inclu[ií]\w*)\.?\s*(?:\d{1,2}(?:[.,]\d)?\s?%\s*)?$",
    re.IGNORECASE,
)


_EXCLUDING = re.compile(
    r"\(?\b(?:exc|excl|exkl|excluding|exklusive|ohne|without|w/o|before|plus|hors|sin|senza|esclus[ao]|zonder|sem|uden|utan|uten|bez|zzgl)\.?\s*(?:\d{1,2}(?:[.,]\d)?\s?%\s*)?$",
    re.IGNORECASE,
)
_BEFORE_OR_AFTER = re.compile(
    r"\b(?:vor|nach|before|after|avant|apr[èe]s|antes\s+de|despu[ée]s\s+de|prima\s+(?:del?l?[ea]|di)|dopo|voor|antes\s+d[eo]s?)\s+$",
    re.IGNORECASE,
)


def is_long_sentence(line: ReadLine) -> bool:
    """Longer than what says something of a trade; a row of a table may be as long."""
    return len(line.text) > _MAX_SENTENCE and len(line.source.cells) < _MIN_HEADS


def list_numbers_at(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> list[Number]:
    """The numbers that a label speaks of: behind it up to the next label, else below it."""
    return _list_numbers_behind(line, place) or _list_numbers_below(lines, line, place)


def _list_numbers_behind(line: ReadLine, place: LabelPlace) -> list[Number]:
    """Up to the next label, but over that of a date: `Total due  Value date 19/01/2026  209.95`.

    What was set off before or after a trade, and what it was computed from, is nothing that its labels say.
    """
    if any(
        other.end <= place.start
        and _SET_OFF.match(line.text, other.start)
        and not any(other.end <= number.start < place.start for number in line.numbers)
        for other in line.labels
    ):
        return []
    end = _find_next_label(line, place, over=frozenset() if place.label in _DATED else _DATED)
    return [number for number in line.numbers if place.end <= number.start < end]


def list_dates_at(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> list[date]:
    end = _find_next_label(line, place)
    if behind := [found.date for found in line.dates if place.end <= found.start < end]:
        return behind
    dated = [other for other in line.labels if other.label in _DATED]
    is_head = _is_head(line) or len(dated) > 1
    is_head = is_head or not re.search(r"\w", list_words_behind(line, place))
    if line.dates or line.numbers or not is_head:
        return []
    return _list_dates_below(lines, line, place)


def _list_dates_below(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> list[date]:
    """By the order of the heads where a row has as many dates; else what stands in the column, if columns are left."""
    heads = [other for other in line.labels if other.label in _DATED]
    for below in _list_lines_below(lines, line):
        if not below.dates:
            continue
        if len(below.dates) == len(heads) > 1 and place in heads:
            return [below.dates[heads.index(place)].date]
        at = line.locate(place.start)
        nearest = min(below.dates, key=lambda found: abs(below.locate(found.start) - at))
        if len(below.source.cells) == 1 or _is_below(line, place, below, nearest):
            return [nearest.date]
    return []


def _is_head(line: ReadLine) -> bool:
    """Of a table: many labels, or two and few words besides."""
    is_short = len(line.labels) >= _LABELS_OF_SHORT_HEAD and len(line.text.split()) <= _WORDS_OF_SHORT_HEAD
    return len(line.labels) >= _MIN_HEADS or (is_short and not line.text.endswith("."))


def _is_below(line: ReadLine, place: LabelPlace, below: ReadLine, found: DatePlace) -> bool:
    left, right = line.locate(place.start), line.locate(place.end)
    start, end = below.locate(found.start), below.locate(found.end)
    return min(end, right) - max(start, left) > -max(right - left, end - start) / 2


def list_places(lines: Sequence[ReadLine], label: Label) -> Iterator[tuple[ReadLine, LabelPlace]]:
    return ((line, place) for line in lines for place in line.labels if place.label is label)


def list_words_behind(line: ReadLine, place: LabelPlace) -> str:
    return " ".join(get_text_behind(line, place).split()).strip(" :#.()")


def get_text_behind(line: ReadLine, place: LabelPlace) -> str:
    """Up to the next label, its cells parted by tabs."""
    return line.text[place.end : _find_next_label(line, place)]


def _find_next_label(line: ReadLine, place: LabelPlace, over: Container[Label] = ()) -> int:
    return next(
        (other.start for other in line.labels if other.start >= place.end and other.label not in over),
        len(line.text) + 1,
    )


_SET_OFF = re.compile(
    r"verrechnungstopf|bemessung|berechnung|sparerpausch|freistellung|freibetrag|verlust|gewinn", re.IGNORECASE
)
_DATED = frozenset({Label.TRADE_DATE, Label.SETTLEMENT_DATE})


def _list_numbers_below(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> list[Number]:
    """By the order of a table's heads, where a row has as many numbers; else what stands in the column; else, for a
    lone label, what begins the next line."""
    if any(n.start >= place.end or n.is_money for n in line.numbers):
        return []  # no head of a table: it has values itself
    heads = [other for other in line.labels if other.label in LABELS_OF_NUMBERS]
    below = [row for row in _list_lines_below(lines, line) if not _has_labels_of_its_own(row, place.label)]
    if len(heads) >= 2:
        for row in below:
            if len(row.numbers) == len(heads):
                return [row.numbers[heads.index(place)]] if place in heads else []
            if place in heads and (found := _find_around_name(line, place, heads, row)) is not None:
                return [found]
        has_columns = len(line.source.cells) >= len(heads)
        return _list_column(line, place, below) if has_columns else _list_by_ends(line, place, heads, below)
    is_alone = not re.search(r"\w", list_words_behind(line, place))
    if not is_alone or not below or not below[0].numbers or (below[0].labels and below[0].labels[0].start == 0):
        return []
    return list(below[0].numbers)


def _find_around_name(line: ReadLine, place: LabelPlace, heads: Sequence[LabelPlace], row: ReadLine) -> Number | None:
    """`Quantity  Security  Price  Amount` over `132.00 Ordinary Shares 1p 752.896 993.82`: the name has numbers too."""
    names = [other for other in line.labels if other.label is Label.NAME]
    if len(names) != 1 or len(row.numbers) <= len(heads) or row.numbers[0].start > 0:
        return None
    in_front = [head for head in heads if head.start < names[0].start]
    position = heads.index(place)
    if len(in_front) != 1 or in_front[0].label is not Label.QUANTITY or len(heads) < _MIN_HEADS_AROUND_NAME:
        return None
    return row.numbers[0] if position == 0 else row.numbers[position - len(heads)]


def _has_labels_of_its_own(row: ReadLine, label: Label) -> bool:
    """Whether the amounts of a row are what its own labels say: then they are nothing that stands above."""
    return any(
        own.label in LABELS_OF_NUMBERS
        and own.label is not label
        and not _is_unit(row, own)
        and _list_numbers_behind(row, own)
        for own in row.labels
    )


def _is_unit(row: ReadLine, own: LabelPlace) -> bool:
    """`132.00 Ordinary Shares 1p`: what the row begins with is counted in them."""
    is_counted = own.label is Label.QUANTITY and bool(row.numbers) and row.numbers[0].start == 0
    return is_counted and not row.text[own.end :].lstrip().startswith(":")


def _list_column(line: ReadLine, place: LabelPlace, below: Sequence[ReadLine]) -> list[Number]:
    left, right = line.locate(place.start), line.locate(place.end)
    for row in below:
        for number in row.numbers:
            if min(row.locate(number.end), right) - max(row.locate(number.start), left) > 0:
                return [number]
    return []


def _list_by_ends(
    line: ReadLine, place: LabelPlace, heads: Sequence[LabelPlace], below: Sequence[ReadLine]
) -> list[Number]:
    """Where columns are lost and some of them are empty: the first head's and the last one's are the numbers at the
    ends of a row of amounts, in which the others are looked for between them."""
    for row in below[:_MAX_ROWS_BELOW_HEADS]:
        numbers = row.numbers
        if not 1 < len(numbers) < len(heads) or not all(number.is_money for number in numbers):
            continue
        if place in (heads[0], heads[-1]):
            return [numbers[0 if place is heads[0] else -1]]
        return _list_column(line, place, [replace(row, numbers=numbers[1:-1])])
    return _list_column(line, place, below)


def _list_lines_below(lines: Sequence[ReadLine], line: ReadLine) -> Iterator[ReadLine]:
    position = line.index - lines[0].index
    for below in lines[position + 1 : position + 1 + _MAX_ROWS_BELOW]:
        if below.source.page == line.source.page:
            yield below
