"""Trades that begin below the lines that name them: a statement by securities, or notes one below the other.

What belongs to a trade is looked for from where it begins to where the next one does, and the last lines of that are
what names the next one. Whose each is, is left to a person.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, auto

from ingestion.extract.trades.labels import LABELS_OF_SECURITY, Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.security import ISIN
from ingestion.extract.trades.trade import TradeReading

_MIN_TRADES = 2
_LINES_ABOVE = 4
_MIN_HEADS = 3  # labels of a line without values: the head of a table


class _Named(Enum):
    SECURITY = auto()
    NAME = auto()
    REFERENCE = auto()
    DAY = auto()


def forget_what_stands_above(
    readings: Sequence[TradeReading], blocks: Sequence[Sequence[ReadLine]], lines: Sequence[ReadLine]
) -> list[TradeReading]:
    """`blocks` are the lines of each trade. Without what stands above each of them, as far as its first line does not
    say it itself."""
    if len(blocks) < _MIN_TRADES:
        return list(readings)
    starts = {block[0].index for block in blocks}
    named = [_list_named_above(block[0], lines, starts) for block in blocks]
    above_all = frozenset.intersection(*named)
    return [
        _forget(reading, above_all - _list_named(block[0])) for reading, block in zip(readings, blocks, strict=True)
    ]


def _list_named_above(first: ReadLine, lines: Sequence[ReadLine], starts: set[int]) -> frozenset[_Named]:
    """In the lines directly above a trade, up to the row of the one before."""
    position = first.index - lines[0].index
    found: set[_Named] = set()
    for line in reversed(lines[max(0, position - _LINES_ABOVE) : position]):
        if line.index in starts:
            break
        found |= _list_named(line)
    return frozenset(found)


def _list_named(line: ReadLine) -> frozenset[_Named]:
    labels = {place.label for place in line.labels}
    if len(labels) >= _MIN_HEADS and not line.numbers and not line.dates and ISIN.search(line.text) is None:
        return frozenset()
    found = set()
    if labels & LABELS_OF_SECURITY or ISIN.search(line.text) is not None:
        found.add(_Named.SECURITY)
    if Label.NAME in labels:
        found.add(_Named.NAME)
    if Label.REFERENCE in labels:
        found.add(_Named.REFERENCE)
    if Label.TRADE_DATE in labels or line.dates:
        found.add(_Named.DAY)
    return frozenset(found)


def _forget(reading: TradeReading, named: frozenset[_Named]) -> TradeReading:
    trade = reading.trade
    if _Named.SECURITY in named:
        trade = replace(trade, isin=None, wkn=None, ticker=None, security_name=None)
    if _Named.NAME in named:
        trade = replace(trade, security_name=None)
    if _Named.REFERENCE in named:
        trade = replace(trade, reference=None)
    return replace(reading, trade=trade, is_date_certain=reading.is_date_certain and _Named.DAY not in named)
