"""Whether dates of a document may be written as Europe does, although its amounts are in dollars."""

import re

# In lower case. A dollar alone says nothing: a broker in London sells American shares, and so does one in Dublin.
_WRITES_DAY_FIRST = re.compile(
    r"\b(?:fca|financial conduct authority|central bank of ireland|mifid|gbp|eur|vat|gst|iban|eori|united kingdom"
    r"|england|scotland|wales|ireland|london|dublin|edinburgh|australia|new zealand|singapore|hong kong|india"
    r"|south africa|malta|cyprus|luxembourg|germany|france|spain|switzerland|zurich|geneva"
    r"|liechtenstein|norway|finland|iceland|estonia|latvia|lithuania|czech\w*|slovakia|slovenia|croatia"
    r"|hungary|romania|bulgaria|greece|turkey|t[üu]rkiye|ukraine"
    r"|emirates|uae|dubai|abu dhabi|saudi arabia|qatar|bahrain|kuwait|oman|israel|tel aviv|egypt|morocco|tunisia"
    r"|nigeria|lagos|kenya|nairobi|ghana|uganda|tanzania|rwanda|mauritius|pakistan|bangladesh|sri lanka"
    r"|karachi|lahore|chennai|hyderabad|bangalore|pune|mumbai"
    r"|delhi|bengaluru"
    r"|indonesia|jakarta|malaysia|kuala lumpur|thailand|bangkok|vietnam|hanoi|china|shenzhen|serbia|armenia"
    r"|moldova|nepal|philippines|manila|taiwan|taipei"
    r"|mexico|m[ée]xico|brazil|brasil|argentina|chile|colombia|peru|uruguay|panama|jamaica|bahamas|barbados"
    r"|bermuda|cayman"
    r"|italy|netherlands|belgium|austria|portugal|denmark|sweden|poland)\b|£|€"
)


def may_write_day_first(text: str) -> bool:
    return _WRITES_DAY_FIRST.search(text) is not None


# `03/11/2026 (dd/mm/yyyy)`, `TT.MM.JJJJ`
_FORM = re.compile(
    r"\b(?:(?P<day>dd|tt|jj|gg)[./ -]{1,2}mm|mm[./ -]{1,2}(?:dd|tt|jj|gg))[./ -]{1,2}(?:[yja]{2,4}|rrrr|[åa]{2,4})\b"
)


def find_said_orders(text: str) -> set[bool]:
    """Whether the day stands first, by the form of dates that a text in small letters names."""
    return {match["day"] is not None for match in _FORM.finditer(text)}
