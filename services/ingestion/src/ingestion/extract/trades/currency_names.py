"""Which currencies a text names: by their codes, signs and words in the languages of Europe.

A dollar that says not whose it is may be one of several.
"""

import re
from collections.abc import Iterator

from ingestion.extract.trades.numbers import CURRENCIES, DOLLARS

PENNY = "GBX"
_POUND = "GBP"
_WORDS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"USD"}),
        (
            r"u\.?s\.?[-\s]?dollars?|american\s+dollars?|amerikanischen?[rn]?\s+dollars?|dollars?\s+(?:am[ée]ricains?|us|des\s+[ée]tats-unis)|d[óo]lar(?:es)?\s+(?:estadounidenses?|(?:norte)?americanos?|us)"
            r"|dollar[io]\s+(?:statunitens[ei]|american[io]|usa|us)|amerikaanse\s+dollars?|amerikansk[ea]?\s+dollars?|dolar\w{0,4}\s+(?:ameryka[ńn]sk\w{1,4}|usa)"
        ),
    ),
    (
        frozenset({"CAD"}),
        r"(?:canadian|kanadische[rn]?|canadese|canadiske|kanadensiska)\s+dollars?|dollars?\s+canadiens?|d[óo]lar(?:es)?\s+canadi?enses?|dollar[io]\s+canadesi?|dolar\w{0,4}\s+kanadyjsk\w{1,4}",
    ),
    (
        frozenset({"AUD"}),
        r"(?:australian|australische[rn]?|australische|australske|australiska)\s+dollars?|dollars?\s+australiens?|d[óo]lar(?:es)?\s+australianos?|dollar[io]\s+australian[io]|dolar\w{0,4}\s+australijsk\w{1,4}",
    ),
    (
        frozenset({"CHF"}),
        r"(?:schweizer|swiss|zwitserse|schweiziska|schweiziske)[-\s]*fran(?:ken?|cs?|ks?)|schweizerfrancs?|francs?\s+suisses?|francos?\s+su[ií][zç]os?|franch?[io]\s+svizzer[io]|frank\w{0,3}\s+szwajcarsk\w{1,4}",
    ),
    (
        frozenset({_POUND}),
        (
            r"pfund\s+sterling|britische[ns]?\s+pfund|(?:british\s+)?pounds?\s+sterling|british\s+pounds?|livres?\s+sterling|libras?\s+esterlinas?|lir[ae]\s+sterlin[ae]|sterline|britse?\s+pond(?:en)?|pond\s+sterling"
            r"|(?:britisk|brittisk|engelsk)[ea]\s+pund|pund\s+sterling|funt\w{0,4}\s+(?:szterling\w{0,3}|brytyjsk\w{1,4})"
        ),
    ),
    (
        frozenset({"SEK"}),
        r"(?:swedish|schwedische[rn]?|zweedse|svenske|svenska)\s+kron\w{1,3}|couronnes\s+su[ée]doises|coronas\s+suecas|corone\s+svedesi|coroas\s+suecas|kor[óo]n\w?\s+szwedzk\w{1,4}",
    ),
    (
        frozenset({"DKK"}),
        r"(?:danish|d[äa]nische[rn]?|deense|danske|danska)\s+kron\w{1,3}|couronnes\s+danoises|coronas\s+danesas|corone\s+danesi|coroas\s+dinamarquesas|kor[óo]n\w?\s+du[ńn]sk\w{1,4}",
    ),
    (
        frozenset({"NOK"}),
        r"(?:norwegian|norwegische[rn]?|noorse|norske|norska)\s+kron\w{1,3}|couronnes\s+norv[ée]giennes|coronas\s+noruegas|corone\s+norvegesi|coroas\s+norueguesas|kor[óo]n\w?\s+norwesk\w{1,4}",
    ),
    (frozenset({"PLN"}), r"z[łl]ot(?:y|ych|e|ys)"),
    (frozenset({"JPY"}), r"(?:japanese\s+|japanische[rn]?\s+)?yens?|yens?\s+japon[ae]i?s(?:es)?"),
    (frozenset({"EUR"}), r"euros?|euro[ns]"),
    (DOLLARS, r"dollars?|d[óo]lar(?:es)?|dollari|dolar\w{1,4}"),
)
_GROUPS = {f"g{index}": codes for index, (codes, _) in enumerate(_WORDS)}
_SIGNS = {"€": frozenset({"EUR"}), "£": frozenset({_POUND}), "$": DOLLARS}
NAME = rf"(?:(?-i:{'|'.join(sorted(CURRENCIES))})|u\.?s\.?[-\s]?\$|[€£$]|{'|'.join(words for _, words in _WORDS)})"
_NAME = re.compile(
    rf"(?<![^\W\d_])(?P<code>(?-i:{'|'.join(sorted(CURRENCIES))}))(?![^\W\d_])|(?P<us>\bUS\$)|(?P<sign>(?<![A-Z])[€£$])"
    + "".join(rf"|(?P<g{index}>(?<!\w)(?:{words})(?!\w))" for index, (_, words) in enumerate(_WORDS)),
    re.IGNORECASE,
)


def list_named(text: str) -> Iterator[frozenset[str]]:
    """What each name of a currency may mean, in order; a penny is its pound."""
    for match in _NAME.finditer(text):
        kind = match.lastgroup or ""
        if kind == "code":
            yield frozenset({_POUND if match[0] == PENNY else match[0]})
        elif kind == "us":
            yield frozenset({"USD"})
        else:
            yield _SIGNS[match[0]] if kind == "sign" else _GROUPS[kind]


# In which currency all is counted together, what is left on an account, and what it costs in a year.
_OF_ACCOUNT = re.compile(
    r"\b(?:reporting|valuation|reference|portfolio|home)\s+currency\b"
    r"|\b(?:custody|safe-?keeping|platform|account|annual|inactivity)\s+(?:fee|charge)s?\b|\b(?:depot|verwahr|kontof[üu]hrungs)-?(?:geb[üu]hr(?:en)?|entgelte?|preis)\b|\bdroits\s+de\s+garde\b|\bfrais\s+de\s+(?:garde|tenue)\b|\b(?:comisi[óo]n|gastos)\s+de\s+(?:custodia|administraci[óo]n)\b"
    r"|\bspese\s+di\s+(?:custodia|deposito)\b|\bbewaar(?:loon|kosten)\b|\bservicekosten\b|\bcomiss[ãa]o\s+de\s+(?:guarda|cust[óo]dia)\b|\bdepot(?:gebyr|avgift)\b|\bf[öo]rvar(?:ings)?avgift\b|\bop[łl]ata\s+za\s+(?:prowadzenie|przechowywanie)\b|\bpoplatek\s+za\s+(?:veden[íi]|spr[áa]vu)\b"
    r"|\b(?:depot|berichts|referenz|bewertungs)-?w[äa]hrung\b|\bvalued\s+in\b"
    r"|\bdevise\s+(?:de\s+r[ée]f[ée]rence|du\s+portefeuille)|\b(?:divisa|moneda)\s+de\s+referencia|\b(?:valuta|divisa)\s+di\s+riferimento"
    r"|\b(?:referentie|rapportage)valuta\b|\bmoeda\s+de\s+refer[êe]ncia|\bwaluta\s+referencyjna"
    r"|\b(?:cash\s+|account\s+|closing\s+|opening\s+)?balance\b|\bkontostand\b|\bsaldo\b|\bsolde\b|\bstan\s+(?:konta|rachunku)|\bz[ůu]statek\b"
    r"|\bper\s+(?:year|annum|month)\b|\bp\.\s?a\.|\bpro\s+(?:jahr|monat)\b|\bpar\s+(?:an|mois)\b|\b(?:al|por)\s+a[ñn]o\b|\ball['’]anno\b|\bper\s+jaar\b|\bao\s+ano\b",
    re.IGNORECASE,
)


# It may be that of the rows of a statement as well.
_BASE = re.compile(
    r"\bbase\s+currency\b|\b(?:basis|haupt)-?w[äa]hrung\b|\bdevise\s+de\s+base\b|\b(?:divisa|moneda|moeda|valuta)\s+(?:di\s+)?base\b|\bbas(?:is)?valuta\b|\bwaluta\s+bazowa\b|\bz[áa]kladn[íi]\s+m[ěe]na\b",
    re.IGNORECASE,
)


def names_base_currency(text: str) -> bool:
    return _BASE.search(text) is not None


def names_currency_of_account(text: str) -> bool:
    """Whether a line speaks of the account as a whole: then its currency is not that of a trade's bare amounts."""
    return _OF_ACCOUNT.search(text) is not None


# Of ordinary shares; funds, and what Luxembourg or Ireland has numbered, are dealt in any.
_BY_COUNTRY = {
    "US": "USD",
    "GB": "GBP",
    "CH": "CHF",
    "SE": "SEK",
    "DK": "DKK",
    "NO": "NOK",
    "PL": "PLN",
    "CZ": "CZK",
    "JP": "JPY",
    "CA": "CAD",
    "AU": "AUD",
    **dict.fromkeys(("DE", "FR", "ES", "IT", "NL", "PT", "AT", "BE", "FI"), "EUR"),
}


def is_of_other_country(isin: str | None, currency: str | None) -> bool:
    """Whether a security is of a country that has another currency."""
    return isin is not None and currency is not None and _BY_COUNTRY.get(isin[:2], currency) != currency
