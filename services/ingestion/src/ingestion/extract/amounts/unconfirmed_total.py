"""A total that net and tax do not make: believed only where nothing on the page speaks of another one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_labelled_ends, list_row_amounts
from ingestion.extract.amounts.sum_rows import CENT
from ingestion.extract.amounts.whole_amounts import WITHOUT_CENTS
from ingestion.extract.titles import kind_words, title_words

# What lessens the total itself, or hardly.
_NO_DEDUCTION = (change_labels.DISCOUNT, change_labels.ROUNDING, change_labels.CHARGE)
# What is owed from before, or new in this invoice: then the sum of both is no total of it, however it is called.
_BEFORE_OR_NEW = labels.match_any(
    r"\bopenstaand|\bem\s+dívida|\bobetal|\boffene?\s+posten|\bunpaid|\boutstanding|\bimpay|\bpendient|\binsolut|\bzaległ|\bdluž|\bubetalt|\brestance"
    r"|\bprevious|\bvorig|\banterior|\bprécéd|\bpreced|\bpoprzed|\bpředchoz|\bforrige|\btidig|\bföreg",
    rf"\b(?:this|dies\w{{1,2}}|deze|cette|est[ae]|quest[ao]|desta|tej|tato|tuto|denn[ae])\s+{labels.DOCUMENT}",
    r"\b(?:new|neue[rn]?|nieuwe|nouve\w{1,4}|nuev[oa]s?|nuov[oaei]|novas?|now[ea]|nov[éá]|nye|nya)\s+(?:charges|items|leistung\w{0,2}|posten|kosten|frais|cargos|consum\w{1,3}|addebiti|encargos|opłaty|poplatky|ydelser|avgifter)",
)
_MAX_ROWS = 200  # in front of a total
_MAX_DEDUCTIONS = 40  # each is taken off each total


def list_deductions(page: Sequence[TextLine]) -> list[Decimal]:
    """What is taken off the total before it is paid, without signs: by what it is called, or by its minus."""
    named = [abs(amount) for label in change_labels.TAKEN_OFF for amount in list_labelled_ends(page, label)]
    return list(dict.fromkeys([*named, *(-amount for amount in _list_minuses(page))]))[:_MAX_DEDUCTIONS]


def _list_minuses(page: Sequence[TextLine]) -> Iterator[Decimal]:
    for line in page:
        ends = [found[-1] for cell in line.cells if (found := values.find_money(cell.text))]
        if ends and ends[-1] < 0 and not _is_any(_NO_DEDUCTION, line):
            yield ends[-1]


def is_doubtful(page: Sequence[TextLine], gross: Decimal, nets: Sequence[Decimal], taxes: Sequence[Decimal]) -> bool:
    """Whether the page's own amounts speak against a total: it may be what is left of one, or more than one."""
    changes = _list_changes_of_net(page)
    own = [net for net in nets if net and abs(net - gross) > CENT]
    if taxes and own and not any(abs(net + change - gross) <= CENT for net in own for change in changes):
        return True
    given_back = set(_list_given_back(page, gross))
    amounts = {abs(amount) for line in _drop_other_style(page, gross) for amount in list_row_amounts(line)}
    if any(amount > abs(gross) + CENT and amount - abs(gross) not in given_back for amount in amounts):
        return True
    planned = _list_instalments(page, gross)
    taken = [part for part in list_deductions(page) if part not in given_back and part not in planned]
    patterns = (change_labels.ADDED, title_words.CREDIT_WORD, _BEFORE_OR_NEW)
    others = [part for pattern in patterns for part in list_labelled_ends(page, pattern)]
    return any(0 < part < abs(gross) for part in (*taken, *others)) or _is_left_of_rows(page, gross)


def _drop_other_style(page: Sequence[TextLine], gross: Decimal) -> list[TextLine]:
    """The page without whole amounts, if its total has cents: `Selbstbeteiligung 500 €` is no total then."""
    cells = [cell for line in page for cell in line.cells if WITHOUT_CENTS not in cell.text]
    if not any(gross in values.find_money(cell.text) for cell in cells):
        return list(page)
    written = [
        replace(line, cells=tuple(cell for cell in line.cells if WITHOUT_CENTS not in cell.text)) for line in page
    ]
    return [line for line in written if line.cells]


def _list_instalments(page: Sequence[TextLine], gross: Decimal) -> list[Decimal]:
    """What is due by and by (`Anzahlung fällig bis 16.11.2026`, `Restzahlung fällig bis 09.01.2027`), if it makes the
    total: then nothing of it is taken off."""
    rows = [line.text for line in page if _PLANNED.search(line.text) and values.find_dates(line.text)]
    ends = [found[-1] for text in rows if (found := values.find_money(text))]
    return ends if len(ends) > 1 and sum(ends, Decimal(0)) == gross else []


_PLANNED = re.compile(change_labels.PLANNED, re.IGNORECASE)


def _list_changes_of_net(page: Sequence[TextLine]) -> set[Decimal]:
    """What the carriage and discounts may make together."""
    changes = list_labelled_ends(page, change_labels.CHARGE)
    changes += [-abs(amount) for amount in list_labelled_ends(page, change_labels.DISCOUNT)]
    return {sum(some, Decimal(0)) for size in range(1, len(changes) + 1) for some in combinations(changes, size)}


def _list_given_back(page: Sequence[TextLine], gross: Decimal) -> Iterator[Decimal]:
    """So much more than the total a customer handed over at a till."""
    ends = [(line, abs(end)) for line in page if (end := _read_end(line)) is not None]
    printed = {end for _, end in ends}
    return (end - abs(gross) for line, end in ends if end - abs(gross) in printed and _is_handed_over(line))


def _is_handed_over(line: TextLine) -> bool:
    patterns = (kind_words.PAID_AT_TILL, change_labels.HANDED_OVER, change_labels.PREPAID)
    return any(pattern.search(line.cells[0].text) for pattern in patterns)


def _is_left_of_rows(page: Sequence[TextLine], gross: Decimal) -> bool:
    """Whether the rows above the total make it only if one of them is taken off, though it has no minus."""
    ends = [number for number, line in enumerate(page) if _read_end(line) == gross]
    if not ends:
        return False
    above = [
        (line, amount)
        for line in page[max(0, ends[0] - _MAX_ROWS) : ends[0]]
        if (amount := _read_end(line)) is not None and any(letter.isalpha() for letter in line.cells[0].text)
    ]
    total = sum((amount for _, amount in above), Decimal(0))
    return len(above) > 1 and any(
        amount > 0 and abs(total - 2 * amount - gross) <= CENT and not _is_any(_NO_DEDUCTION, line)
        for line, amount in above[1:]
    )


def _read_end(line: TextLine) -> Decimal | None:
    """The last amount of a row."""
    return next(iter(list_row_amounts(line)[::-1]), None)


def _is_any(patterns: Sequence[re.Pattern[str]], line: TextLine) -> bool:
    return any(pattern.search(line.text) for pattern in patterns)


def may_lack_tax(page: Sequence[TextLine], gross: Decimal) -> bool:
    """Whether the page speaks of tax, in a sentence too, that neither words nor the order of rows say to be in the
    total; or prints what both make."""
    printed = {abs(amount) for line in page for amount in values.find_money(line.text)}
    last = max((index for index, line in enumerate(page) if gross in list_row_amounts(line)), default=-1)
    for index, line in enumerate(page):
        if not tax_labels.TAX_WORD.search(line.text) or tax_labels.NO_TAX.search(line.text):
            continue
        taxes = [tax for amount in values.find_money(line.text) if 0 < (tax := abs(amount)) < abs(gross)]
        if any(abs(gross) + tax in printed for tax in taxes):
            return True
        # A net total does not stand below its tax.
        if taxes and index < last and all(has_usual_rate(abs(gross), tax) for tax in taxes):
            continue
        is_within = tax_labels.TAX_WITHIN.search(line.text) and not tax_labels.TAX_NOT_WITHIN.search(line.text)
        if tax_labels.TAX_ON_TOP.search(line.text) or (taxes and not is_within):
            return True
    return False


def has_usual_rate(gross: Decimal, tax: Decimal) -> bool:
    """Whether a tax that the total contains is a whole or half percentage of the rest, as rates of Europe are."""
    if not 0 < tax < gross / 3:
        return False
    rate = (200 * tax / (gross - tax)).to_integral_value() / 200
    return abs((gross - tax) * rate - tax) <= CENT


def _list_taxes_in_brackets(page: Sequence[TextLine]) -> list[Decimal]:
    matches = (tax_labels.TAX_IN_BRACKETS.search(cell.text) for line in page for cell in line.cells)
    amounts = (values.parse_amount(match["amount"]) for match in matches if match)
    return list(dict.fromkeys(amount for amount in amounts if amount is not None))


def contains_tax(page: Sequence[TextLine], gross: Decimal) -> Decimal | None:
    """The only tax that the total is said to contain, if it has a usual rate."""
    found = list_labelled_ends(page, tax_labels.TAX_CONTAINED) or _list_taxes_in_brackets(page)
    return found[0] if len(found) == 1 and has_usual_rate(gross, found[0]) else None
