"""Tables that list trades again, by the day on which they are settled."""

from collections.abc import Sequence

from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine

_MIN_HEADS = 3  # labels of a table's head
_MAX_SECTION = 40  # rows between the head of a section and one of its own


def has_settlement_day(row: ReadLine, lines: Sequence[ReadLine]) -> bool:
    """Whether the nearest head above with a date says that it is the one of the settlement."""
    position = row.index - lines[0].index
    for line in reversed(lines[max(0, position - _MAX_SECTION) : position]):
        named = {place.label for place in line.labels}
        if len(named) >= _MIN_HEADS and not line.numbers and named & {Label.TRADE_DATE, Label.SETTLEMENT_DATE}:
            return Label.TRADE_DATE not in named
    return False
