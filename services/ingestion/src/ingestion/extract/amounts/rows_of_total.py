"""A total that the rows above it make, with a tax among them and fees behind it, as an insurer or its broker writes it:
premium, insurance tax, fee, sum. No net total is named, and the rows say that nothing else is in the sum. Below another
tax a charge may be a tip, or what the customer gives for another reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_row_amounts
from ingestion.extract.amounts.sum_rows import CENT

_MAX_ROWS = 12  # above a total
# What an insurer, a broker or an agent takes beside what is taxed.
_FEE = labels.match_any(
    r"\b(?:fees?|charges?)\b|\b\w{0,24}(?:gebühr|kosten|spesen|entgelt)\w{0,2}\b|\b(?:frais|honoraires|accessoires)\b",
    r"\b(?:gastos|comisi[óo]n)\b|\b(?:spese|diritti|commissioni)\b|\b(?:encargos|custos)\b",
    r"\b(?:op[łl]at[ay]|prowizj[ae]|koszty?)\b|\bpoplat\w{1,3}\b|\b\w{0,16}(?:gebyr|avgift)\w{0,2}\b",
)
# To a fund or the state: whether it is a part of the tax, nobody can tell.
_LEVY = labels.match_any(
    r"\b(?:levy|levies|contributions?|recargo|consorcio|oneri|contribut[oi]|contribuição|taxas?|\w{0,16}afgift)\b"
)
_BEFORE = labels.match_any(
    r"\bprevious|\bearlier|\blast\b|\bvorig|\bfrüher|\bletzt|\bprécéd|\banterior|\bpreced|\bpoprzed|\bpředchoz|\bforrige|\btidig|\bföreg|\bunpaid|\boutstanding|\boverdue"
)
# Such a row changes what is asked for, and is no part of a total.
_NO_PART = (
    _BEFORE,
    change_labels.ADDED,
    change_labels.WITHHELD,
    change_labels.CREDITED,
    change_labels.PREPAID,
    change_labels.ROUNDING,
    change_labels.DISCOUNT,
    labels.TOTAL_NET,
    labels.TOTAL_GROSS,
    labels.TOTAL_GROSS_MAYBE,
    labels.AMOUNT_DUE,
)


@dataclass(frozen=True, slots=True)
class TotalOfRows:
    """`tax` None: a row behind the tax may be a part of it."""

    gross: Decimal
    tax: Decimal | None


def list_totals_of_rows(page: Sequence[TextLine], totals: Sequence[Decimal]) -> Iterator[TotalOfRows]:
    """Those of these totals that the rows above them make, with a tax among the rows."""
    for index, line in enumerate(page):
        ends = list_row_amounts(line)
        if len(ends) == 1 and ends[0] in totals and (found := _read_rows(page, index, ends[0])) is not None:
            yield found


def _read_rows(page: Sequence[TextLine], index: int, total: Decimal) -> TotalOfRows | None:
    rows = _list_rows_above(page, index)
    for count in range(3, len(rows) + 1):
        own = rows[-count:]
        if abs(sum((amount for _, amount in own), Decimal(0)) - total) <= CENT:
            at = _find_tax(own)
            behind = [] if at is None else [label for label, _ in own[at + 1 :]]
            if at is None or not all(_FEE.search(label) or _LEVY.search(label) for label in behind):
                return None
            return TotalOfRows(total, None if any(map(_LEVY.search, behind)) else own[at][1])
    return None


def _list_rows_above(page: Sequence[TextLine], index: int) -> list[tuple[str, Decimal]]:
    """Those with a label and one amount, directly above each other, the highest first."""
    found: list[tuple[str, Decimal]] = []
    for below, line in pairwise(reversed(page[max(0, index - _MAX_ROWS) : index + 1])):
        amounts = list_row_amounts(line)
        is_close = line.page == below.page and below.top - line.top < 3 * max(line.height, below.height)
        if not is_close or len(amounts) != 1 or amounts[0] <= 0 or len(line.cells) > 3:
            break
        label = line.cells[0].text
        if any(pattern.search(label) for pattern in _NO_PART) or not any(letter.isalpha() for letter in label):
            break
        found.insert(0, (label, amounts[0]))
    return found


def _find_tax(rows: Sequence[tuple[str, Decimal]]) -> int | None:
    """The only tax among the rows: the rate that it names, or a usual one, of what stands above it."""
    taxes = [at for at, (label, _) in enumerate(rows) if _is_tax(label)]
    if len(taxes) != 1 or taxes[0] == 0:
        return None
    at = taxes[0]
    label, tax = rows[at]
    base = sum((amount for _, amount in rows[:at]), Decimal(0))
    rates = values.find_rates(label) or [(200 * tax / base).to_integral_value() / 2]
    return at if any(rate and abs(base * rate / 100 - tax) <= CENT for rate in rates) else None


def _is_tax(label: str) -> bool:
    return tax_labels.INSURANCE_TAX.search(label) is not None and not tax_labels.NOT_A_TAX_AMOUNT.search(label)
