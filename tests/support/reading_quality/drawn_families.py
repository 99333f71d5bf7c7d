"""Invoices of our own making in eleven languages: what the samples lack, and layouts that no rule was made on.

A family is a language with one of two sets of words and one of four layouts. Those of the second set, in the third and
fourth layout, are left out: only their sums are looked at while rules are made, never their pages. All names, numbers
and accounts are made up.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from reading_quality.drawn_countries import COUNTRIES, Country, Words

Amounts = tuple[Decimal, Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class DrawnInvoice:
    family: str
    is_left_out: bool
    text: str
    truth: Mapping[str, Any]


def draw_families() -> Iterator[DrawnInvoice]:
    for number, country in enumerate(COUNTRIES):
        for which, words in enumerate(country.words):
            for layout in LAYOUTS[2 * which : 2 * which + 2]:
                for copy in range(2):
                    yield _draw_invoice(country, words, layout, 1 + number * 4 + copy, is_left_out=which == 1)


def _draw_invoice(
    country: Country, words: Words, layout: Callable[["Facts"], str], seed: int, *, is_left_out: bool
) -> DrawnInvoice:
    net = Decimal(100 + seed * 137) + Decimal(seed * 7 % 100) / 100
    tax = (net * country.rate / 100).quantize(Decimal("0.01"))
    issued, due = date(2026, 1 + seed % 9, 13 + seed % 15), date(2026, 2 + seed % 9, 14 + seed % 13)
    facts = Facts(
        country, words, f"{country.language.upper()}-2026/{4100 + seed * 3}", issued, due, (net, tax, net + tax)
    )
    truth = {
        "document_type": "invoice",
        "supplier_name": country.supplier,
        "invoice_number": facts.number,
        "issue_date": issued.isoformat(),
        "due_date": due.isoformat(),
        "currency": country.currency,
        "total_net": f"{net:.2f}",
        "total_tax": f"{tax:.2f}",
        "total_gross": f"{net + tax:.2f}",
        "vat_id": country.vat_id,
        "iban": country.iban,
    }
    family = f"{country.language}-{layout.__name__.removeprefix('_lay_out_')}"
    return DrawnInvoice(family, is_left_out, layout(facts), truth)


@dataclass(frozen=True, slots=True)
class Facts:
    country: Country
    words: Words
    number: str
    issued: date
    due: date
    amounts: Amounts

    def write(self, amount: Decimal) -> str:
        """1234.50 as the country writes it: `1.234,50`, `1 234,50`, `1'234.50`, `1,234.50`."""
        group, point = self.country.style[1], self.country.style[5]
        return f"{amount:,.2f}".replace(",", "\0").replace(".", point).replace("\0", group)

    def day(self, day: date) -> str:
        written = self.country.day.replace("d", f"{day.day:02d}").replace("m", f"{day.month:02d}")
        return written.replace("Y", str(day.year))

    @property
    def foot(self) -> str:
        vat_id = f"{self.words.vat_id}: {self.country.vat_id}" if self.country.vat_id else ""
        iban = f"IBAN: {self.country.iban}" if self.country.iban else ""
        return f"{self.country.supplier}   {vat_id}   {iban}"


def _lay_out_beside(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    symbol = facts.country.symbol
    return f"""
{facts.country.supplier}
Example Street 4, 12345 Sampletown

{words.buyer}:
Northern Client
High Road 9

{words.title}
{words.number}:              {facts.number}
{words.issued}:              {facts.day(facts.issued)}
{words.due}:              {facts.day(facts.due)}

{words.item}                                      {words.amount}
Alpha 200                                         {facts.write(net)}

{words.net}                                       {facts.write(net)} {symbol}
{words.tax} {facts.country.rate} %                        {facts.write(tax)} {symbol}
{words.gross}                                     {facts.write(gross)} {symbol}

{facts.foot}
"""


def _lay_out_in_one_line(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    code = facts.country.currency
    return f"""
                                        {facts.country.supplier}
                                        Example Street 4
{words.title} {facts.number}

{words.issued} {facts.day(facts.issued)}    {words.due} {facts.day(facts.due)}
{words.buyer}: Northern Client

Alpha 200          {facts.write(net)}
{words.net}: {code} {facts.write(net)}
{words.tax} ({facts.country.rate}%): {code} {facts.write(tax)}
{words.gross}: {code} {facts.write(gross)}

{facts.foot}
"""


def _lay_out_above(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    cells = [words.number, words.issued, words.due]
    below = [facts.number, facts.day(facts.issued), facts.day(facts.due)]
    totals = [words.net, words.tax, words.gross]
    under = [facts.write(amount) for amount in (net, tax, gross)]
    return f"""
{facts.country.supplier}
{words.title}

{_join(cells)}
{_join(below)}

{words.buyer}
Northern Client

{words.item}                    {words.amount}
Alpha 200                       {facts.write(net)}

{_join(totals)}
{_join(under)}

{facts.country.currency}
{facts.foot}
"""


def _lay_out_with_leaders(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    return f"""
{facts.foot}

{words.buyer}                                {words.number}
Northern Client                              {facts.number}
High Road 9                                  {words.issued}
                                             {facts.day(facts.issued)}
                                             {words.due}
                                             {facts.day(facts.due)}
{words.title}

Alpha 200 ........................ {facts.write(net)}
{words.net} ...................... {facts.write(net)}
{words.tax} {facts.country.rate} % ...................... {facts.write(tax)}
{words.gross} {facts.country.currency} .................. {facts.write(gross)}
"""


LAYOUTS: tuple[Callable[[Facts], str], ...] = (
    _lay_out_beside,
    _lay_out_in_one_line,
    _lay_out_above,
    _lay_out_with_leaders,
)


def _join(cells: list[str]) -> str:
    return "".join(cell.ljust(28) for cell in cells).rstrip()
