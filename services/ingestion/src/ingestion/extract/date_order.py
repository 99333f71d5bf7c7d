"""Whether dates of a document may be written as Europe does, although its amounts are in dollars."""

import re

# In lower case. A dollar alone says nothing: a broker in London sells American shares, and so does one in Dublin.
_WRITES_DAY_FIRST = re.compile(
    r"\b(?:fca|financial conduct authority|central bank of ireland|mifid|gbp|eur|vat|gst|iban|eori|united kingdom"
    r"|england|scotland|wales|ireland|london|dublin|edinburgh|australia|new zealand|singapore|hong kong|india"
    r"|south africa|malta|cyprus|luxembourg|germany|france|spain"
    r"|italy|netherlands|belgium|austria|portugal|denmark|sweden|poland)\b|£|€"
)


def may_write_day_first(text: str) -> bool:
    return _WRITES_DAY_FIRST.search(text) is not None
