"""How a note says that another one is taken back, in the languages of `labels`: cancelled, replaced or corrected.

Small print speaks of notes as well: `This confirmation replaces any oral agreement`, `a corrected note will be sent`.
So without a number a sentence counts only if its subject is the note and its object an earlier one.
"""

import re

CANCELS = (
    r"stornier(?:en|t|te|ung)|storno|hinf[äa]llig|gegenstandslos|cancel(?:s|led|ling|lation)?|voids|revers(?:es|al|ed)|annul(?:e|ons|er|ation|[ée]e?)|annull(?:a|iamo|amento|ato)"
    r"|anula(?:mos|ci[óo]n|do|da)?|annule(?:ert|ren|ring)|cancela(?:mento|mos|do|da)?|estorno|estornamos|annullerer|annulleret|makulerar|makulerad|anuluje|uniewa[żz]nia|kansellerer|annullert|kansellert|ru[šs][íi]|stornuje"
)
REPLACES = (
    r"ersetz(?:t|en)|ersatz\s+f[üu]r|(?:tritt|treten|trat)\s+an\s+(?:die\s+)?stelle|an(?:stelle|\s+stelle)|replac(?:es|ing|ement\s+(?:of|for))|supersed(?:es|ing)|in\s+(?:place|lieu)\s+of"
    r"|rempla[cç](?:e|ons|ant)|(?:en|au)\s+remplacement|en\s+lieu\s+et\s+place|sustituy(?:e|endo)|sustituimos|reemplaza(?:mos|ndo)?|(?:en|por)\s+sustituci[óo]n"
    r"|sostitui(?:sce|amo|sc[eo]no)|(?:in|a)\s+sostituzione|vervang(?:t|en)|ter\s+vervanging|in\s+plaats\s+van|substitu(?:i|ímos|imos|indo)|em\s+substitui[çc][ãa]o|erstatter|ers[äa]tter|zast[ęe]puje|nahrazuje"
)
CORRECTS = (
    r"korrigier(?:t|en)|berichtig(?:t|en)|korrektur|berichtigung|neuabrechnung|neufassung|corrects|correcting|correction\s+(?:of|to)|amend(?:s|ing|ment\s+(?:of|to))|revises|revising|revision\s+of|rectif(?:ies|ying)"
    r"|rectifi(?:e|ons|ant|cation)|corrig(?:e|eons|eant)|correction|modifi(?:e|ons|ant|cation)|annule\s+et\s+remplace|rectifica(?:mos|ndo|ci[óo]n)?|corregimos|corrigiendo|correcci[óo]n|modifica(?:mos|ndo|ci[óo]n)?"
    r"|rettific(?:a|he|hiamo|ando)|corregg(?:e|iamo|endo)|correzione|modific(?:a|hiamo)|corrig(?:eert|eren)|correctie|verbeter(?:t|en|ing)|wijzig(?:t|en|ing)|rectific(?:eert|eren|atie)|herziening"
    r"|retific(?:a|amos|ando|a[çc][ãa]o)|rectifica[çc][ãa]o|corrigimos|corrigindo|corre[çc][ãa]o|altera(?:mos|[çc][ãa]o)?|korriger(?:er|ing)|retter|rettelse|korrigerar|r[äa]ttar|r[äa]ttelse|koryguje|korekta|poprawia|opravuje|oprava"
)
# What was done, where a sentence says who did it: `We have corrected your contract note`.
_DONE = (
    r"(?:have|has)\s+(?:\w+\s+)?(?:corrected|amended|replaced|revised|superseded|re-?issued|cancelled\s+and\s+re\w+)"
    r"|(?:avons|a)\s+(?:\w+\s+)?(?:rectifi[ée]e?|corrig[ée]e?|remplac[ée]e?|annul[ée]e?\s+et\s+remplac[ée]e?)|(?:hemos|ha)\s+(?:rectificado|corregido|sustituido|reemplazado|modificado)"
    r"|(?:abbiamo|ha)\s+(?:rettificato|corretto|sostituito|modificato)|corrigimos|retific[áa]mos|substitu[íi]mos"
)
_IN_PLACE_OF = f"{REPLACES}|{CORRECTS}"

NOTE = (
    r"(?:\w{0,20}abrechnung(?:sbeleg)?|\w{0,12}beleg|rechnung|auftrag|order|(?:contract|trade|deal|transaction|purchase|sale|bought|sold|advice)\s+(?:note|confirmation|advice)|note|confirmation|advice"
    r"|avis(?:\s+d['’](?:op[ée]r[ée]|ex[ée]cution))?|confirmation\s+d['’]\w{4,10}|bordereau|nota(?:\s+(?:informativa|de\s+\w{4,12}))?|aviso|conferma(?:\s+(?:di\s+esecuzione|d['’]ordine))?|comunicazione"
    r"|confirmaci[óo]n(?:\s+de\s+\w{4,12})?|liquidaci[óo]n|justificante|afrekening|(?:effecten|transactie|beurs)?nota|bevestiging|confirma[çc][ãa]o(?:\s+de\s+\w{4,12})?|(?:fonds)?afregning(?:en)?|avr[äa]kningsnotan?|avr[äa]kning(?:en)?|notan|slutt?seddel(?:en)?|handelsnota|bekr(?:[äæa]|ef)ftelsen?|bekreftelsen?|potwierdzeni[ea]|rozliczeni[ea]|potvrzen[íi]|vy[úu][čc]tov[áa]n[íi]"
    r"|(?:account|activity)?\s?statement|\w{0,10}auszug|relev[ée]|extracto|estratto(?:\s+conto)?|overzicht|extrato"
    r"|reference|r[ée]f[ée]rence|referenz|riferimento|referencia|kenmerk)"
)
EARLIER = (
    r"(?:earlier|previous(?:ly\s+\w{4,8})?|prior|former|first|original|initial|preceding|(?:früher|vorherig|vorig|bisherig|ursprünglich|vorangegangen|vorangehend|vorausgegangen|erst|alt)(?:e[nrs]?)|oben\s+genannten?"
    r"|pr[ée]c[ée]dente?|ant[ée]rieure?|premi(?:er|[èe]re)|initiale?|originale?|anterior|previ[oa]|primer[oa]?|inicial|precedente|originari[oa]|prim[oa]|eerdere?|vorige?|oorspronkelijke?|voorgaande?|eerste|pr[ée]vi[oa]|tidligere|forrige|tidigare|f[öo]reg[åa]ende|opprinnelig|oprindelig|ursprunglig|p[řr]edchoz[íi](?:ho)?|p[ůu]vodn[íi](?:ho)?|poprzedni(?:e|a|ego|ej)?|wcze[śs]niejsz(?:e|a|ego|ej))"
)
THE = (
    r"(?:(?:our|your|the|its|unsere?[nrm]?|ihre?[nrm]?|die|den|das|de[rms]|notre|votre|la|le|el|al|a|nuestr[oa]|su|il|lo|l|dell?[ao]?|alla|nostr[oa]|vostr[oa]|suo|sua|het|de|onze|uw|o|à|ao|da|do|noss[oa]|voss[oa]|vores|zu|zur|van|op"
    r"|hiermit|hereby|damit|wir|we)\b['’]?\s{0,2}|[ld]['’])"
)
DATED = r"(?:vom|dated|of|from|du|del|van|de|da|do|dd\.?|d\.d\.|af|fra|av|fr[åa]n|den|z\s+dnia|z)\s+(?:the\s+|l['’])?\d"
DIGITS = (
    r"(?P<number>(?:[A-Z]{1,3}\s)?(?=[\w./-]{0,39}\d[\w./-]{0,39}\d)(?!\d{1,2}[./]\d{1,2}[./])[A-Z0-9][\w./-]{3,39})"
)
NUMBER_WORD = r"(?:mit\s+der\s+|with\s+)?(?:nummer|number|num[ée]ro|n[úu]mero|numero|nummer|numer|nr|no|n|č)"
_GAP = r"(?:[^.:;]|\.(?=\d))"  # a date is no end of a sentence


def _match_number(verb: str) -> re.Pattern[str]:
    """The number behind the word for a note, or, farther on, behind the word for a number."""
    number = rf"(?i:(?:{NUMBER_WORD})?[.°º:]{{0,2}}\s{{0,2}}[°º#]?\s?)"
    return re.compile(
        rf"\b(?i:{verb})\b[^.:]{{0,60}}?(?<!\w)(?:(?i:{NOTE})\s{{0,2}}{number}"
        rf"|(?i:{NOTE}|{EARLIER}){_GAP}{{0,50}}?\W(?i:{NUMBER_WORD})(?:[.°º:#\s]{{1,4}})){DIGITS}"
    )


TAKES_BACK_NUMBER = _match_number(f"{CANCELS}|{_IN_PLACE_OF}")
IN_PLACE_OF_NUMBER = _match_number(_IN_PLACE_OF)

_INVALID = (
    r"gegenstandslos|hinf[äa]llig|ung[üu]ltig|verlier(?:t|en)\s+(?:damit\s+|hiermit\s+)?ihre\s+g[üu]ltigkeit|zu\s+vernichten|aufgehoben|ersetzt|korrigiert|berichtigt|void(?:ed)?|superseded|replaced|withdrawn|corrected|amended|invalid|null"
    r"|remplac[ée]e?|caduque|caduc|sans\s+(?:objet|effet)|rectifi[ée]e?|corrig[ée]e?|nulle?|sostituit[oa]|rettificat[oa]|corrett[oa]|null[oa]|priv[oa]\s+di\s+(?:effetto|validit[àa])"
    r"|sustituid[oa]|reemplazad[oa]|rectificad[oa]|corregid[oa]|sin\s+efecto|nul[oa]|vervallen|vervalt|vervangen|ongeldig|gecorrigeerd|verbeterd|substitu[íi]d[oa]|retificad[oa]|corrigid[oa]|sem\s+efeito|erstattet|ugyldig|ogiltig|makulerad|kansellert|annullert|niewa[żz]n[aey]|uniewa[żz]nion[aey]|zast[ąa]pion[aey]|neplatn[áéý]|zru[šs]en[oaáéý]|nahrazen[oaáéý]"
)
_TAKEN_BACK = (
    rf"{_INVALID}|storniert|cancelled|canceled|reversed|annul[ée]e?|annullat[oa]|anulad[oa]|geannuleerd|annulleret"
)
# `Die Abrechnung Nr. 4711 ist gegenstandslos`.
_SAID_OF_NUMBER = rf"\b(?i:{NOTE})\s{{0,2}}(?i:(?:{NUMBER_WORD})?[.°º:]{{0,2}}\s{{0,2}}[°º#]?\s?){DIGITS}"
NUMBER_TAKEN_BACK = re.compile(rf"{_SAID_OF_NUMBER}\b{_GAP}{{0,60}}?\b(?i:{_TAKEN_BACK})\b")
NUMBER_REPLACED = re.compile(rf"{_SAID_OF_NUMBER}\b{_GAP}{{0,60}}?\b(?i:{_INVALID})\b")

_BOTH_DONE = re.compile(
    r"\b(?:stornier\w{1,4}\s+und\s+(?:\w+\s+){0,2}neu\s+(?:abgerechnet|erstellt|ausgestellt)|cancell?ed\s+and\s+(?:re-?\w{4,8}|replaced)|(?:cancel|cxl)\s?(?:/|&|and)\s?(?:correct(?:ion)?|re-?book(?:ing)?|replace|amend)|annul(?:ée?|ee)\s+et\s+(?:remplac(?:ée?|ee)|r[ée]{1,2}mis)"
    r"|anulad[oa]\s+[ye]\s+(?:sustituid|substitu[íi]d|reemitid)[oa]|annullat[oa]\s+e\s+(?:sostituit|riemess)[oa]|geannuleerd\s+en\s+(?:vervangen|opnieuw))\b",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\b(?:annule\s+et\s+remplace|anula\s+[ye]\s+(?:sustituye|substitui|reemplaza)|annulla\s+e\s+sostituisce|cancels\s+and\s+(?:replaces|supersedes)|annuleert\s+en\s+vervangt|storniert\s+und\s+ersetzt)\b",
    re.IGNORECASE,
)
_ACTIVE = re.compile(
    rf"\b(?:(?P<verb>{_IN_PLACE_OF})|(?P<done>{_DONE}))\s+(?P<the>{THE}{{0,4}})"
    rf"(?:(?P<earlier>{EARLIER})\b(?:\s+(?:one\b|{NOTE}\b)|\s*(?:$|[.,;(])|\s+{DATED})|{NOTE}\s+(?:{EARLIER}\b|{DATED})|(?P<note>{NOTE})\b)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    rf"(?:\b{EARLIER}\s+{NOTE}\b|\b{NOTE}\s+(?:{EARLIER}\b|{DATED})){_GAP}{{0,60}}?\b(?:{_INVALID})\b", re.IGNORECASE
)
# `Please disregard our previous note`.
_DISREGARD = re.compile(
    rf"\b(?:disregard|ignore|discard|destroy|shred|(?:tauschen|ersetzen)\s+sie|vernichten\s+sie|ignorieren\s+sie|(?:ne\s+(?:pas\s+tenir|tenez\s+pas)|(?:no|non|n[ãa]o)\s+(?:tener|tenga|tenere|tenga|ter|tenha))\s+(?:compte|en\s+cuenta|conto|em\s+conta)"
    rf"|(?:hacer|haga)\s+caso\s+omiso|ignorar|ignorare|ignorer|negeren|desconsider(?:e|ar))\s+{THE}{{0,4}}(?:{EARLIER}\s+{NOTE}\b|{NOTE}\s+(?:\w{{2,10}}\s+){{0,4}}?(?:{EARLIER}\b|{DATED}|(?:on|am|le|el|il|op|em)\s\d|(?:that\s+|which\s+)?(?:we|you)\s+(?:have\s+)?(?:sent|issued|received)\b))",
    re.IGNORECASE,
)
_CORRECTED = (
    r"(?:korrigiert(?:e[rsn]?)?|berichtigt(?:e[rsn]?)?|ge[äa]ndert(?:e[rsn]?)?|(?:kurs|preis|mengen|betrags|geb[üu]hren)?korrektur(?:beleg|abrechnung|nota|mitteilung)?|re-?issued?|re-?book(?:ing|ed)?|neu(?:ausf[üu]hrung|ausstellung|ausgestellt)|berichtigung(?:s\w{4,12})?|neuabrechnung|neufassung|ersatz(?:abrechnung|beleg)|corrected|amended|revised|correction|amendment|replacement"
    r"|rectifi(?:ed|[ée]e?|cati(?:f|ve)|cation)|corrig[ée]e?|modificati(?:f|ve)|remplacement|rettific\w{1,5}|corrett[oa]|sostitutiv[oa]|rectificad[oa]|rectificativ[oa]|rectificaci[óo]n|corregid[oa]|correcci[óo]n|sustitutiv[oa]"
    r"|gecorrigeerde?|(?:koers|prijs)?correctie(?:nota|bericht)?|verbeterde?|herziene?|vervangende?|rectificatie|retifica(?:d[oa]|tiv[oa]|[çc][ãa]o)|rectificativ[oa]|corrigid[oa]|corre[çc][ãa]o|substitutiv[oa]|korriger(?:et|ede|ing|ad[e]?|at)|rettet|rettede|rettelse|r[äa]tta(?:d[e]?|t)|r[äa]ttelse|korekta|skorygowan[aey]|poprawion[aey]|korrigert|opraven[áéýao]|oprava|corrective|second\s+issue|neu\s+(?:erstellt|ausgestellt|abgerechnet))"
)
# `Wir bitten, die fehlerhafte Abrechnung vom 02.03.2026 zu entschuldigen`.
_FAULTY = re.compile(
    rf"\b(?:fehlerhafte?n?|falsche?n?|unrichtige?n?|faulty|incorrect|erroneous|wrong|onjuiste|foutieve|felaktiga?|fejlagtige?|feilaktige?|b[łl][ęe]dn[ey]|chybn[éý])\s+{NOTE}\s+{DATED}"
    rf"|\b{NOTE}\s+(?:erron[ée]e?|incorrecte?|err[óo]ne[oa]|errat[oa]|err[óo]ne[oa]|errad[oa])\s+{DATED}",
    re.IGNORECASE,
)
# `Version 2 - reissued following price amendment`.
_LATER_VERSION = re.compile(
    rf"^\W*(?:version[e]?|fassung|versi[óo]n|vers[ãa]o|versie|wersja|verze)\s{{0,2}}[2-9]\b.{{0,80}}?\b(?:{_CORRECTED}|re-?issued?)\b",
    re.IGNORECASE,
)
# In front of the verb: nothing, the note, or a word that stands for it.
SUBJECT = re.compile(
    rf"^\W*$|\b{NOTE}\b|\b(?:this|it|which|we|hiermit|hereby|dies(?:e[rs]?)?|sie|wir|die|celui-ci|celle-ci|ceci|nous|la\s+presente|il\s+presente|(?:la|el)\s+presente|[ée]st[ea]|deze|dit|wij|documento?|document|dokument)\W*$",
    re.IGNORECASE,
)
OF_OTHERS = re.compile(
    r"\b(?:terms|conditions|agreements?|polic(?:y|ies)|bedingungen|agb|vereinbarung(?:en)?|vertrag|preis\w*|conditions\s+g\w+|tarifs?|contrat|condiciones|tarifas?|contrato|condizioni|tariffe|contratto|voorwaarden|tarieven|condi[çc][õo]es|pre[çc]ario|prospekt|prospectus)\b",
    re.IGNORECASE,
)
# What may happen, or will.
_PERHAPS = re.compile(
    r"\b(?:if|should|unless|in\s+case|whenever|will|would|(?<!\d\s)may(?!\s+\d)|might|can|could|shall|werden|falls|sofern|sollten?|wenn|k[öo]nn(?:en|t?e)|si|sera|seront|serait|pourra(?:it)?|peut|en\s+cas|au\s+cas|caso|podr[áa]n?|ser[áa]n?|puede|qualora|sar[àa]|saranno|pu[òo]"
    r"|indien|mocht|zal|zullen|kan|poder[áa]|pode|errors?|fehler|erreurs?|errores|errori|fouten|erros)\b",
    re.IGNORECASE,
)
# Languages that name one note without an article.
_NO_ARTICLE = re.compile(
    r"ers[äa]tter|erstatter|zast[ęe]puje|r[äa]ttar|retter|koryguje|nahrazuje|opravuje", re.IGNORECASE
)
_OWN_NUMBER = re.compile(rf"^\W*{NOTE}s?[-\s]{{0,2}}{NUMBER_WORD}\b", re.IGNORECASE)
_NAMES_NOTE = re.compile(rf"\b(?:{CANCELS}|{_IN_PLACE_OF})\b.{{0,200}}\b{NOTE}\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.;:!?](?=\s)")

CORRECTED = re.compile(rf"\b{_CORRECTED}\b", re.IGNORECASE)
_ENDS_CORRECTED = re.compile(rf"\b{_CORRECTED}\W*$", re.IGNORECASE)
_BESIDE = (
    rf"(?:{NOTE}|fassung|version[e]?|versi[óo]n|vers[ãa]o|versie|copy|copie|copia|c[óo]pia|kopie|exemplar|exemplaire"
    r"|ausfertigung|document|documento|dokument|obchodu|transakcji|transakce|zlecenia|pokynu|der|die|zur?|of|the|de|di|du|la|van|da|vom|am|on|le|il|el|del|op)"
)
_BEFORE = (
    rf"(?:{_BESIDE}|(?:trade\s+|note\s+)?status|stato|estado|statut|(?:versione?|fassung|versi[óo]n|vers[ãa]o|versie)\s\d|\d\.?"
    r"|duplicad?[oa]?|duplikat|reprint|storn(?:o|ierung)|cancel(?:led|lation)?|cxl|annulation|und|and|et|y|e|en)"
)
# On a line of its own, above or below the title.
_CORRECTED_ALONE = re.compile(
    rf"^\W*(?:{_BEFORE}\W{{1,3}}){{0,3}}{_CORRECTED}(?:\W{{1,3}}{_BESIDE}\b){{0,3}}(?:\W{{1,3}}(?:of|des|der|wegen|du|de\s+la|del|della|van|do|da)\s+(?:the\s+)?(?:\w{{3,20}}))?(?:\W{{1,3}}(?:n[ro]\b|n[°º])?\W{{0,3}}\w{{0,3}}\d[\w./-]{{0,20}})?\W*$",
    re.IGNORECASE,
)


def is_title_of_correction(text: str) -> bool:
    return _CORRECTED_ALONE.match(text) is not None and _PERHAPS.search(text) is None


def find_number(pattern: re.Pattern[str], text: str, below: str) -> str | None:
    """The number of a note that a sentence names which begins in `text`. A line below that begins with the word for a
    number is none of it, where the sentence had its note already: that is this note's own number."""
    is_whole = _ENDS_CORRECTED.search(text) is not None or _BOTH.fullmatch(text.strip(" *.:-")) is not None
    is_other = _OWN_NUMBER.match(below) is not None and (is_whole or _NAMES_NOTE.search(text) is not None)
    match = pattern.search(text if is_other else f"{text} {below}")
    return match["number"].rstrip(".") if match is not None and match.start() < len(text) else None


def may_happen(text: str) -> bool:
    return _PERHAPS.search(text) is not None


def says_in_place_of_earlier(text: str, below: str) -> bool:
    """Whether a sentence that begins in `text` says that the note stands in place of an earlier one, which it may not
    name. `below` is the next line, where the sentence may go on."""
    whole = f"{text} {below}"
    return any(
        match.start() < len(text) and _is_of_this_note(whole, match)
        for pattern in (_BOTH_DONE, _BOTH, _ACTIVE, _PASSIVE, _DISREGARD, _FAULTY, _LATER_VERSION)
        for match in pattern.finditer(whole)
    )


def _is_of_this_note(whole: str, match: re.Match[str]) -> bool:
    begin = max((end.end() for end in SENTENCE_END.finditer(whole, 0, match.start())), default=0)
    end = SENTENCE_END.search(whole, match.end())
    subject, sentence = whole[begin : match.start()], whole[begin : end.start() if end else len(whole)]
    if _PERHAPS.search(sentence) or OF_OTHERS.search(subject):
        return False
    if match.re in (_BOTH_DONE, _PASSIVE, _DISREGARD, _FAULTY, _LATER_VERSION):
        return True
    is_plain = match.re is _ACTIVE and match["done"] is None
    is_general = not match["the"].strip() and _NO_ARTICLE.fullmatch(match["verb"]) is None if is_plain else False
    if is_plain and (match["note"] or (match["earlier"] and is_general)):
        return False  # `replaces the confirmation by telephone`, `replaces previous confirmations`
    return (match.re is _ACTIVE and not is_plain) or SUBJECT.search(subject) is not None
