"""What stamps and watermarks say. Words by which a paper is none any more, in a line of their own; and those by which
it stays what it is, beside which any other word is for a person."""

import re

from ingestion.extract import values
from ingestion.extract.titles import title_words

_PAPER = r"(?:invoice|note|document|copy|version|rechnung|beleg|facture|factura|fattura|factuur|fatura|faktura|faktúra)"
_TAKEN_BACK = (
    r"cancell?ed|void(?:ed)?|invalid|superseded|withdrawn|rejected|disputed|expired|obsolete|refused|annulled|reversed|not\s+valid"
    r"|storno|storniert|annulliert|ungültig|hinfällig|gesperrt|abgelehnt|zurückgewiesen|annulée?|nulle?|périmée?|non\s+valable|refusée?"
    r"|anulad[oa]|cancelad[oa]|nul[oa]|rechazad[oa]|sin\s+valor|no\s+válid[oa]|annullat[oa]|stornat[oa]|null[oa]|non\s+valid[oa]"
    r"|geannuleerd|vervallen|ongeldig|afgekeurd|inválid[oa]|sem\s+valor|anulowan[oaey]|stornowan[oaey]|nieważn[aey]|zrušen[oaáýéí]|stornován[oaoyíé]|neplatn[áéý]"
    r"|annulleret|ugyldig|makulere[td]|annullera[td]|makulera[td]|ogiltig|annullert|kansellert|kreditere[td]|kreditera[td]"
)
_NOT_YET = (
    r"draft|specimen|sample|preliminary|demo|test|draft\s+only|for\s+information\s+only|entwurf|muster|vorläufig|vorabzug|brouillon|spécimen|provisoire"
    r"|borrador|muestra|bozza|fac\W?simile|concept|voorbeeld|rascunho|minuta|szkic|wzór|koncept|vzor|kladde|udkast|utkast|pro\W?forma"
)
_NO_PAYMENT = (
    r"(?:this\s+is\s+)?not\s+an?\s+invoice|do\s+not\s+pay|not\s+for\s+payment|on\s+hold|nicht\s+(?:be)?zahlen|keine\s+rechnung|ne\s+pas\s+payer"
    r"|no\s+pagar|non\s+pagare|niet\s+betalen|não\s+pagar|nie\s+płacić|neplatit|betal\s+ikke|betala\s+ej"
)
_TAKES_BACK = re.compile(rf"(?:{_PAPER}\s+)?(?:{_TAKEN_BACK}|{_NOT_YET}|{_NO_PAYMENT})(?:\s+{_PAPER})?", re.IGNORECASE)
# `VOID - replaced by 2026-0455`: in capitals, which a word of a sentence is not.
_TAKEN_BACK_BY = re.compile(
    rf"(?:{_PAPER}\s+)?(?P<word>{_TAKEN_BACK})\s+(?:replaced|superseded|by|and|on|see|durch|und|am|siehe|ersetzt|par|et|le|voir|por|y|el|véase|con|da|e|il|vedi|door|en|op|zie|przez|i|dnia|dokladem|a|dne|ved|af|av|og|den|genom|och)(?:\s+\w{{1,30}}){{0,5}}",
    re.IGNORECASE,
)
_TAKEN_BACK_WITHIN = re.compile(rf"\b(?:{_TAKEN_BACK}|{_NO_PAYMENT})\b", re.IGNORECASE)
# `NOT EXECUTED`, `NICHT BUCHEN`, `SIN EFECTO`: what was not done, or is not to be done.
_DENIAL = re.compile(
    r"(?:(?:do\s+)?not|nicht|ne\s+pas|non|niet|não|nie|må\s+ikke|ikke|ej|inte|sin|sem|sans|senza|ohne)(?:\s+\w{4,20}){1,2}"
    r"|no\s+\w{2,16}(?:[aei]r|[aio]d[oa]s?)|ne(?:účtovat|platit)|\w{4,20}\s+(?:ej|ikke|nicht|inte)",
    re.IGNORECASE,
)
# Of these the titles tell of which kind the paper is.
_TITLE = re.compile(rf"storno|pro\W?forma|(?:{_PAPER}\s+)?(?:reversed|kredit\w+)(?:\s+{_PAPER})?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_STAYS = re.compile(
    r"originale?|original|cop(?:y|ie|ia)|cópia|kopi[ea]?|kópia|odpis|duplicat[ae]?|duplicad?o|duplicato|duplicaat|duplikat|zweitschrift|zweitausfertigung|afschrift|reprint"
    r"|paid|settled|bezahlt|beglichen|payée?|acquittée?|réglée?|pagad[oa]|pagat[oa]|paga|betaald|voldaan|pag[oa]|zapłacon[oaey]|opłacon[oaey]|zaplacen[oaé]|uhrazen[oaé]|betal[td]"
    r"|received|erhalten|eingang|eingegangen|reçue?|recibid[oa]|ricevut[oa]|ontvangen|recebid[oa]|wpłynęło|přijato|modtaget|mottage[tn]|inkommen"
    r"|approved|checked|booked|posted|entered|scanned|genehmigt|freigegeben|geprüft|gebucht|verbucht|erledigt|gescannt|approuvée?|comptabilisée?|vu|aprobad[oa]|approvat[oa]|goedgekeurd|geboekt|aprovad[oa]|godkendt|godkänd|bogført|bokförd"
    r"|confidential|vertraulich|confidentiel(?:le)?|confidencial|riservato|vertrouwelijk|poufne|důvěrné|fortrolig\w?|konfidentiell"
    r"|client|customer|kunden?|page|seite|of|with|thanks?|you|danke?|vielen|mit|merci|gracias|grazie|dank|the|in|full|on|am|le|il|el|op|per|by|e|mail|email|date|datum|for|your|records|final|accepted|sold|sign|here|witness|initial|comment|tax|vat|commercial",
    re.IGNORECASE,
)


def takes_back(text: str) -> bool:
    """Whether a text is nothing but a word by which a paper counts no more, or not yet."""
    return _TAKES_BACK.fullmatch(_join_words(text)) is not None


def says_taken_back(text: str) -> bool:
    """Whether such a word is one of a text."""
    return _TAKEN_BACK_WITHIN.search(_join_words(text)) is not None


def begins_as_taken_back(text: str) -> bool:
    """Whether a text begins with such a word in capitals, and goes on with what was done in its place."""
    match = _TAKEN_BACK_BY.fullmatch(_join_words(text))
    return match is not None and match["word"].isupper()


def denies(text: str) -> bool:
    """Whether a text is a word or two in capitals for what was not done, or is not to be done."""
    return text.isupper() and _DENIAL.fullmatch(_join_words(text)) is not None


def is_title_of_its_own(text: str) -> bool:
    """Whether it is such a word, and may as well be the title of the paper."""
    return _TITLE.fullmatch(_join_words(text)) is not None


def leaves_as_it_is(text: str) -> bool:
    """Whether each word of it is known, and says nothing against what the paper says: `Copy`, `Paid with thanks`."""
    return all(
        _STAYS.fullmatch(word) or title_words.INVOICE_WORD.fullmatch(word) or word.lower() in values.MONTH_NAMES
        for word in _WORD.findall(text)
    )


def _join_words(text: str) -> str:
    """Letters alone: `*** VOID 12.11.2026 ***`."""
    return " ".join(_WORD.findall(text))
