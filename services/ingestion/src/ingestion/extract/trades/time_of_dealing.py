"""Days of a note that may be the trade's in place of the one with its label.

What is booked late is labelled with the day of booking; when it was dealt stands beside it, under any name. So each day
shortly before the trade's leaves that open, unless its words call it another one: of an order, a price, a print.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from ingestion.extract.trades.lines import DatePlace, ReadLine

_MOST_LATE = timedelta(days=10)
_MAX_BETWEEN = 30  # letters
_TIME = re.compile(r"(?<![\d.,:])(?:[01]?\d|2[0-3])[:.][0-5]\d(?:[:.][0-5]\d)?(?!\d|[.,]\d|\s?%)")
_AS_OF = re.compile(
    r"\b(?:as\s+of|effective|with\s+effect\s+from|backdated|r[üu]ckwirkend|mit\s+wirkung|avec\s+effet|con\s+efectos?|con\s+effetto|met\s+ingang|com\s+efeito)\W{0,3}(?:\w{1,4}\s)?$",
    re.IGNORECASE,
)
# Of the order, of the paper, of a price: none of dealing.
SAID_OF_OTHER = re.compile(
    r"order|auftrag|weisung|\bordre|orden\b|ordine|ordem|opdracht|zlecen|pokyn|instruct|placed|received|entered|eingang|erteil|erfasst|reçu|ricevut|recibid|ontvangen|recebid|przyj|modtag|mottag"
    r"|print|druck|gedruckt|imprim|stampa|impres|created|erstellt|édité|établi|genera|generat|gemaakt|emitid|emess|utskr|udskr|vytvo|wygener|statement|auszug|valid|gültig|valable|válid|valid[oa]|geldig|ważn|platn"
    r"|price|kurs|preis|cours|prezzo|precio|preço|koers|cena|nav|valu|bewert|login|logged|page|seite|clos(?:e|ing)|cl[ôo]ture|cierre|chiusura|fecho|zamkni|drukow|until|bis\b|expir|cut-?off|annahme|(?:handels|b[öo]rsen|order|melde)-?schluss",
    re.IGNORECASE,
)
# What else a day shortly before a trade may be of: income, a rate of exchange, a contract, a letter, a balance.
_OF_ANOTHER = re.compile(
    r"zins|interest|coupon|kupon|cup[óo]n|cedola|int[ée]r[êe]t|interess|interes|juros|rente|rateo|divid|aussch[üu]tt|distribut|record|stichtag|\bex\b|ex-|\brate\b|wechsel|devis|\bchange\b|cambi|wissel|kantor"
    r"|letter|schreiben|brief|courrier|\bcarta|lettera|mail|agreement|vertrag|contrat\b|contratto|contrato|mandat|\bplan|saldo|balance|solde|kontostand|bestand|period|p[ée]riod|zeitraum|since|\bseit\b|depuis|opened|er[öo]ff|ouvert|abiert|apert|geopend",
    re.IGNORECASE,
)
_TO = re.compile(r"\W{0,3}(?:to|through|bis(?:\szum)?|au|al?|tot|at[ée]|till?|do)?\W{1,3}", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3}")


def names_other_day_of_dealing(lines: Sequence[ReadLine], trade_date: date | None) -> bool:
    """Whether a day in the ten before this one stands there with a time of day, behind `as of`, or behind words that do
    not call it the day of an order, a price, a print or the like."""
    if trade_date is None:
        return False
    return any(
        _is_shortly_before(written.date, trade_date)
        and (_is_with_time(line, written) or _is_unexplained(line, written))
        for line in lines
        for written in line.dates
    )


def _is_shortly_before(day: date, trade_date: date) -> bool:
    return timedelta(0) < trade_date - day <= _MOST_LATE


def _is_with_time(line: ReadLine, written: DatePlace) -> bool:
    if SAID_OF_OTHER.search(line.text):
        return False
    before = line.text[max(0, written.start - _MAX_BETWEEN) : written.start]
    behind = line.text[written.end : written.end + _MAX_BETWEEN]
    return _TIME.search(before) is not None or _TIME.search(behind) is not None


def _is_unexplained(line: ReadLine, written: DatePlace) -> bool:
    """What a day in a table is its head says; a period begins with one: `01/11/2026 to 30/11/2026`."""
    if any(_TO.fullmatch(line.text, written.end, max(other.start, written.end)) for other in line.dates):
        return False
    if SAID_OF_OTHER.search(line.text):
        return False
    if _AS_OF.search(line.text[max(0, written.start - _MAX_BETWEEN) : written.start]):
        return True
    begin = max((other.end for other in line.dates if other.end <= written.start), default=0)
    is_called = _WORD.search(line.text, begin, written.start) is not None
    return is_called and _OF_ANOTHER.search(line.text) is None
