"""Days that labels call the trade's or the settlement's, without those of which the words around say something else.

`Next dealing date`, `Interest payment date`, `Executed on your order of 4 November`, and on a sale the day on which
what is sold was bought once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from ingestion.domain.trade import Direction
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, list_dates_at, list_places

_MAX_BEFORE = 30  # letters in front of a label
_NEXT = re.compile(
    r"\b(?:next|n[äa]chste\w{0,2}|prochaine?|pr[óo]xim[oa]|prossim[oa]|volgende|kolejn\w{1,2}|nast[ęe]pn\w{1,2}|dal[šs][íi]|n[æa]ste|nästa|previous|letzte\w{0,2}|earliest|latest)\W{1,3}$",
    re.IGNORECASE,
)
# What is paid for a security, or is paid in from time to time, is no settlement.
_PAYMENT_OF_ANOTHER = re.compile(
    r"\b(?:interest|coupon|dividend\w?|distribution|income|zins\w{0,2}|dividende\w?|kupon|int[ée]r[êe]ts?|coupons?|interessi|cedola|intereses|juros|rente|utdelning\w{0,2}|udbytte|odsetek|dywidendy)\W{1,3}(?:de\s|di\s|da\s)?$",
    re.IGNORECASE,
)
_VALUE_OF_FUND = re.compile(
    r"\s{0,3}(?:liquidativ[oa]|de\s+la\s+vl|der\s+abrechnung|of\s+the\s+(?:fund|units?|portfolio))\b", re.IGNORECASE
)
_OF_PAPER = re.compile(
    r"\b(?:agreement|mandate|terms|contract\s+of|isa|sipp|vereinbarung|vertrag\w{0,2}|contrat|convention|contratto|contrato|overeenkomst|umowy|smlouvy|avtal\w{0,2}|aftale\w{0,2})\b",
    re.IGNORECASE,
)
_OF_ORDER = re.compile(
    r"\b(?:order|instruct\w+|auftr[aä]g\w{0,2}|weisung|ordre|orden|ordine|ordem|opdracht|zlecen\w{0,3}|pokyn\w{0,2})\b",
    re.IGNORECASE,
)
# A label that is said within a sentence: `executed on`, `ausgeführt am`.
_OF_SENTENCE = re.compile(r"\b(?:on|at|am|le|à|el|il|em|op|den)$", re.IGNORECASE)
_ON_DAY = re.compile(r"\b(?:am|on|le|el|il|op|em|den|dnia|dne)\s$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[^\W\d]{3}[.!?]\s")
_WORD = re.compile(r"[^\W\d_]{3}")
_BOUGHT = re.compile(r"(?<!ver)kauf|\b(?:purchase|achat|compra|acquisto)\b|aankoop|nabycia", re.IGNORECASE)
_SOLD = re.compile(r"verkauf|\b(?:sale|vente|cession|venta|vendita|venda)\b|verkoop|zbycia", re.IGNORECASE)


def drop_days_of_others(lines: Sequence[ReadLine], direction: Direction | None) -> list[ReadLine]:
    """The lines without labels and days that are neither of the trade nor of its settlement."""
    return [_drop_days(line, direction) for line in lines]


def _drop_days(line: ReadLine, direction: Direction | None) -> ReadLine:
    others = [place for place in line.labels if _is_of_another(line, place, direction)]
    if not others:
        return line
    kept = [
        found
        for found in line.dates
        if not any(place.end <= found.start < _find_next_label(line, place) for place in others)
    ]
    return replace(line, labels=tuple(place for place in line.labels if place not in others), dates=tuple(kept))


def _find_next_label(line: ReadLine, place: LabelPlace) -> int:
    return min((other.start for other in line.labels if other.start >= place.end), default=len(line.text) + 1)


def _is_of_another(line: ReadLine, place: LabelPlace, direction: Direction | None) -> bool:
    if place.label is Label.TRADE_DATE:
        return _speaks_of_another(line, place) or _is_of_other_side(line, place, direction)
    if place.label is not Label.SETTLEMENT_DATE:
        return False
    before = line.text[max(0, place.start - _MAX_BEFORE) : place.start]
    is_payment = _NEXT.search(before) or _PAYMENT_OF_ANOTHER.search(before)
    if is_payment is not None or _VALUE_OF_FUND.match(line.text, place.end) is not None:
        return True
    written = next((found for found in line.dates if found.start >= place.end), None)
    # `Wert 16.01.2026` is a day of value, `Wert Ihres Depots am 20.01.2026` what something is worth.
    is_worth = line.text[place.start : place.end].casefold() == "wert"
    return is_worth and written is not None and _WORD.search(line.text, place.end, written.start) is not None


def list_settlement_dates(lines: Sequence[ReadLine]) -> Iterator[date]:
    for line, place in list_places(lines, Label.SETTLEMENT_DATE):
        if not _is_of_another(line, place, None):
            yield from list_dates_at(lines, line, place)[:1]


def names_other_side(lines: Sequence[ReadLine]) -> bool:
    """Whether a day is called that of a purchase or of a sale: which of them this trade is has to be known first."""
    texts = [line.text[place.start : place.end] for line, place in list_places(lines, Label.TRADE_DATE)]
    return any(_BOUGHT.search(text) or _SOLD.search(text) for text in texts)


def _is_of_other_side(line: ReadLine, place: LabelPlace, direction: Direction | None) -> bool:
    called = line.text[place.start : place.end]
    if direction is Direction.SELL:
        return _BOUGHT.search(called) is not None
    return direction is Direction.BUY and _SOLD.search(called) is not None


def _speaks_of_another(line: ReadLine, place: LabelPlace) -> bool:
    if _NEXT.search(line.text[max(0, place.start - _MAX_BEFORE) : place.start]):
        return True
    written = next((found for found in line.dates if found.start >= place.end), None)
    if written is None:
        return False
    between = line.text[place.end : written.start]
    if _OF_PAPER.search(between) or _SENTENCE_END.search(between):
        return True
    if not _OF_SENTENCE.search(line.text[place.start : place.end]) or _WORD.search(between) is None:
        return False
    return _OF_ORDER.search(between) is not None or _ON_DAY.search(line.text, 0, written.start) is None


def begins_with_other_day(lines: Sequence[ReadLine]) -> bool:
    """Whether a table's first column is said to hold the days of settlement or of booking: its rows begin with those,
    and the day of the trade stands behind them, or nowhere. `Buchung` may as well say what was booked."""
    for position, line in enumerate(lines):
        if line.dates or line.numbers or len(line.source.cells) < _MIN_HEADS:
            continue
        called = line.source.cells[0].text.strip()
        rows = [
            row for row in lines[position + 1 : position + 1 + _ROWS_BELOW] if row.dates and row.dates[0].start <= 1
        ]
        if rows and _OTHER_DAY.fullmatch(called):
            return True
        if _DAY_OF_PURCHASE.fullmatch(called) and any(len(row.dates) > 1 for row in rows):
            return True
    return False


_ROWS_BELOW = 3
_MIN_HEADS = 4
# Of what is sold on the second day.
_DAY_OF_PURCHASE = re.compile(
    r"\W*(?:anschaffungs?(?:-?(?:datum|tag))?|erworben|erwerb(?:s-?(?:datum|tag))?|gekauft|kauf(?:datum|tag|\s+am)?|(?:acquired|acquisition|bought|purchased?|opened)(?:\s+(?:date|on))?|(?:date\s+d['’])?(?:achat|acquisition)|achet[ée]"
    r"|(?:fecha\s+(?:de\s+)?)?(?:compra|adquisici[óo]n)|(?:data\s+(?:di\s+|d['’]|de\s+)?)?(?:acquisto|carico|aquisi[çc][ãa]o)|aankoop(?:datum)?|k[öo]pt|k[øo]bt|data\s+nabycia|datum\s+n[áa]kupu)\W*",
    re.IGNORECASE,
)
_OTHER_DAY = re.compile(
    r"\W*(?:settle(?:d|ment)?|value|pay(?:ment)?|contractual|book(?:ed|ing)|post(?:ed|ing)|valuta\w*|wert(?:stellung\w{0,8}|datum)?|buchung\w{0,8}|buchungs-?(?:tag|datum)|gebucht"
    r"|date\s+(?:de\s+)?(?:valeur|r[èe]glement|comptab\w+|d[ée]nouement)|valeur|fecha\s+(?:de\s+)?(?:valor|liquidaci[óo]n|contable|abono|cargo)|f\.?\s?valor"
    r"|data\s+(?:di\s+|de\s+|da\s+)?(?:valuta|regolamento|contabile|liquida[çcz]\w+|valor|lan[çc]amento|rozliczenia|waluty|ksi[ęe]gowania)|boek(?:ings?)?datum|valutadatum"
    r"|(?:val[øo]r|bokf[öo]rings|bogf[øo]rings|likvid\w{0,4}|avr[äa]knings|afregnings|oppgj[øo]rs)(?:dag|datum|dato)|datum\s+(?:vypo[řr][áa]d[áa]n[íi]|valuty|za[úu][čc]tov[áa]n[íi]))"
    r"(?:\s+(?:date|day))?\W*",
    re.IGNORECASE,
)
