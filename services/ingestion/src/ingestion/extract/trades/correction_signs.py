"""What a note says in few words when it stands in place of another one: `Replaces CN-4711`, `REPRINT - corrected
price`, `Our note of 14 January contained an error and should be disregarded`.

A plain copy is none, and neither is what may happen: `If this note contained an error, it should be disregarded`.
"""

import re
from itertools import islice

from ingestion.extract.trades.taken_back_words import (
    CANCELS,
    CORRECTS,
    DATED,
    DIGITS,
    EARLIER,
    NOTE,
    NUMBER_WORD,
    OF_OTHERS,
    REPLACES,
    SENTENCE_END,
    SUBJECT,
    THE,
    may_happen,
)

_MAX_MATCHES = 5  # in one line
_MAX_SHORT = 90  # letters of a line that says nothing else
_NUMBER = rf"(?i:(?:{NUMBER_WORD})?[.°º:]{{0,2}}\s{{0,2}}[°º#]?\s?){DIGITS}"
# Neither a year nor a law, and no amount.
_NO_NUMBER = (
    r"(?!,\d|\s?(?:%|€|[A-Z]{3}\b|shares|st[üu]ck|aktien|actions|titres|acciones|azioni|aandelen|a[çc][õo]es|edition))"
)
_TO = r"(?:of|to|for|from|zu|zur|zum|von|f[üu]r|de|du|del|della?|di|à|a|al|alla|ao|da|do|van|op|til|av|af|do)"
_REBOOKS = r"re-?book(?:ing|ed|s)|neuabrechnung|neubuchung"
_TRADE = (
    r"(?:contract|trade|deal|bargain|ticket|gesch[äa]ft|transaktion|op[ée]ration|transaction"
    r"|operaci[óo]n|operazione|transactie|opera[çc][ãa]o|handel|aff[äa]r|transakcj[aęi])"
)
_DIRECTLY = re.compile(
    rf"\b(?i:{REPLACES}|{CORRECTS}|{_REBOOKS}|{CANCELS})\s{{0,2}}:?\s{{0,2}}(?i:{_TO}\s+)?(?i:{THE}{{0,2}}(?:{_TRADE}\s+)?)"
    rf"(?!(?i:{NUMBER_WORD})?\W{{0,3}}(?:(?:19|20)\d\d\b(?![\w./-]{{0,39}}\d)|\d{{4}}/\d{{2,3}}\b)){_NUMBER}(?![\w/-])(?i:{_NO_NUMBER})"
)

_CORRECTED = (
    r"(?:korrigiert\w{0,2}|berichtigt\w{0,2}|corrected|amended|revised|rectified|corrig[ée]{1,2}s?|rectifi[ée]{1,2}s?|corregid[oa]s?|rectificad[oa]s?|corrett[oaie]|rettificat[oaie]"
    r"|gecorrigeerde?|verbeterde?|corrigid[oa]s?|retificad[oa]s?|rettet|rettede|korriger(?:et|ede)|r[äa]tta(?:de?|t)|korrigera(?:de?|t)|skorygowan\w{1,3}|poprawion\w{1,3})"
)
_CHANGED = (
    rf"(?:{_CORRECTED}|ge[äa]ndert\w{{0,2}}|angepasst\w{{0,2}}|changed|updated|modified|adjusted|correction|amendment|korrektur|berichtigung|modifi[ée]{{1,2}}s?|correcci[óo]n|modificad[oa]s?|correzione|modificat[oaie]"
    r"|gewijzigde?|aangepaste?|correctie|alterad[oa]s?|corre[çc][ãa]o|[æa]ndret|[æa]ndrede|rettelse|[äa]ndrade?|[äa]ndrat|r[äa]ttelse|zmienion\w{1,3}|korekta)"
)
_COPY = (
    r"(?:re-?print(?:ed)?|duplicate|(?:second\s+)?copy|re-?sent|(?:neu|nach)-?druck|neuausdruck|zweitschrift|zweitausfertigung|duplikat|kopie|r[ée]impression|r[ée][ée]dition|duplicata|copie"
    r"|reimpresi[óo]n|duplicado|copia|ristampa|duplicato|herdruk|duplicaat|afschrift|reimpress[ãa]o|(?:segunda|2\.?ª)\s+via|c[óo]pia|genoptryk|genudskrift|kopi|kopia|om-?tryck|nytryck|wt[óo]rnik|ponowny\s+wydruk)"
)
_FIELD = (
    r"(?:(?:ausf[üu]hrungs)?kurs(?:es|en)?|preis(?:es)?|menge|st[üu]ckzahl|betrag|handelstag|geb[üu]hr(?:en)?|price|rate|quantity|amount|trade\s+date|value\s+date|settlement(?:\s+date)?|commission|cours|prix"
    r"|quantit[ée]|montant|precio|cantidad|importe|comisi[óo]n|prezzo|quantit[àa]|importo|koers|prijs|aantal|bedrag|pre[çc]o|quantidade|pris(?:en|et)?|antal|bel[øo]b(?:et)?|belopp(?:et)?|cen[aąy]|ilo[śs][ćc]|kwota)"
)
_FIELD_ALONE = re.compile(rf"\b{_FIELD}\b", re.IGNORECASE)
_COPY_CORRECTED = re.compile(rf"\b{_COPY}\b[^.;]{{0,50}}?\b{_CHANGED}\b", re.IGNORECASE)
_DONE = (
    r"(?:(?:was|has|been|is|wurde|worden|ist|a|[ée]t[ée]|est|fue|ha|sido|[èe]|stat[oa]|is"
    r"|werd|foi|er|blevet|har|blivit|zosta[łl]a)\s+)"
)
_FIELD_CORRECTED = re.compile(
    rf"\W*(?:[\w ]{{0,25}}:\s{{1,3}})?(?:(?:the|der|die|das|le|la|el|il|lo|de|het|o|a)\s+|l['’])?"
    rf"(?:{_CORRECTED}\s+{_FIELD}|{_FIELD}\W{{1,3}}{_DONE}{{0,3}}{_CORRECTED})\W*(?:[A-Z]{{3}})?[\d.,'’€$£\s]{{0,24}}(?:[A-Z]{{3}})?\W*",
    re.IGNORECASE,
)

_HAD_ERROR = (
    r"(?:contained|had|showed|included)\s+(?:an?\s+|some\s+)?(?:\w+\s+)?(?:errors?|mistakes?)|was\s+(?:incorrect|wrong|erroneous|issued\s+in\s+error)|enthielt(?:en)?\s+(?:leider\s+)?(?:einen\s+)?(?:\w+\s+)?fehler|war(?:en)?\s+(?:leider\s+)?(?:fehlerhaft|falsch|unrichtig)"
    r"|(?:comportait|contenait|pr[ée]sentait)\s+une\s+(?:\w+\s+)?erreur|[ée]tait\s+(?:erron[ée]e?|incorrecte?)|conten[íi]a\s+(?:un\s+)?(?:\w+\s+)?error(?:es)?|era\s+(?:err[óo]ne[oa]|incorrect[oa]|errat[oa])|conteneva\s+(?:un\s+)?(?:\w+\s+)?error[ei]|bevatte\s+(?:een\s+)?(?:\w+\s+)?fout(?:en)?"
    r"|was\s+(?:helaas\s+)?(?:onjuist|foutief|verkeerd)|continha\s+(?:um\s+)?(?:\w+\s+)?erros?|estava\s+(?:errad[oa]|incorret[oa])|indeholdt\s+(?:en\s+)?fejl|var\s+(?:forkert|fejlbeh[æa]ftet|felaktig)|inneh[öo]ll\s+(?:ett\s+)?fel|zawiera[łl][oa]\s+b[łl][ąa]d|by[łl][oa]\s+b[łl][ęe]dn[ea]"
)
_IGNORED = (
    r"disregarded|ignored|discarded|destroyed|shredded|no\s+longer\s+(?:be\s+)?(?:valid|used|relied)|not\s+be\s+(?:used|relied)|nicht\s+(?:mehr\s+)?(?:zu\s+)?beacht\w{2,4}|(?:zu\s+)?ignorier\w{2,4}|zu\s+vernichten|vernichtet\s+werden|unbeachtet|nicht\s+mehr\s+g[üu]ltig"
    r"|(?:pas|plus)\s+(?:[êe]tre\s+)?(?:prise?\s+en\s+compte|(?:en\s+)?tenir\s+compte)|ignor[ée]e?|d[ée]truite?|ignorar(?:se|la|lo)?|ignorad[ao]|desestimar(?:se)?|desechar(?:se)?|destruir(?:se)?|tenerse\s+en\s+cuenta|sin\s+validez|ignorat[ao]|ignorare|distrutt[ao]|non\s+(?:va|deve)\s+(?:essere\s+)?considerat[ao]"
    r"|genegeerd|negeren|vernietigd|niet\s+(?:meer\s+)?geldig|desconsiderad[ao]|desconsiderar|destru[íi]d[ao]|sem\s+validade|ignoreres|bortfalder|se\s+bort\s+fra|makuleres|ignoreras|bortse|makuleras|zignorowa[ćc]|zignorowane|pomin[ąa][ćc]|zniszczy[ćc]"
)
_GAP = r"(?:[^.;:]|\.(?=\d))"
_FORMER_NOTE = (
    rf"(?:\b{EARLIER}\s+{NOTE}\b"
    rf"|\b{NOTE}\s+(?:{EARLIER}\b|{DATED}|(?:\w{{2,12}}\s+){{1,4}}?(?:on|am|le|el|il|op|em|den)\s+\d|(?-i:{_NUMBER})))"
)
_SAID_OF_FORMER = re.compile(rf"{_FORMER_NOTE}{_GAP}{{0,80}}?\b(?:{_HAD_ERROR}|{_IGNORED})(?!\w)", re.IGNORECASE)
# `Should you receive…` at the beginning; `should be disregarded` is no condition.
_CONDITION = re.compile(
    r"^\W*(?:should|sollten?|mocht|w[äa]re)\b|\b(?:if|unless|in\s+case|whenever|falls|sofern|wenn|en\s+cas|au\s+cas|en\s+caso|in\s+caso|em\s+caso|qualora|indien|hvis|s[åa]fremt|je[śs]li|je[żz]eli|will|would|might|(?<!beachtet\s)(?<!ignoriert\s)(?<!vernichtet\s)werden)\b"
    r"|(?:^\W*|,\s?)(?:si|se|om|als|caso|quando)\b(?!\s+prega)",
    re.IGNORECASE,
)


def find_number_replaced(text: str) -> str | None:
    """The number right behind the word for what was done to it: no word says that it is a note's."""
    for match in islice(_DIRECTLY.finditer(text), _MAX_MATCHES):
        sentence, subject = _cut_sentence(text, match)
        if SUBJECT.search(subject) and not may_happen(sentence) and not OF_OTHERS.search(subject):
            return match["number"].rstrip(".")
    return None


def says_correction(text: str, below: str) -> bool:
    """Whether a line says that what it stands on was corrected, or that an earlier note counts no more. `below` is the
    next line, where a sentence may go on."""
    return _says_corrected_alone(text) or _says_former_is_wrong(text, below)


def _says_corrected_alone(text: str) -> bool:
    if len(text) > _MAX_SHORT or may_happen(text) or OF_OTHERS.search(_FIELD_ALONE.sub("", text)):
        return False
    return _FIELD_CORRECTED.fullmatch(text) is not None or _COPY_CORRECTED.search(text) is not None


def _says_former_is_wrong(text: str, below: str) -> bool:
    whole = f"{text} {below}"
    return any(
        match.start() < len(text) and not _CONDITION.search(_cut_sentence(whole, match)[0])
        for match in islice(_SAID_OF_FORMER.finditer(whole), _MAX_MATCHES)
    )


def _cut_sentence(text: str, match: re.Match[str]) -> tuple[str, str]:
    """The sentence in which something was found, and what stands in front of it."""
    begin = max((end.end() for end in SENTENCE_END.finditer(text, 0, match.start())), default=0)
    end = SENTENCE_END.search(text, match.end())
    return text[begin : end.start() if end else len(text)], text[begin : match.start()]
