"""Whether a row of a list takes a trade back: `Buy correction`, or a purchase of a negative quantity among others that
have none.

What it takes back, and whether the row is a trade of its own, is left to a person.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.labels import match_any
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine

_MAX_CELL = 40  # letters
_UNDONE = match_any(
    r"\b(?:correct(?:ion|ed)?|corr\.?|adj\.?|adjust(?:ed|ment)?|revers(?:e|al|ed)|rev\.?|undo(?:ne)?|void(?:ed)?|bust(?:ed)?|cxl|cancel(?:led|lation)?|in\s+error|unwind|re-?bill|as\s+of)(?!\w)",
    r"\b(?:korrektur|korr\.?|korrigiert|berichtigung|storno|storniert|r[üu]ck(?:buchung|abwicklung|abrechnung)|r[üu]ckg[äa]ngig|gegenbuchung|irrt[üu]mlich)(?!\w)",
    r"\b(?:extourne|contre-?passation|r[ée]gul(?:\.|arisation)?|r[ée]trocession|annul\w*|rectif(?:\.|ication)?|correction|retroceso|retrocesi[óo]n|rectificaci[óo]n|anulaci[óo]n|anulad[oa]|extorno|error)(?!\w)",
    r"\b(?:storno|rettifica|annullamento|annullat[oa]|revoca|errore|tegenboeking|terugboeking|correctie|annulering|geannuleerd|foutief|estorno|revers[ãa]o|retifica[çc][ãa]o|anula[çc][ãa]o|erro)(?!\w)",
    r"\b(?:r[äa]ttelse|rettelse|makulera\w*|annuller\w*|korrigering|[åa]terf[öo]ring|tilbagef[øo]r\w*|korekta|anulowan\w+|oprava)(?!\w)",
)


def takes_row_back(lines: Sequence[ReadLine], trades: Sequence[Trade]) -> bool:
    rows = [line for line in lines if line.dates and len(line.numbers) > 1]
    if any(_says_undone(cell) for row in rows for cell in row.text.split("\t") if len(cell) <= _MAX_CELL):
        return True
    signs: dict[Direction | None, set[bool]] = defaultdict(set)
    for trade in trades:
        for is_negative in _list_signs(rows, trade):
            signs[trade.direction].add(is_negative)
    return any(len(found) > 1 for direction, found in signs.items() if direction is not None)


def _says_undone(cell: str) -> bool:
    """In the cell of the side, or alone: a security may be called after it."""
    if (match := _UNDONE.search(cell)) is None:
        return False
    return labels.DIRECTION.search(cell) is not None or match[0] == cell.strip()


def _list_signs(rows: Sequence[ReadLine], trade: Trade) -> Iterator[bool]:
    """Whether the quantity has a minus in the row of the trade."""
    for row in rows:
        if any(found.date == trade.trade_date for found in row.dates):
            named = [number for number in row.numbers if trade.quantity in number.readings]
            priced = any(trade.price in number.readings for number in row.numbers)
            if named and priced:
                yield named[0].is_negative
