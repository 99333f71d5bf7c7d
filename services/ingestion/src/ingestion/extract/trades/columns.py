"""A row of a table by its head: which of its numbers are quantity, price, amount, costs and what was settled.

A row that has its costs in columns of their own says nothing of them itself: `20 214.60 4,292.00 2.00`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from ingestion.domain.trade import Direction
from ingestion.extract.labels import match_any
from ingestion.extract.trades.currency_names import list_named
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import MAX_PROSE, LabelPlace, ReadLine, find_label_places
from ingestion.extract.trades.numbers import CURRENCIES, Number, compute_rounding
from ingestion.extract.trades.section_words import find_currency as find_section_currency

_CENT = Decimal("0.02")
_LEAST = Decimal("0.01")
_MAX_ROWS = 400  # below one head
_MAX_HEAD = 3  # lines
_LINES_OF_ROW = 3  # that a row may go on in
_MIN_HEADS = 3  # labels of numbers, or cells, of a line that is a head, though not that of a table that is understood
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
_SIGNS = {"€": "EUR", "£": "GBP", "$": "USD"}
_SIGN = re.compile(r"(?<![A-Z])[€£$]")
# Of a column of days: when it was ordered, booked or falls due. Beside it, which day is that of the trade is not known.
_OTHER_DAY = match_any(
    r"(?:order|entry|instruction|posting|booking|record|ex)[-\s]?(?:date|day)|date\s+(?:ordered|entered|posted|booked)|maturity|expir(?:y|ation|es)",
    r"(?:auftrags?|order|buchungs?)-?(?:datum|tag|eingang)|f[äa]llig(?:keit)?|laufzeit|verfall(?:s?(?:tag|datum))?|ex-?tag",
    r"date\s+(?:de\s+|d['’])(?:l['’])?(?:ordre|comptabilisation|op[ée]ration\s+comptable)|[ée]ch[ée]ance|fecha\s+(?:de\s+(?:la\s+)?)?(?:orden|contable)|vencimiento",
    r"data\s+(?:dell?['’]\s?|di\s+|da\s+|de\s+|do\s+)?(?:ordine|ordem|contabile|lan[çc]amento)|scadenza|vencimento|(?:opdracht|order|boekings?|verval)\s?datum",
)


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
        """Of its price and amounts; more than one where one of them is in another one."""
        named = {
            number.currency or currency
            for label, currency, number in self.numbers
            if label in _COSTS or label in (Label.PRICE, Label.GROSS, Label.SETTLED)
        }
        return {currency for currency in named if currency is not None}


@dataclass(frozen=True, slots=True)
class Columns:
    """`rows` by the index of their line; `with_costs` are all lines below a head that names costs, `currencies` what
    the head above a line names, and `with_other_days` those with two days below a head that names another than the
    trade's and the settlement's."""

    rows: Mapping[int, RowColumns]
    with_costs: frozenset[int]
    currencies: Mapping[int, frozenset[str]]
    with_other_days: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Head:
    columns: tuple[tuple[Label, str | None], ...]
    has_costs: bool
    currencies: frozenset[str]
    has_other_day: bool


def find_columns(lines: Sequence[ReadLine]) -> Columns:
    rows: dict[int, RowColumns] = {}
    with_costs: set[int] = set()
    with_other_days: set[int] = set()
    currencies: dict[int, frozenset[str]] = {}
    head: _Head | None = None
    section: frozenset[str] = frozenset()
    distance = 0
    for position, line in enumerate(lines):
        distance += 1
        if (found := _read_head(lines, position, head if distance <= _MAX_HEAD else None)) is not None:
            head, distance = found, 0
        if (of_section := find_section_currency(line.text)) is not None:
            section = frozenset({of_section})
        if section and line.numbers:
            currencies[line.index] = section
        if head is None or not line.numbers or distance > _MAX_ROWS:
            continue
        if head.has_costs:
            with_costs.add(line.index)
        if head.has_other_day and len(line.dates) > 1:
            with_other_days.add(line.index)
        currencies[line.index] = head.currencies or section
        if head.columns and len(line.numbers) >= len(head.columns):
            # The name of a security, which stands in front, may have numbers too.
            numbers = line.numbers[-len(head.columns) :]
            rows[line.index] = RowColumns(
                tuple(
                    (label, currency, number) for (label, currency), number in zip(head.columns, numbers, strict=True)
                )
            )
    return Columns(rows, frozenset(with_costs), currencies, frozenset(with_other_days))


def _read_head(lines: Sequence[ReadLine], position: int, above: _Head | None) -> _Head | None:
    """The head of a table that ends with this line, and may have begun up to two lines before; what a line below says
    that cannot be told to belong to a column takes away that the head is known: `Comm/` and below it `Fee`."""
    line = lines[position]
    if line.numbers or line.dates:
        return None
    for size in range(1, _MAX_HEAD + 1):
        part = lines[max(0, position - size + 1) : position + 1]
        if len(part) < size or any(other.numbers or other.dates for other in part):
            break
        is_known = size == 1 and len(line.text) <= MAX_PROSE
        if _are_one_head(part) and (columns := _list_heads(_merge_cells(part), line.labels if is_known else None)):
            return _build_head(columns, part)
    named = [place.label for place in line.labels if place.label in _COLUMNS]
    if above is not None and above.columns and named:
        has_costs = above.has_costs or any(label in _COSTS for label in named)
        has_other_day = above.has_other_day or _OTHER_DAY.search(line.text) is not None
        return _Head((), has_costs, above.currencies | _list_currencies(line.text), has_other_day)
    currencies = _list_currencies(line.text)
    is_row_of_cells = len(line.source.cells) >= _MIN_HEADS and len(named) > 1
    if len(named) >= _MIN_HEADS or (is_row_of_cells and currencies):
        has_other_day = _OTHER_DAY.search(line.text) is not None
        return _Head((), any(label in _COSTS for label in named), currencies, has_other_day)
    return None


def _build_head(columns: Sequence[tuple[Label, str | None]], part: Sequence[ReadLine]) -> _Head:
    currencies = frozenset(currency for line in part for currency in _list_currencies(line.text))
    has_other_day = _OTHER_DAY.search(_merge_cells(part)) is not None
    return _Head(tuple(columns), any(label in _COSTS for label, _ in columns), currencies, has_other_day)


def _are_one_head(part: Sequence[ReadLine]) -> bool:
    """Whether the lines stand above each other in columns: a lone cell below the first one begins something else."""
    if len(part) == 1:
        return True
    first = part[0].source.cells
    return len(first) > 1 and all(
        len(line.source.cells) > 1 or line.source.cells[0].left > first[0].right for line in part[1:]
    )


def _merge_cells(part: Sequence[ReadLine]) -> str:
    """The text of a head, each cell with what stands below it."""
    if len(part) == 1:
        return part[0].text
    columns: list[tuple[float, float, str]] = []
    for cell in (cell for line in part for cell in line.source.cells):
        for index, (left, right, text) in enumerate(columns):
            if min(cell.right, right) > max(cell.left, left):
                columns[index] = (min(left, cell.left), max(right, cell.right), f"{text} {cell.text}")
                break
        else:
            columns.append((cell.left, cell.right, cell.text))
    return "\t".join(text for _, _, text in sorted(columns))


def _list_heads(text: str, known: Sequence[LabelPlace] | None) -> list[tuple[Label, str | None]]:
    """The columns that have numbers, if the text is the head of a table of trades; `known` are its labels, if they were
    looked for."""
    named = list(find_label_places(text)) if known is None else known
    places = [place for place in named if place.label in _COLUMNS and not _is_said_again(place, named, text)]
    found = [place.label for place in places]
    amounts = [label for label in found if label in (Label.GROSS, Label.SETTLED)]
    if found.count(Label.QUANTITY) != 1 or found.count(Label.PRICE) != 1 or not amounts:
        return []
    if len(set(amounts)) < len(amounts):
        return []
    ends = [*(other.start for other in named), len(text)]
    return [
        (place.label, _find_currency(text[place.end : min(end for end in ends if end >= place.end)]))
        for place in places
    ]


def _is_said_again(place: LabelPlace, named: Sequence[LabelPlace], text: str) -> bool:
    """`Gebühr/ Spesen` in one cell is one column; without cells each is one."""
    before = (other for other in named if other.end <= place.start and other.label is place.label)
    return "\t" in text and any("\t" not in text[other.end : place.start] for other in before)


def _find_currency(text: str) -> str | None:
    return next(iter(_list_currencies(text)), None)


def _list_currencies(text: str) -> frozenset[str]:
    codes = {match[0] for match in _CODE.finditer(text) if match[0] in CURRENCIES}
    in_words = {code for named in list_named(_CODE.sub("", text)) if len(named) == 1 for code in named}
    return frozenset(codes | in_words | {_SIGNS[match[0]] for match in _SIGN.finditer(text)})


def list_currency_cells(line: ReadLine) -> set[str | None]:
    """The currencies that a row has in cells of their own."""
    return {cell.strip() for cell in line.text.split("\t") if cell.strip() in CURRENCIES}


def goes_on_with_costs(row: ReadLine, below: Sequence[ReadLine], gross: Decimal) -> bool:
    """Whether the lines directly below a row name what it cost, or what was paid: `Commission 9.95  Net 729.95`. Or one
    of them leads from its amount to another one: `Our charge 9.95, duty 3.60, you owe 733.55`."""
    for line in below[:_LINES_OF_ROW]:
        if line.dates or line.source.page != row.source.page:
            return False
        named = {place.label for place in line.labels}
        money = [number.value for number in line.numbers if number.is_money and number.value not in (0, gross)]
        if money and named & (_COSTS | {Label.SETTLED}):
            return True
        if any(abs(abs(paid - gross) - (sum(money) - paid)) < _LEAST for paid in money):
            return True
    return False


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
            if units and deviation <= _CENT + min(gross / 2000, compute_rounding(quantity, units, price, value)):
                yield _Reading(units, value, gross, settled, deviation)


def _list_amounts(row: RowColumns, costs: Decimal) -> Iterator[tuple[Decimal, Decimal]]:
    """Pairs of gross and settled amount; what is just called an amount may be either."""
    gross = [value for number in row.list_numbers(Label.GROSS)[:1] for value in number.readings]
    settled = [value for number in row.list_numbers(Label.SETTLED)[:1] for value in number.readings]
    if gross and settled:
        yield from (pair for pair in product(gross, settled) if abs(pair[0] + costs - pair[1]) <= _CENT)
        return
    yield from {(amount, amount + costs) for amount in gross} | {(amount - costs, amount) for amount in gross + settled}
