"""Other totals on a page than the one that was chosen: of the year, of the last invoice, of the order, of another
currency, of what a part is invoiced of. They add up as well, so their sum says nothing of which is the invoice's."""

import re
from collections.abc import Container, Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.cash_discounts import CASH_DISCOUNT
from ingestion.extract.amounts.labelled_amounts import list_row_amounts, read_money
from ingestion.extract.amounts.part_payments import is_final_invoice, is_part_payment, is_part_row
from ingestion.extract.amounts.sum_rows import CENT, SumRow, list_sum_rows
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.titles import title_words

_FRACTION = re.compile(r"(?<![\d.,/])(\d{1,3})\s?(?:/|[^\W\d]{1,4})\s?(\d{1,4})(?![\d.,/])")
_BLOCK_LINES = 5  # from its net amount to its total: several rates stand between
_MAX_RIVALS = 8  # of which some may be the rates of one total


def has_rival_totals(page: Sequence[TextLine], gross: Decimal) -> bool:
    """Whether nobody can tell that this total is the invoice's."""
    if _states_share(page, gross):
        return True
    blocks, rows = ({abs(other) for other in others} - {abs(gross)} for others in _list_others(page, gross))
    # Of what gives back, blocks may be what was before, what is now, and what they differ by.
    if blocks and _gives_back(page):
        return True
    others = blocks | rows
    return bool(others) and not _belong_together(page, abs(gross), sorted(others)[:_MAX_RIVALS])


def _list_others(page: Sequence[TextLine], gross: Decimal) -> tuple[list[Decimal], list[Decimal]]:
    """Totals below their net and tax, and totals beside them."""
    blocks = [
        total
        for index, line in enumerate(page)
        if _list_taxes(line) and not (index and _list_taxes(page[index - 1]))
        for total in _list_totals_around(page, index)
    ]
    rows = list_sum_rows(page)
    is_named = any(row.is_named and row.gross == gross for row in rows)
    is_row = not is_named and any(row.gross == gross for row in rows)
    return blocks, [row.gross for row in rows if not _is_position(row)] if is_row else []


def _gives_back(page: Sequence[TextLine]) -> bool:
    words = (title_words.CORRECTION_WORD, title_words.CREDIT_WORD, title_words.REVERSAL_WORD)
    return any(word.search(cell.text) for word in words for line in limit_to_head(page) for cell in line.cells)


def _is_position(row: SumRow) -> bool:
    return not row.label or labels.DESCRIPTION.search(row.label) is not None


def _list_totals_around(page: Sequence[TextLine], index: int) -> Iterator[Decimal]:
    """What the row behind some rows of taxes has in each of its columns, where the row above them makes it."""
    above = next((found for line in page[max(0, index - 2) : index][::-1] if (found := _list_columns(line))), [])
    taxes: list[list[Decimal]] = []
    for line in page[index : index + _BLOCK_LINES]:
        if found := _list_taxes(line):
            taxes.append(found)
        elif ends := _list_columns(line):
            sums = [net + sum(column, Decimal(0)) for net, *column in zip(above, *taxes, strict=False)]
            yield from (end for end, total in zip(ends, sums, strict=False) if abs(end - total) <= CENT)
            return


def _list_taxes(line: TextLine) -> list[Decimal]:
    is_tax = tax_labels.TOTAL_TAX.search(line.text) and not tax_labels.NOT_A_TAX_AMOUNT.search(line.text)
    return _list_columns(line) if is_tax else []


def _list_columns(line: TextLine) -> list[Decimal]:
    return [amount for cell in line.cells if (amount := read_money(cell)) is not None]


def _belong_together(page: Sequence[TextLine], gross: Decimal, others: Sequence[Decimal]) -> bool:
    """Whether others are parts of this total that make it, or were taken off it and the page prints the rest."""
    sums = {sum(some, Decimal(0)) for size in range(2, len(others) + 1) for some in combinations(others, size)}
    if any(abs(total - gross) <= CENT for total in sums):
        return True
    printed = {abs(amount) for line in page for amount in values.find_money(line.text)}
    return all(other < gross and gross - other in printed for other in others)


def _states_share(page: Sequence[TextLine], gross: Decimal) -> bool:
    """Whether a row below the total states a share of it that may be what is invoiced: `This stage 30 %  1,800.00`."""
    ends = [number for number, line in enumerate(page) if gross in list_row_amounts(line)]
    if not ends or gross <= 0:
        return False
    is_part = _is_part_by_title(page)
    printed = {abs(amount) for line in page for amount in values.find_money(line.text)}
    below = page[ends[0] + 1 :]
    # Of a plan all parts are printed: then the total is what is asked, though not at once.
    is_fraction = sum(_is_fraction(line, gross) for line in below) == 1
    if _states_instalment(page, below, gross):
        return True
    return is_fraction or any(_is_share(line, gross, printed, is_part=is_part) for line in below)


# A premium of a year is paid in parts, of which one is invoiced.
_PERIODIC = labels.match_any(
    r"\b(?:(?:viertel|halb)?jährlich|monatlich|quarter\w*|half-?yearly|monthly|instal?ments?|(?:tri|se)mestr\w*|mensu\w+|mensil\w*|mensal\w*"
    r"|(?:kwart|maand)\w*|kwarta\w*|miesięczn\w*|čtvrtlet\w*|pololet\w*|měsíč\w*|(?:halv|kvart)\w*|månad\w*|måned\w*|raten?(?:zahlung)?)\b"
)
_PARTS_OF_YEAR = (2, 4, 12)


def _states_instalment(page: Sequence[TextLine], below: Sequence[TextLine], gross: Decimal) -> bool:
    """Whether a half, a quarter or a twelfth of the total stands below it, and the page speaks of such parts, or the
    row of a premium. Of a plan all parts are printed. With a surcharge for paying in parts, or for a part of a year, no
    fraction is left: beside a premium any smaller amount of a part or a period counts."""
    if any(_PREMIUM.search(line.text) for line in page[: len(page) - len(below)]):
        asked = [amount for line in below for amount in _list_asked(line, gross)]
        if asked and sum(asked) != gross:
            return True
    is_periodic = any(_PERIODIC.search(line.text) for line in page)
    rows = [line for line in below if is_periodic or _PREMIUM.search(line.text)]
    return any(0 < sum(_is_part_of(line, gross, parts) for line in rows) < parts for parts in _PARTS_OF_YEAR)


def _list_asked(line: TextLine, gross: Decimal) -> list[Decimal]:
    """The one amount of a row that names a premium, a part of it, or a period."""
    amounts = list_row_amounts(line)
    if len(amounts) != 1 or not 0 < amounts[0] < gross or tax_labels.TAX_WORD.search(line.text):
        return []
    is_part = any(word.search(line.text) for word in (_PERIODIC, _PREMIUM)) or len(values.find_dates(line.text)) > 1
    return amounts if is_part else []


def _is_part_of(line: TextLine, gross: Decimal, parts: int) -> bool:
    amounts = list_row_amounts(line)
    if len(amounts) != 1 or tax_labels.TAX_WORD.search(line.text):
        return False
    return abs(gross - amounts[0] * parts) < CENT + parts * _HALF_CENT


_PREMIUM = labels.match_any(
    r"\b(?:\w{0,16}(?:beitrag|prämie)|premium|primes?|primas?|premio|prémio|premie|sk[łl]adka|pojistné|præmie)\b"
)
_HALF_CENT = Decimal("0.005")


def _is_fraction(line: TextLine, gross: Decimal) -> bool:
    """`Deres andel (1/8)  156,25`, `Termijn 1 van 4  302,50`."""
    amounts = list_row_amounts(line)
    if not amounts or not 0 < amounts[-1] < gross:
        return False
    fractions = ((int(match[1]), int(match[2])) for match in _FRACTION.finditer(line.text))
    return any(
        part < whole and abs(gross * counted / whole - amounts[-1]) <= CENT
        for part, whole in fractions
        for counted in (1, part)
    )


def _is_share(line: TextLine, gross: Decimal, printed: Container[Decimal], *, is_part: bool) -> bool:
    amounts = list_row_amounts(line)
    if not amounts or not 0 < amounts[-1] < gross or tax_labels.TAX_WORD.search(line.text):
        return False
    if gross - amounts[-1] in printed and not _INVOICED_NOW.search(line.text):
        return False  # it was taken off
    if any(label.search(line.text) for label in _TAKEN_OR_GRANTED):
        return False
    if is_part and is_part_row(line.cells[0].text):
        return True
    if is_part and labels.TOTAL_GROSS.search(line.text):
        return False
    rates = values.find_rates(line.text)
    return any(abs(gross * rate / 100 - amounts[-1]) <= CENT for rate in rates)


_INVOICED_NOW = labels.match_any(
    r"\b(?:invoiced|billed)\s+now\b|\bnow\s+(?:invoiced|billed)\b|\b(?:jetzt|hiermit)\s+berechnet\b|\bfacturée?\s+ce\s+jour\b"
    r"|\bnu\s+te\s+factureren\b|\bfacturado\s+ahora\b|\bfatturato\s+ora\b|\bfaturado\s+agora\b|\bfaktureres\s+nu\b|\bfaktureras\s+nu\b"
)
_TAKEN_OR_GRANTED = (
    change_labels.DISCOUNT,
    change_labels.FOR_EARLY_PAYMENT,
    change_labels.WITHHELD,
    change_labels.CREDITED,
    change_labels.ADDED,
    CASH_DISCOUNT,
)


def _is_part_by_title(page: Sequence[TextLine]) -> bool:
    head = limit_to_head(page)
    titles = [
        cell.text for line in head for cell in line.cells if labels.HEADLINE.match(cell.text) or is_part_row(cell.text)
    ]
    return any(map(is_part_payment, titles)) and not is_final_invoice(head)
