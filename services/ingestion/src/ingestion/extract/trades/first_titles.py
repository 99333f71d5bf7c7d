"""What the first titles of a paper on one trade say that it is, where none of them is the title of a note.

What a trade cost and how its gain was taxed is told in papers of their own, besides the note. Securities that came from
another bank have the price of their purchase. A second issue of a note says so in many words, and as a rule above all.
Such papers have the fields of a note, so only their titles tell: what stands above the first field.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract.labels import match_any
from ingestion.extract.titles.document_kind import DocumentKind, has_title
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.taken_back_words import OF_OTHERS, may_happen

_HEAD_LINES = 25
_MAX_TITLE = 100  # letters
_MAX_WORDS = 14
_PARTS = re.compile(r"\s[-–—]\s")
_FIELDS = frozenset({Label.TRADE_DATE, Label.QUANTITY, Label.ISIN, Label.PRICE, Label.SETTLED, Label.SETTLEMENT_DATE})
_OF_COSTS = match_any(
    r"^\W*(?:(?:your|the|ihre|die|vos|les|sus|los|i|le|uw|de|os|as|statement\s+of|breakdown\s+of|aufstellung\s+der|detail\s+des|desglose\s+de)\s+)?(?:costs?|charges|fees|kosten(?!los|frei|stelle)\w*|geb[üu]hren(?!frei)\w*|frais|co[ûu]ts?|costes?|costos|gastos|costi|oneri|spese|custos|encargos|omkostning\w*|kostnad\w*|gebyr\w*|avgift\w*|koszt\w*|op[łl]at\w*|n[áa]klad\w*|poplat\w*)\b"
)
_OF_TAXES = match_any(
    r"^\W*(?:\w+\s+)?(?:steuerliche\w*|steuer(?!nummer|nr|berat|id)\w*|(?:capital\s+gains?\s+)?tax\b(?!\s+(?:invoice|id|number|adviser|advisor))|capital\s+gains?\b|fiscale?s?\b|fiscaal|belasting\w*|plus-?values?\b|plusvalen\w+|mais-valia\w*|skatte?\w*|podatk\w+)"
)
_OF_TRANSFER = match_any(
    r"\b(?:transfer(?:\s+(?:in|of))|transferred|transfert\s+(?:de|entrant)|traspaso|transferencia\s+de|(?:depot)?[üu]bertrag\w*|overboeking|trasferimento|transfer[êe]ncia\s+de|einlieferung|einbuchung|free\s+of\s+payment|[øo]verf[øo]r(?:sel|ing)|[öo]verf[öo]ring|transfer\s+papier)"
)
_OF_FICTION = match_any(
    r"\b(?:fict|fikt|hypoth|virtu)\w*\s+(?:\w+\s+)?(?:portfolio|\w*depot|\w*konto|account|trade|purchase|sale|portefeuille|achat|vente|cartera|compra|venta|portafoglio|acquisto|vendita|\w*koop|rekening|carteira|venda|(?:ver)?kauf|handel)\b|\b(?:portefeuille|compte|cartera|cuenta|portafoglio|conto|carteira|conta)\s+(?:fict|virtu|simul)\w+"
)
_CORRECTED = match_any(
    r"\b(?:korrektur\w*|korrigiert\w*|berichtig\w+|[äa]nderungsmitteilung|neuausfertigung|neuausstellung|nachtr[äa]glich|hinf[äa]llig|correct(?:ed|ing|ion)|amend(?:ed|ment)|revised|revision|re-?issued?|rebated|rectif\w+|corrig[ée]\w*|corregid\w+|correcci[óo]n|modificaci[óo]n|rettific\w+|corrett[oaie]|correzion\w+|aggiornat[oa]|gecorrigeerd\w*|herzien\w*|\w*wijziging\w*|retific\w+|corrigid\w+|corre[çc][ãa]o|r[äa]ttelse|r[äa]ttad\w*|rettelse|rettet|korekta|skorygowan\w*|opraven\w*|oprava)\b",
    r"^\W*(?:neue?|new|nouvel(?:le)?|nueva|nuova|nieuwe|nova|second|2nd|seconde|deuxi[èe]me|segunda|seconda|tweede|zweite)\s+(?:abrechnung|ausgabe|fassung|note|nota|avis|emisi[óo]n|emissione|emiss[ãa]o|[ée]mission|issue|confirmation|version|versi[óo]n|versione|versie|vers[ãa]o|uitgave)\b",
    r"^\W*(?:version|versi[óo]n|versione|versie|vers[ãa]o|fassung|ausgabe|issue)\W{1,3}[2-9]\W*$|^\W*[2-9]\.?\s?(?:fassung|ausgabe|version)\W*$",
)


def is_of_costs_or_taxes(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    return _has_first_title(page, lines, (_OF_COSTS, _OF_TAXES))


def is_of_transfer_or_fiction(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    is_fiction = any(_OF_FICTION.search(title) for title in _list_titles(_find_head(lines)))
    return is_fiction or _has_first_title(page, lines, (_OF_TRANSFER,))


def says_that_it_is_corrected(lines: Sequence[ReadLine]) -> bool:
    """Behind the title of a note as well: `Nota de liquidación rectificativa`."""
    parts = (part for title in _list_titles(_find_head(lines)) for part in _PARTS.split(title))
    return any(
        _CORRECTED.search(part) is not None and not may_happen(part) and OF_OTHERS.search(part) is None
        for part in parts
    )


def _has_first_title(page: Sequence[TextLine], lines: Sequence[ReadLine], patterns: Sequence[re.Pattern[str]]) -> bool:
    head = _find_head(lines)
    if has_title(page[: len(head)], DocumentKind.CONTRACT_NOTE):
        return False
    titles = [title for title in _list_titles(head) if not re.search(r"\d", title)]
    return any(pattern.search(title) for title in titles for pattern in patterns)


def _find_head(lines: Sequence[ReadLine]) -> list[ReadLine]:
    head: list[ReadLine] = []
    for line in islice(lines, _HEAD_LINES):
        is_field = len(line.source.cells) > 1 or bool(line.numbers) or bool(line.dates)
        if is_field and any(place.label in _FIELDS for place in line.labels):
            break
        head.append(line)
    return head


def _list_titles(head: Sequence[ReadLine]) -> Iterator[str]:
    """Lines of one cell that are no sentence and have no amount."""
    for line in head:
        text = line.text.strip()
        is_short = len(text) <= _MAX_TITLE and len(text.split()) <= _MAX_WORDS
        is_title = is_short and not text.endswith(".") and not text[:1].islower()
        if is_title and len(line.source.cells) == 1 and not any(number.is_money for number in line.numbers):
            yield text
