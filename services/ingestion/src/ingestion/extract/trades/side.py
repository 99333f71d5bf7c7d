"""Which way a trade went: by the words of a note, else by what the costs did or whether the account paid."""

import re
from collections.abc import Sequence

from ingestion.domain.trade import Direction
from ingestion.extract.titles import kind_words
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine, is_long_sentence
from ingestion.extract.trades.settlement import Settlement

_MAX_PROSE = 140  # letters of a line that may say which way a trade goes
_MAX_HEADING = 40  # letters
_EITHER_SIDE = re.compile(
    # A hyphen joins two sides only behind one: an `ETF-Kauf` is what was done.
    r"\b(?:\w{3,20}\s?/\s?|(?:an|aan|(?:an|aan)?(?:kauf|koop)|buy|bought|purchase|achat|compra|acquisto|souscription|zeichnung|ausgabe)-)"
    r"(?:ver|terug)?(?:kauf|koop|sell|sale|sold|vente|venta|vendita|venda|rachat|reembolso|rimborso|resgate"
    r"|s[äæa]l[jg]|salg|sprzeda[żz]|prodej)\w{0,3}\b",
    re.IGNORECASE,
)


def find_direction(lines: Sequence[ReadLine]) -> tuple[Direction | None, bool]:
    weights = {Direction.BUY: 0, Direction.SELL: 0}
    for line in lines:
        if is_long_sentence(line) or labels.DIRECTION.search(line.text) is None:
            continue
        has_label = any(place.label is Label.DIRECTION for place in line.labels)
        is_title = kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        # `Buy/Sell` is what the field is called, and not what it says.
        text = _EITHER_SIDE.sub(lambda match: "/" * len(match[0]), line.text)
        is_heading = (len(text) <= _MAX_HEADING and not line.numbers) or labels.WE_CONFIRM.search(text) is not None
        for match in labels.DIRECTION.finditer(text):
            is_anchor = (anchor := labels.ANCHOR.match(text)) is not None and anchor.end() == match.end()
            is_strong = is_heading or match[0].isupper()
            weight = 6 if is_anchor or is_title else 5 if has_label else 3 if line.dates else 2 if is_strong else 1
            weights[Direction.BUY if match["buy"] else Direction.SELL] += weight
    if not any(weights.values()):
        return None, False
    best = max(weights, key=lambda direction: weights[direction])
    least = min(weights.values())
    if least == weights[best]:
        return None, False
    return best, weights[best] >= 2 * least and weights[best] >= 2


def infer_direction(lines: Sequence[ReadLine], settlement: Settlement | None) -> Direction | None:
    """Where no word says what was done: by what the costs did, or by whether the account paid."""
    if settlement is not None and settlement.is_proven and settlement.gross not in (None, settlement.value):
        return Direction.BUY if settlement.value > (settlement.gross or 0) else Direction.SELL
    texts = [line.text for line in lines if len(line.text) <= _MAX_PROSE and line.numbers]
    paid, received = any(map(labels.PAID.search, texts)), any(map(labels.RECEIVED.search, texts))
    if paid == received:
        return None
    return Direction.BUY if paid else Direction.SELL
