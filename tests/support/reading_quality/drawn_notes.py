"""Contract notes of our own making in seven languages and many layouts, with what is known of their trades.

A family is a language with one of two sets of words and a layout. The first set and the first layouts are what rules
are made on; the rest is left out. All names, numbers and accounts are made up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from reading_quality.note_words import NOTE_COUNTRIES, NoteCountry, NoteWords

_SECURITIES = (
    ("Northwind Turbines plc", "GB00BN7SWP63"),
    ("Alpine Dairy SE NA O.N.", "DE0008404005"),
    ("Meridian Global Equity UCITS ETF", "IE00B4L5YC18"),
    ("Lumen Optics Inc.", "US0378331005"),
)
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class DrawnNote:
    """`truth` has the shape of that of the samples."""

    family: str
    is_left_out: bool
    text: str
    truth: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """One trade, and how its country writes it."""

    country: NoteCountry
    words: NoteWords
    is_buy: bool
    security: tuple[str, str]
    traded: date
    quantity: Decimal
    price: Decimal
    fee: Decimal
    other_fee: Decimal
    tax: Decimal

    @property
    def gross(self) -> Decimal:
        return (self.quantity * self.price).quantize(_CENT)

    @property
    def settled(self) -> Decimal:
        costs = self.fee + self.other_fee + self.tax
        return self.gross + costs if self.is_buy else self.gross - costs

    @property
    def side(self) -> str:
        return self.words.sides[0 if self.is_buy else 1]

    @property
    def settled_word(self) -> str:
        return self.words.settled[0 if self.is_buy else 1]

    @property
    def settles(self) -> date:
        return self.traded + timedelta(days=2)

    def write(self, amount: Decimal, decimals: int | None = 2) -> str:
        group, point = self.country.style[1], self.country.style[5]
        written = f"{amount:,.{decimals}f}" if decimals is not None else f"{amount:,f}"
        return written.replace(",", "\0").replace(".", point).replace("\0", group)

    @property
    def units(self) -> str:
        return self.write(self.quantity, None)

    def money(self, amount: Decimal, decimals: int = 2) -> str:
        return f"{self.write(amount, decimals)} {self.country.currency}"

    def day(self, day: date) -> str:
        written = self.country.day.replace("d", f"{day.day:02d}").replace("m", f"{day.month:02d}")
        return written.replace("Y", str(day.year))

    def to_truth(self) -> dict[str, Any]:
        return {
            "direction": "buy" if self.is_buy else "sell",
            "trade_date": self.traded.isoformat(),
            "quantity": str(self.quantity.normalize()),
            "isin": self.security[1],
            "currency": self.country.currency,
            "settled_amount": f"{self.settled:.2f}",
            "gross_amount": f"{self.gross:.2f}",
            "fees": f"{self.fee + self.other_fee:.2f}",
            "taxes": f"{self.tax:.2f}",
            "wkn": None,
            "ticker": None,
        }


def draw_notes() -> Iterator[DrawnNote]:
    for number, country in enumerate(NOTE_COUNTRIES):
        for which, words in enumerate(country.words):
            for place, layout in enumerate(NOTE_LAYOUTS):
                is_left_out = which == 1 or place >= _LAYOUTS_WITH_RULES
                facts = make_facts(country, words, 1 + number * 11 + place * 3 + which * 2)
                family = f"{country.language}-{which + 1}-{layout.__name__.removeprefix('_lay_out_')}"
                yield DrawnNote(family, is_left_out, *layout(facts))


def make_facts(country: NoteCountry, words: NoteWords, seed: int) -> NoteFacts:
    quantity = (Decimal(7 + seed * 13), Decimal(1000 + seed * 250), Decimal("12.3456") + seed)[seed % 3]
    price = (Decimal("20.50") + seed * 3, Decimal("1.235") + seed % 4, Decimal("101.25") + seed)[seed % 3]
    has_tax = seed % 4 != 3
    return NoteFacts(
        country,
        words,
        seed % 2 == 1,
        _SECURITIES[seed % 4],
        date(2026, 1 + seed % 9, 13 + seed % 15),
        quantity,
        price,
        Decimal("4.95") + seed % 7,
        Decimal("1.50") if seed % 3 else Decimal(0),
        (quantity * price / 500).quantize(_CENT) if has_tax else Decimal(0),
    )


Drawn = tuple[str, Mapping[str, Any]]
_PRINTED = ("isin", "trade_date", "quantity", "currency", "settled_amount", "gross_amount")


def _finish(text: str, facts: Sequence[NoteFacts], *printed: str) -> Drawn:
    return text, {"trades": [fact.to_truth() for fact in facts], "printed": [*_PRINTED, *printed], "label": "trade"}


def _list_costs(facts: NoteFacts) -> list[tuple[str, Decimal]]:
    words = facts.words
    costs = [(words.fee, facts.fee), (words.other_fee, facts.other_fee), (words.tax, facts.tax)]
    return [(word, amount) for word, amount in costs if amount]


def _list_pairs(facts: NoteFacts) -> list[tuple[str, str]]:
    words, (name, isin) = facts.words, facts.security
    return [
        (words.side, facts.side),
        (words.name, name),
        (words.isin, isin),
        (words.traded, facts.day(facts.traded)),
        (words.settles, facts.day(facts.settles)),
        (words.quantity, facts.units),
        (words.price, facts.money(facts.price, 4)),
        (words.gross, facts.money(facts.gross)),
        *((word, facts.money(amount)) for word, amount in _list_costs(facts)),
        (facts.settled_word, facts.money(facts.settled)),
    ]


def _head(facts: NoteFacts) -> str:
    words = facts.words
    numbers = f"{words.reference}: 4711-{facts.quantity:.0f}\n{words.account}: 00123456\n"
    return f"Sample Bank\nHigh Road 9\n\n{words.title}\n{numbers}"


def _lay_out_beside(facts: NoteFacts) -> Drawn:
    rows = [f"{label}: {value}" for label, value in _list_pairs(facts)]
    return _finish("\n".join([_head(facts), *rows]), [facts], "fees", "taxes")


def _lay_out_table(facts: NoteFacts) -> Drawn:
    """Heads above one row, columns kept."""
    words, (name, isin) = facts.words, facts.security
    heads = [words.quantity, words.name, words.price, words.gross]
    row = [facts.units, name, facts.write(facts.price, 4), facts.write(facts.gross)]
    text = [
        _head(facts),
        f"{facts.side}    {words.traded} {facts.day(facts.traded)}    {words.settles} {facts.day(facts.settles)}",
        f"{words.isin} {isin}",
        _join(heads),
        _join(row),
        "",
        *(f"{word:<50}{facts.money(amount):>20}" for word, amount in _list_costs(facts)),
        f"{facts.settled_word:<50}{facts.money(facts.settled):>20}",
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


def _lay_out_collapsed(facts: NoteFacts) -> Drawn:
    """As a text layer without columns has it: single blanks, the currency in front."""
    words, (name, isin), code = facts.words, facts.security, facts.country.currency
    text = [
        _head(facts),
        f"{facts.side.upper()} {facts.day(facts.traded)} 10:31:07",
        f"{words.name} {words.isin}",
        f"{name} {isin}",
        f"{words.quantity} {words.price} {words.gross}",
        f"{facts.units} {code} {facts.write(facts.price, 3)} {code} {facts.write(facts.gross)}",
        *(f"{word} {code} {facts.write(amount)}" for word, amount in _list_costs(facts)),
        f"{facts.settled_word} {words.settles} {facts.day(facts.settles)} {code} {facts.write(facts.settled)}",
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


def _lay_out_below(facts: NoteFacts) -> Drawn:
    """Each label above its value, two side by side."""
    pairs = _list_pairs(facts)
    rows = []
    for start in range(0, len(pairs), 2):
        rows += [_join([label for label, _ in pairs[start : start + 2]], 40)]
        rows += [_join([value for _, value in pairs[start : start + 2]], 40)]
    return _finish("\n".join([_head(facts), *rows]), [facts], "fees", "taxes")


def _lay_out_told(facts: NoteFacts) -> Drawn:
    """A sentence says what was done; the amounts follow with leaders."""
    words, (name, isin) = facts.words, facts.security
    told = words.told[0 if facts.is_buy else 1].format(
        units=facts.units, name=name, price=facts.money(facts.price, 4), day=facts.day(facts.traded)
    )
    text = [
        _head(facts),
        told,
        f"{words.isin}: {isin}",
        "",
        *(
            f"{word} {'.' * 20} {facts.money(amount)}"
            for word, amount in [(words.gross, facts.gross), *_list_costs(facts)]
        ),
        f"{facts.settled_word} {'.' * 20} {facts.money(facts.settled)}",
        f"{words.settles} {facts.day(facts.settles)}",
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


def _lay_out_pairs(facts: NoteFacts) -> Drawn:
    """Two labels with their values in each line."""
    pairs = _list_pairs(facts)
    half = (len(pairs) + 1) // 2
    rows = []
    for number in range(half):
        cells = [f"{label}  {value}" for label, value in (pairs[number], *pairs[number + half : number + half + 1])]
        rows.append(_join(cells, 56))
    return _finish("\n".join([_head(facts), *rows]), [facts], "fees", "taxes")


def _lay_out_executions(facts: NoteFacts) -> Drawn:
    """One order that was filled in three parts, with a total."""
    words, (name, isin) = facts.words, facts.security
    first = (facts.quantity / 4).quantize(Decimal(1))
    parts = [first, first, facts.quantity - 2 * first]
    amounts = [(part * facts.price).quantize(_CENT) for part in parts[:2]]
    amounts.append(facts.gross - sum(amounts))
    text = [
        _head(facts),
        f"{words.side}: {facts.side}",
        f"{words.name}: {name}  {words.isin}: {isin}",
        f"{words.traded}: {facts.day(facts.traded)}",
        _join([words.quantity, words.price, words.gross]),
        *(
            _join([facts.write(part, None), facts.write(facts.price, 4), facts.write(amount)])
            for part, amount in zip(parts, amounts, strict=True)
        ),
        _join([facts.units, facts.write(facts.price, 4), facts.write(facts.gross)]),
        *(f"{word}: {facts.money(amount)}" for word, amount in _list_costs(facts)),
        f"{facts.settled_word}: {facts.money(facts.settled)}",
        f"{words.settles}: {facts.day(facts.settles)}",
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


def _lay_out_symbols(facts: NoteFacts) -> Drawn:
    """Symbols close to the amounts, labels in capitals with dashes; no word for the gross amount of a row."""
    words, (name, isin), symbol = facts.words, facts.security, facts.country.symbol
    text = [
        f"{words.title.upper()} - {facts.side.upper()}",
        f"{name} ({isin})",
        f"{words.traded.upper()} - {facts.day(facts.traded)}",
        f"{words.settles.upper()} - {facts.day(facts.settles)}",
        f"{words.quantity.upper()} - {facts.units}",
        f"{words.price.upper()} - {symbol}{facts.write(facts.price, 4)}",
        f"{words.gross.upper()} - {symbol}{facts.write(facts.gross)}",
        *(f"{word.upper()} - {symbol}{facts.write(amount)}" for word, amount in _list_costs(facts)),
        f"{facts.settled_word.upper()} - {symbol}{facts.write(facts.settled)}",
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


def _lay_out_plan(facts: NoteFacts) -> Drawn:
    """A savings plan: a row for each month's purchase, without words in the rows."""
    words, (name, isin) = facts.words, facts.security
    months = [
        NoteFacts(
            facts.country,
            words,
            facts.is_buy,
            facts.security,
            date(2026, month, 5),
            Decimal(units),
            facts.price + month,
            Decimal(0),
            Decimal(0),
            Decimal(0),
        )
        for month, units in ((1, "2.125"), (2, "2.075"), (3, "1.998"), (4, "2.031"))
    ]
    text = [
        _head(facts),
        f"{words.side}: {facts.side}",
        f"{words.name}: {name}  {words.isin}: {isin}",
        _join([words.traded, words.quantity, words.price, words.gross], 26),
        *(
            _join([month.day(month.traded), month.units, month.write(month.price, 4), month.money(month.gross)], 26)
            for month in months
        ),
    ]
    return _finish("\n".join(text), months)


def _lay_out_columns(facts: NoteFacts) -> Drawn:
    """One wide table with everything, figures aligned to the right under their heads."""
    words, (name, isin) = facts.words, facts.security
    costs = _list_costs(facts)
    heads = [words.quantity, words.price, words.gross, *(word for word, _ in costs), facts.settled_word]
    row = [
        facts.units,
        facts.write(facts.price, 4),
        *map(facts.write, (facts.gross, *(a for _, a in costs), facts.settled)),
    ]
    text = [
        _head(facts),
        f"{words.side}: {facts.side}  {words.traded}: {facts.day(facts.traded)}",
        f"{name}  {isin}  {facts.country.currency}",
        "".join(head.rjust(len(head) + 4) for head in heads),
        "".join(cell.rjust(len(head) + 4) for head, cell in zip(heads, row, strict=True)),
    ]
    return _finish("\n".join(text), [facts], "fees", "taxes")


NOTE_LAYOUTS: tuple[Callable[[NoteFacts], Drawn], ...] = (
    _lay_out_beside,
    _lay_out_table,
    _lay_out_collapsed,
    _lay_out_below,
    _lay_out_told,
    _lay_out_pairs,
    _lay_out_executions,
    _lay_out_plan,
    _lay_out_columns,
    _lay_out_symbols,
)
_LAYOUTS_WITH_RULES = 9


def _join(cells: Sequence[str], width: int = 34) -> str:
    return "".join(cell.ljust(width) for cell in cells).rstrip()
