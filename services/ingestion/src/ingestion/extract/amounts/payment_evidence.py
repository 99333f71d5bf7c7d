"""Whether a row that may lessen what is due was paid or taken off already, or is only asked for, or promised."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_row_amounts


@dataclass(frozen=True, slots=True)
class IssueDay:
    """On which a document was written, and whether its dates have the day ahead of the month."""

    day: date | None = None
    day_first: bool | None = None


UNKNOWN_DAY = IssueDay()

_ASKED_FOR = labels.match_any(
    change_labels.PLANNED,
    change_labels.DAYS,
    r"\b(?:due|payable|to\s+pay|to\s+be\s+paid|zu\s+(?:zahlen|leisten|überweisen|entrichten)|à\s+(?:verser|régler|payer)|(?:da|a)\s+(?:versare|pagare|pagar|liquidar|abonar)"
    r"|te\s+(?:betalen|voldoen)|płatn\w{1,2}|do\s+zapłaty|splatn\w{1,2}|k\s+úhradě|(?:a[tt]t?|å)\s+betal[ae])\b",
    r"\b(?:now|immediately|sofort|jetzt|maintenant|ahora|subito|agora|teraz|nyní|ihned|straks|genast)\b",
    r"\b(?:next|nächste\w{0,2}|prochaine?s?|próxim[oa]s?|prossim[oa]|volgende?|następn\w{1,3}|příští\w{0,2}|næste|neste|nästa)\b",
    r"\b(?:early|prompt|schnell|früh|rapide|anticipad|vroeg|szybk|wczesn|hurtig|snabb|tidig)\w*",
)
# Of a day not yet come it is asked for; of one that has it says nothing.
_BY = re.compile(
    r"\b(?:by|before|until|bis(?:\s+zum)?|vor|avant(?:\s+le)?|jusqu['’]au|entro(?:\s+il)?|antes\s+del?|até|hasta(?:\s+el)?|vóór|voor|uiterlijk|do(?:\s+dnia)?|senest|senast|innen)\W{1,2}$",
    re.IGNORECASE,
)
_DONE = labels.match_any(
    r"\b(?:less|received|paid|deducted|credited|thank\s+you)\b",
    r"\b(?:abzgl|abzüglich|abzug|erhalten\w{0,2}|geleistet\w{0,2}|(?:an|be|vorausbe|ge)zahlt\w{0,2}|eingegangen\w{0,2}|angerechnet\w{0,2}|verrechnet\w{0,2})\b",
    r"\b(?:déjà|versée?s?|réglée?s?|payée?s?|reçue?s?|encaissée?s?|déduire|déduite?s?|moins)\b",
    r"\b(?:abonad[oa]s?|pagad[oa]s?|recibid[oa]s?|entregad[oa]s?|cobrad[oa]s?|descontad[oa]s?|menos)\b",
    r"\b(?:versat[oaie]|pagat[oaie]|ricevut[oaie]|incassat[oaie]|detratt[oaie]|già|meno)\b",
    r"\b(?:betaalde?|voldaan|ontvangen|vooruitbetaald|verrekend|mindering|aftrek)\b",
    r"\b(?:já\s+pag[oa]s?|(?:sinal|adiantamento|valor|montante|entrada)\s+pag[oa]|recebid[oa]s?|liquidad[oa]s?|deduzid[oa]s?)\b",
    r"\b(?:zapłacon\w{1,2}|wpłacon\w{1,2}|otrzyman\w{1,3}|opłacon\w{1,2}|rozliczon\w{1,3}|potrącon\w{1,3})\b",
    r"\b(?:zaplacen\w{0,2}|uhrazen\w{0,2}|přijat\w{1,2}|složen\w{0,2}|odečten\w{0,2}|odpočet)\b",
    r"\b(?:(?:for?ud|ind|inn|in|förskotts|forskudds)?betal[td]\w?|modtaget|mottat[tte]\w?|mottag\w{1,3}|erhållen|erlagd|fratrukket|fradrag|avdrag|avgår)\b",
)
_NOT_DONE = labels.match_any(
    r"\b(?:be|not|if|when|once|will|optional|nicht|wird|werden|wenn|sobald|sera|quand|cuando|será|niet|wordt|worden|jeśli|nie|není|bude|ikke|hvis|inte|ej|não)\b"
)
_MAX_HEADING = 60
_ROWS_OF_HEADING = 8


def is_planned(line: TextLine, issued: IssueDay) -> bool:
    """Whether a row asks for money at a day or an occasion that may be yet to come."""
    if _ASKED_FOR.search(line.text) is not None:
        return True
    for match in values.DATES.finditer(line.text):
        if issued.day is None and _BY.search(line.text[: match.start()]):
            return True
    return is_dated_later(line, issued)


def is_dated_later(line: TextLine, issued: IssueDay) -> bool:
    return issued.day is not None and any(day > issued.day for day in _list_days(line, issued))


def was_done(line: TextLine, issued: IssueDay) -> bool:
    """Whether a row says of money that it was paid or is taken off: by its minus, a word of the past, a day gone by.

    A day alone only where it is none until which something is asked for.
    """
    amounts = list_row_amounts(line) or values.find_money(line.text)
    if amounts and amounts[-1] < 0:
        return True
    if _says_done(line.text):
        return True
    days = list(_list_days(line, issued))
    is_end = any(_BY.search(line.text[: match.start()]) for match in values.DATES.finditer(line.text))
    return bool(days) and not is_end and issued.day is not None and all(day <= issued.day for day in days)


def has_heading_of_done(page: Sequence[TextLine], index: int) -> bool:
    """Whether the heading over a row says so: `Less payments received:`."""
    for line in reversed(page[max(0, index - _ROWS_OF_HEADING) : index]):
        if not values.find_money(line.text):
            return len(line.text) <= _MAX_HEADING and _ASKED_FOR.search(line.text) is None and _says_done(line.text)
    return False


def is_taken_by_nature(text: str) -> bool:
    """A part that the customer keeps, a voucher, what is called paid before: taken off, if anything is."""
    return any(label.search(text) for label in (change_labels.WITHHELD, change_labels.CREDITED, _PREPAID))


_PREPAID = re.compile(r"\bpre-?paid\b", re.IGNORECASE)


def _says_done(text: str) -> bool:
    return _DONE.search(text) is not None and _NOT_DONE.search(text) is None


def _list_days(line: TextLine, issued: IssueDay) -> Iterator[date]:
    """In both orders where nothing tells which of them is the day."""
    orders = (True, False) if issued.day_first is None else (issued.day_first,)
    for written in values.find_dates(line.text):
        readings = (written.resolve_date(day_first=order) for order in orders)
        yield from {day for day in readings if day is not None}
