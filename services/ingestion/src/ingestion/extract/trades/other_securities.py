"""Whether the ISIN of a note stands only beside words for another security: the underlying, the issuer, a successor."""

from collections.abc import Sequence
from dataclasses import replace

from ingestion.extract.labels import match_any
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.trade import TradeReading

_OF_OTHER = match_any(
    r"\bbasiswert|\bunderlying\b|\bsous-jacent|\bsubyacente\b|\bsottostante\b|\bonderliggende\b|\bsubjacente\b|\bunderligg\w+|\binstrument\s+bazowy\b|\bpodkladov|\bparent\s+line\b|\bemittent|\bguarantor\b|\bcollateral\b|\bformerly\b|\bfunded\s+from\b|\bdividends\s+are\s+paid\s+into\b|\bswitch\s+into\b|\bin\s+aktien\s+der\b"
)


def drop_isin_of_other(reading: TradeReading, lines: Sequence[ReadLine]) -> TradeReading:
    isin = reading.trade.isin
    named = [line.text for line in lines if isin is not None and isin in line.text]
    if not named or not all(map(_OF_OTHER.search, named)):
        return reading
    return replace(reading, trade=replace(reading.trade, isin=None))
