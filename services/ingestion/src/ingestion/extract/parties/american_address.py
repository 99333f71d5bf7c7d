"""Whether pages carry an address in the United States: a place, a state, and a zip code of that state.

A country, a market's place or a supervisor's name says nothing: they may be those of a security, or of a broker that
carries out the orders of another one.
"""

import re
from collections.abc import Iterable

# The first digits of a state's zip codes: `Berlin, DE 10117` is none of Delaware, nor `Client, ID 48213` of Idaho.
_ZIP_CODES = (
    (r"CT|MA|ME|NH|NJ|RI|VT", "0"),
    (r"NY|New\s+York", "1[0-4]"),
    (r"PA|Pennsylvania", "1[5-9]"),
    (r"DE|Delaware", "19[7-9]"),
    (r"DC|D\.C\.|MD|NC|SC|VA|WV", "2"),
    (r"AL|FL|GA|MS|TN", "3"),
    (r"IN", "4[67]"),
    (r"MI", "4[89]"),
    (r"KY|OH", "4"),
    (r"IA|MN|MT|ND|SD|WI", "5"),
    (r"IL|KS|MO|NE", "6"),
    (r"AR|LA|OK|TX|Texas", "7"),
    (r"AZ|CO|NM|NV|UT|WY", "8"),
    (r"ID", "83"),
    (r"AK|CA|HI|OR|WA|California", "9"),
)
_STATE = "|".join(rf"(?:{states})\s+(?={digits})\d{{5}}" for states, digits in _ZIP_CODES)
_BEHIND_COMMA = re.compile(rf"[A-Za-z.]{{3}},\s*(?:{_STATE})(?:-\d{{4}})?(?![\d-])")
# Without a comma, and only a street in front: `LOS ANGELES CA 90026`, `12 Bay St, Boston MA 02110`.
_ALONE = re.compile(rf"(?:.{{3,60}},)?\s*[A-Z][A-Za-z.' ]{{2,30}}\s(?:{_STATE})(?:-\d{{4}})?\s*")
_OTHER_SIGN = re.compile(r"\b(?:FINRA|SIPC|FDIC|CUSIP|IRS|1099(?:-[A-Z])?|W-9|EIN|[Ss]ales [Tt]ax|USA|United States)\b")
_NO_ADDRESS = re.compile(
    r"\b(?:client|order|user|trade|account|customer|deal|member\s+id|ref(?:erence)?|type|number|no|nr|code|market|exchange|venue|issuer|registrar|transfer\s+agent"
    r"|depositary|custod\w+|clear(?:ed|ing|s)?|executed|executing|execution|through|via|carried|held|safe\w*|routed|not)\b",
    re.IGNORECASE,
)


def has_american_address(lines: Iterable[str]) -> bool:
    """Whether one line is such an address, and does not say that it is another's."""
    return bool(list_american_addresses(lines))


def list_american_addresses(lines: Iterable[str]) -> list[str]:
    texts = list(lines)
    found = [text for text in texts if _BEHIND_COMMA.search(text)]
    if any(map(_OTHER_SIGN.search, texts)):
        found += [text for text in texts if _ALONE.fullmatch(text)]
    return [text for text in found if not speaks_of_another(text)]


def speaks_of_another(text: str) -> bool:
    """Whether a line is about somebody else than who wrote the page: `Cleared through`, `Client ID`."""
    return _NO_ADDRESS.search(text) is not None
