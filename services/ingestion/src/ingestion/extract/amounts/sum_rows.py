"""Rows that are sums by themselves: net, tax and gross in a line, as of a rate, of a part payment, or of all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_labelled_ends, read_money

CENT = Decimal("0.02")
_LARGEST_ROUNDING = Decimal("0.50")


@dataclass(frozen=True, slots=True)
class SumRow:
    """`label` is the text in front of its amounts; `index` is that of its line."""

    index: int
    label: str
    net: Decimal
    tax: Decimal
    gross: Decimal

    @property
    def is_named(self) -> bool:
        """Whether it says that it sums up, and nothing else."""
        return labels.TOTAL_ROW.match(self.label) is not None


def list_sum_rows(page: Sequence[TextLine]) -> list[SumRow]:
    """Gross, what it is rounded by and what is paid add up as well: no tax is in them."""
    roundings = set(list_labelled_ends(page, change_labels.ROUNDING))
    rows = (row for index, line in enumerate(page) for row in _read_sum_rows(index, line))
    return [row for row in rows if row.tax not in roundings or abs(row.tax) > _LARGEST_ROUNDING]


def _read_sum_rows(index: int, line: TextLine) -> Iterator[SumRow]:
    amounts = [amount for cell in line.cells if (amount := read_money(cell)) is not None]
    for net, tax, gross in zip(amounts, amounts[1:], amounts[2:], strict=False):
        if tax and abs(tax) < abs(net) and abs(net + tax - gross) <= CENT:
            yield SumRow(index, _find_label(line), net, tax, gross)


def _find_label(line: TextLine) -> str:
    """The cell that says the line sums up, else the words in front of its amounts."""
    words = [cell.text for cell in line.cells if not values.find_money(cell.text)]
    return next((text for text in words if labels.TOTAL_ROW.match(text)), " ".join(words))
