"""Whether the ISIN of a note stands only beside words for another security: the underlying, the issuer, a successor.

Where a number of another kind names the security, its ISIN stands beside that number, beside the name or behind its own
label; one among other words is another security's, whatever they say.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.extract.labels import match_any
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.trade import TradeReading

_OF_OTHER = match_any(
    r"\bbasiswert|\bunderlying\b|\bsous-jacent|\bsubyacente\b|\bsottostante\b|\bonderliggende\b|\bsubjacente\b|\bunderligg\w+|\binstrument\s+bazowy\b|\bpodkladov|\bparent\s+line\b|\bemittent|\bguarantor\b|\bcollateral\b|\bformerly\b|\bfunded\s+from\b|\bdividends\s+are\s+paid\s+into\b|\bswitch\s+into\b|\bin\s+aktien\s+der\b"
)


def drop_isin_of_other(reading: TradeReading, lines: Sequence[ReadLine]) -> TradeReading:
    isin = reading.trade.isin
    named = [line.text for line in lines if isin is not None and isin in line.text]
    if isin is None or not named:
        return reading
    if not all(map(_OF_OTHER.search, named)) and not _stands_among_words(isin, reading.trade.security_name, lines):
        return reading
    return replace(reading, trade=replace(reading.trade, isin=None))


def _stands_among_words(isin: str, name: str | None, lines: Sequence[ReadLine]) -> bool:
    if not any(
        place.label is Label.WKN and _CODE.match(line.text, place.end) for line in lines for place in line.labels
    ):
        return False
    return not any(_is_of_security(isin, name, line) for line in lines if isin in line.text)


def _is_of_security(isin: str, name: str | None, line: ReadLine) -> bool:
    if len(line.numbers) > 1 or any(place.label is Label.WKN for place in line.labels):
        return True
    if name is not None and name.split()[0].casefold() in line.text.casefold():
        return True
    front = line.text[: line.text.index(isin)].rpartition("\t")[2]
    return _LABEL_ALONE.fullmatch(front) is not None


_CODE = re.compile(r"\W{1,4}(?=\w{0,8}\d)[A-Z0-9]{5,9}\b")
_LABEL_ALONE = re.compile(
    r"\W*(?:isin\W{0,3}(?:code|kode|nr\.?|nummer|number)?|c[óo]d(?:igo|ice|e)\s+isin)?\W*", re.IGNORECASE
)
