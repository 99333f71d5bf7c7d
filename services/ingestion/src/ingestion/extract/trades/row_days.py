"""The days of a row: when a trade was made and when it was settled; a date in the name of a security is neither."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ingestion.extract.trades.lines import DatePlace, ReadLine
from ingestion.extract.trades.trade_dates import LONGEST_SETTLEMENT

_TRADED_AND_SETTLED = 2


@dataclass(frozen=True, slots=True)
class RowDays:
    """`are_alone`: they stand where no name does, in cells of their own or at an end of the row."""

    traded: date
    settled: date | None
    are_alone: bool


def find_row_days(line: ReadLine) -> RowDays:
    """Of a row that has a date."""
    alone = sorted({found.date for found in _list_alone(line)})
    if not alone:
        days = sorted(found.date for found in line.dates)
        return RowDays(days[0], None, are_alone=False)
    traded = alone[0]
    settled = alone[1] if len(alone) > 1 and alone[1] - traded <= LONGEST_SETTLEMENT else None
    return RowDays(
        traded, settled, are_alone=len(alone) <= _TRADED_AND_SETTLED and len(alone) == 1 + (settled is not None)
    )


def _list_alone(line: ReadLine) -> Iterator[DatePlace]:
    is_one_cell = "\t" not in line.text
    for found in line.dates:
        start = line.text.rfind("\t", 0, found.start) + 1
        end = line.text.find("\t", found.end)
        before, behind = line.masked[start : found.start], line.masked[found.end : end if end >= 0 else None]
        is_first, is_last = re.search(r"\w", before) is None, re.search(r"[^\W\d]", behind) is None
        # Where columns are lost, the only date of a row is that of a column.
        if (is_first and (is_last or is_one_cell)) or (is_one_cell and (is_last or len(line.dates) == 1)):
            yield found
