"""Whose dollar `$` is: countries that have a dollar or a peso of their own write it as the United States do."""

import re
from collections.abc import Collection, Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract.parties.foreign_signs import CANADIAN_POSTCODE, list_domain_countries

# In lower case: places, currencies, supervisors and registers.
_OTHER_DOLLARS = re.compile(
    r"\b(?:australia|new\s+zealand|singapore|hong\s+kong|canad(?:a|ian)|toronto|vancouver|montr[ée]al|calgary|edmonton|ottawa|winnipeg|halifax|qu[ée]bec"
    r"|ontario|alberta|manitoba|cad|ciro|iiroc|cipf|tsxv?|aud|asx|chess|sydney|melbourne|brisbane|perth|adelaide|canberra|abn|afsl|nzd|nzx"
    r"|auckland|wellington|christchurch|sharesies|ird|sgd|sgx|hkd|hkex|sehk|kowloon|gst|hst|qst|taiwan|taipei|twd|m[ée]xico|monterrey|guadalajara"
    r"|mxn|argentina|buenos\s+aires|ars|chile|clp|colombia|bogot[áa]|cop|uruguay|brazil|brasil|brl|jamaica|jmd|bahamas|bsd|barbados|bbd"
    r"|trinidad|ttd|bermuda|cayman|belize|guyana|suriname|fiji|namibia|liberia|brunei|zimbabwe|dominican\w*|philippines)\b"
)
# Of domains, securities and accounts.
_COUNTRIES = frozenset({"AR", "AU", "CA", "CL", "CO", "HK", "MX", "NZ", "SG", "TW"})
_SMALL_COUNTRIES = frozenset({"BB", "BM", "BN", "BS", "BZ", "FJ", "GY", "JM", "KY", "NA", "TT", "UY"})
# `NT$`, `Mex$`
_GLUED_DOLLAR = re.compile(r"(?<![A-Za-z])(?!US\$)[A-Za-z]{1,4}\$")
_NAMES_AMERICAN_DOLLAR = re.compile(r"\bUSD\b|US\$|\b(?:U\.?S\.?|American)[-\s]dollars?\b", re.IGNORECASE)
_MAX_LINE = 400  # letters


def may_be_other_dollar(page: Sequence[TextLine], *, is_american: bool, securities: Collection[str] = ()) -> bool:
    """Whether a bare `$` may be that of another country than the United States.

    `is_american`: who wrote the page is at home there, so a country that is named is a customer's or a market's.
    `securities`: in which countries they are; some of them are traded in the dollar of their own.
    """
    texts = [line.text[:_MAX_LINE] for line in page]
    if names_american_dollar(page):
        return False
    if any(map(_GLUED_DOLLAR.search, texts)) or not _COUNTRIES.isdisjoint(securities):
        return True
    return not is_american and any(map(names_other_dollar, texts))


def names_american_dollar(page: Sequence[TextLine]) -> bool:
    """`USD`, `US$`: then a bare `$` beside it is the same."""
    return any(_NAMES_AMERICAN_DOLLAR.search(line.text[:_MAX_LINE]) for line in page)


def names_other_dollar(text: str) -> bool:
    if _OTHER_DOLLARS.search(text.lower()) is not None or CANADIAN_POSTCODE.search(text) is not None:
        return True
    domains = {country.upper() for country in list_domain_countries(text)}
    return not (_COUNTRIES | _SMALL_COUNTRIES).isdisjoint(domains)
