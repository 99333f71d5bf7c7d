"""Whether amounts below a total take it apart: `Deposit 200.00`, `Remaining 400.00`, in rows, in columns or in
sentences. One of them was perhaps paid; no words are asked, so that the total is not believed to be due, whatever
language says what the two amounts are."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, islice

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.cash_discounts import CASH_DISCOUNT
from ingestion.extract.amounts.labelled_amounts import list_row_amounts

_MAX_AMOUNTS = 12  # each with each other
_MAX_OF_ROW = 2  # amounts; a row of more is one of a table
# What goes with a total and takes nothing of it: its tax, its parts, less for who pays early.
_OF_TOTAL = (
    tax_labels.TAX_WORD,
    labels.TOTAL_NET,
    change_labels.WITHIN,
    CASH_DISCOUNT,
    change_labels.FOR_EARLY_PAYMENT,
)


def is_split_below(page: Sequence[TextLine], total: Decimal, parts: Sequence[Decimal | None]) -> bool:
    """`parts` are the total's net and tax, which make it together wherever they stand.

    An amount with a minus takes something off, even where nobody prints what is left; one larger than the total, by
    what another row says, has more in it."""
    start = next((index for index, line in enumerate(page) if total in list_row_amounts(line)), len(page))
    amounts = list(islice(_list_amounts(page[start + 1 :]), _MAX_AMOUNTS))
    if any(amount < 0 for amount in amounts):
        return True
    if any(one + other == total and not {one, other} <= set(parts) for one, other in combinations(amounts, 2)):
        return True
    more = {amount - total for amount in amounts if amount > total} - set(parts)
    return bool(more) and any(more & set(values.find_money(line.text)) for line in page)


def _list_amounts(lines: Sequence[TextLine]) -> Iterator[Decimal]:
    for line in lines:
        amounts = values.find_money(line.text)
        if len(amounts) <= _MAX_OF_ROW and not any(pattern.search(line.text) for pattern in _OF_TOTAL):
            yield from (amount for amount in amounts if amount)
