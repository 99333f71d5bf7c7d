"""What is no name of a security though it stands where one does: a kind of security, a venue, whose part the bank took,
whose account it was or of which kind, and the bank itself.

A name that is missing is harmless; one that is wrong stands in the books.
"""

import re
from collections.abc import Sequence

from ingestion.extract.labels import match_any
from ingestion.extract.trades.lines import ReadLine

_LINES_OF_HEAD = 3
_WORD = re.compile(r"[^\W\d_]+")
_MIN_WORD = 3  # letters

_KINDS = re.compile(
    r"equit(?:y|ies)|shares?|stocks?|bonds?|funds?|etfs?|etcs?|etps?|etns?|ucits|oeic|reits?|adrs?|ads|gdrs?|units?|securit(?:y|ies)|instruments?|notes?|warrants?|certificates?|options?|futures?|ordinary|ord|common|preferred|preference|registered|bearer|class|reg|npv|shs|nominal|investments?|trusts?|derivatives?|fully|partly|paid|par|value|voting|of|each"
    r"|aktien?|stammaktien?|vorzugsaktien?|inhaberaktien?|namens?-?aktien?|(?:inhaber|namens?|stamm|vorzugs)|stückaktien?|stuckaktien?|anleihen?|fonds|aktienfonds|rentenfonds|indexfonds|investmentfonds|anteile?|zertifikate?|optionsscheine?|wertpapiere?|schuldverschreibung(?:en)?|genussscheine?|partizipationsscheine?|nennwert|ohne|mit|o|n|a|na|st|vz"
    r"|actions?|obligations?|parts?|titres?|ordinaires?|nominatives?|porteur|valeurs?|mobilières?|opcvm|sicav|fcp|acci(?:ó|o)n(?:es)?|ordinarias?|nominativas?|bonos?|obligaci(?:ó|o)n(?:es)?|fondos?|participaci(?:ó|o)n(?:es)?|inversi(?:ó|o)n|valores|de|di|au|al|cotizado"
    r"|azion[ei]|ordinari[ae]|obbligazion[ei]|fond[oi]|quot[ae]|titol[oi]|comun[ei]|investimento|aandel(?:en)?|gewone|obligaties?|beleggingsfonds(?:en)?|effecten|participaties?|aç(?:ão|ões)|ordinárias?|obrigaç(?:ão|ões)|fundos?|unidades|participação|títulos?"
    r"|aktier?|aktion|fond(?:er|en)?|andel(?:ar|er|e)?|obligation(?:er|en)?|værdipapir(?:er)?|värdepapper|verdipapir(?:er)?|aksjer?|obligasjon(?:er)?|akcj[aei]|zwykł[ea]|akcie|kmenov[áé]|obligacj[aei]|jednostki|uczestnictwa|dluhopisy?|podílov[éý]|listy?|fundusz|cenn[éý]|papír(?:y)?|papiery?|wartościow[ey]",
    re.IGNORECASE,
)
_PART = match_any(
    r"\bas\s+(?:agents?|principals?|riskless\s+principal|broker|nominee|commission)\b|\bagency\s+basis\b|\bals\s+(?:kommission\w*|vermittler|eigenh[äa]ndler)\b|\ben\s+qualit[ée]\s+d"
)
_VENUE_FIELD = match_any(
    r"\A\W*(?:(?:execution|trading|trade|listing|market|dealing)\s+(?:venue|place|market)|venue|(?:place|market|exchange)\s+of\s+(?:execution|trading|listing)|(?:stock\s+)?exchange\b(?!\s+traded)|handelsplatz|b[öo]rsenplatz|ausf[üu]hrungs(?:platz|ort)|ort\s+der\s+ausf[üu]hrung|lieu\s+d|place\s+de\s+(?:cotation|n[ée]gociation)|march[ée]\s+d|centro\s+de\s+(?:ejecuci|negociaci)|lugar\s+de|mercado\s+de\s+(?:ejec|nego)|sede\s+di|plaats\s+van|handelsplats|handelssted|markedsplads|miejsce\s+wykonania|m[íi]sto)\b"
)
_VENUE = match_any(
    r"\b(?:stock\s+exchange|exchange|over\s+the\s+counter|otc|regulated\s+market|off[-\s]book|(?:wertpapier)?b[öo]rse|bourse|bolsa|borsa(?:\s+italiana)?|beurs|b[öo]rsen|b[øo]rs(?:en)?|burza|gie[łl]da|gie[łl]dy|spb|xetra|tradegate|gettex|euronext|nasdaq|nyse|lse|sets|aim|xlon|xetr|xpar|xams|mtf|otf|omx|turquoise|chi-?x|cboe|bats|quotrix|lang\s*&?\s*schwarz)\b"
)
_TOWN = re.compile(
    r"\W*(?:london|frankfurt(?:\s+am\s+main)?|new\s+york|paris|amsterdam|br[uü]ssels?|bruxelles|milano?|mailand|madrid|lisboa|lisbon|z[üu]rich|vienna|wien|stuttgart|m[üu]nchen|munich|d[üu]sseldorf|hamburg|berlin|hannover|stockholm|k[øo]benhavn|copenhagen|oslo|helsinki|warszawa|warsaw|praha|prague|dublin|hong\s+kong|singapore|tokyo|toronto|sydney|london\s+stock)\W*",
    re.IGNORECASE,
)
_ACCOUNT = match_any(
    r"\ba/c\b|\baccounts?\b|\b(?:junior|lifetime|flexible|innovative|stocks\s+(?:and|&)\s+shares|shares|cash)\s+isa\b|\bj?isa\b(?:\W{1,3}\d[\d\W]*)?\W*\Z|\b(?:sipp|ssas)\b|\b(?:joint|account|registered|beneficial)\s+(?:holders?|owners?|names?)\b|\bholder\b|\b(?:in|by)\s+(?:a\s+|our\s+)?nominees?\b|\bnominees?\W*\Z|\bnominees?\s+(?:name|limited|ltd|account|company|service|holding)|\bcustody\b|\bdesignated\b"
    r"|\b(?:personal|workplace|private|stakeholder)\s+pension\b|\bpension\s+(?:plan|scheme|a/c|pot|wrapper)\b|\A\W*(?:my|your|our|the)?\s*pension\W*\Z|\b(?:roth|traditional)\s+ira\b|\b(?:rollover|sep)?\s*ira\W*\Z|\b401\s?\(?k\)?|\b(?:rrsp|tfsa|resp|rrif)\b"
    r"|\A\W*(?:\w{0,20}depots?|gemeinschaftsdepot)(?:\W|\Z)(?!\s*inc)|\b(?:wertpapier|junior|kinder|gemeinschafts|einzel|verwahr)-?depot\b|\b\w{0,20}kont(?:o|en|os)\b|\b(?:depot|konto)?-?(?:inhaber(?:in)?|mitinhaber)\b(?!-?\s?aktie)|\bverwahr(?:art|ung|t)\b|\bgirosammelverwahrung\b|\baltersvorsorge\b"
    r"|\bcomptes?\b|\btitulaires?\b|\A\W*pea(?:-pme)?\W*\Z|\bassurance[-\s]vie\b|\bcuentas?\b|\bcotitular(?:es)?\b|\btitular(?:es)?\b|\bcont[oi]\b|\b(?:co)?intestatari[oa]\b|\bdossier\b|\b\w{0,20}rekening(?:en)?\b|\b(?:rekening)?houders?\b|\bcontas?\b|\brachun(?:ek|ku)\b|\bposiadacz\w{0,2}\b|\b(?:ike|ikze)\W*\Z"
    r"|\b[úu][čc]e?t(?:u|em)?\b|\bmajitel\w{0,2}\b|\b(?:aktie)?(?:dep[åa]|sparekonto|m[åa]nedsopsparing)\b|\binvesteringssparkonto\b|\bkapitalf[öo]rs[äa]kring\b|\bratepension\b|\baldersopsparing\b|\b(?:konto|dep[åo]t?)(?:havare|hav(?:er|are)|innehaver)\b|\binnehavare\b|\bindehaver\b"
)
# A company or a fund may be called after the exchange that it runs, or whose index it follows.
_FORM = match_any(
    r"\b(?:ag|se|sa|s\.a\.|plc|inc|corp|corporation|nv|n\.v\.|ltd|limited|llc|group|gruppe|holdings?|spa|s\.p\.a|ab|asa|oyj|etf|etc|etp|ucits|index|fund|fonds|gold|acc|dist|ordinary|ord|na|o\.n|shs|reg|cl|class|a/s)\b|\bs\.?a\.?\Z|\d"
)
_LEGAL_FORM = match_any(
    r"\b(?:ag|se|plc|inc|corp|corporation|nv|n\.v\.|llc|spa|s\.p\.a|asa|oyj|etf|etc|etp|ucits|index|funds?|fonds|trust|oeic|sicav|fcp|fond|fondo|fundo|fundusz|acc|dist|shs|ordinary|bonds?|notes?)\b"
)
# Who watches over a bank, at the foot of its page.
_WATCHED = match_any(
    r"\b(?:authori[sz]ed|regulated|registered\s+(?:in|office|no)|member\s+of|member\s+firm|supervised|finra|sipc|bafin|aufsicht\w*|zugelassen|handelsregister|hrb|vorstand|agr[ée]+e?\w*|r[ée]gul[ée]e|acpr|inscrit[ao]?|autorizad[ao]|cnmv|consob|banca\s+d|vergunning|afm|dnb|tillsyn|finansinspektionen|finanstilsynet|knf|[čc]nb)\b"
)


def is_of_account(name: str) -> bool:
    """Whether it says which account it is, or of which kind, and names no company."""
    return _ACCOUNT.search(name) is not None and _LEGAL_FORM.search(name) is None


def is_no_name(name: str) -> bool:
    words = _WORD.findall(name)
    has_word = any(len(word) >= _MIN_WORD for word in words)  # a day or a number is judged elsewhere
    if (has_word and all(_KINDS.fullmatch(word) for word in words)) or _PART.search(name) is not None:
        return True
    if _VENUE_FIELD.search(name) is not None or _TOWN.fullmatch(name) is not None:
        return True
    if is_of_account(name):
        return True
    return _VENUE.search(name) is not None and _FORM.search(name) is None


class BankNames:
    """What the lines at the head of a document are, and what the lines begin with that say who watches over it: found
    once, since a document may have many names."""

    def __init__(self, lines: Sequence[ReadLine]) -> None:
        own = [line for line in lines if line.source.cells and not line.labels]
        self._heads = {_simplify(line.source.cells[0].text) for line in own if line.index < _LINES_OF_HEAD}
        self._watched = [_simplify(line.text) for line in own if _WATCHED.search(line.text) is not None]

    def __contains__(self, name: str) -> bool:
        wanted = _simplify(name)
        return wanted in self._heads or any(text.startswith(f"{wanted} ") for text in self._watched)


def do_contradict(one: str, other: str) -> bool:
    """Whether two names share no word that is more than a kind."""
    first, second = _list_words(one), _list_words(other)
    return bool(first) and bool(second) and not first & second


def _list_words(name: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(name)}
    return {word for word in words if len(word) >= _MIN_WORD and _KINDS.fullmatch(word) is None}


def _simplify(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
