"""Countries that have a dollar or a peso of their own, and write it `$` as the United States do."""

import re

# In lower case: places, currencies, supervisors and registers.
_OTHER_DOLLARS = re.compile(
    r"\b(?:australia|new\s+zealand|singapore|hong\s+kong|canad(?:a|ian)|toronto|vancouver|montr[ée]al|calgary|edmonton|ottawa|winnipeg|halifax|qu[ée]bec"
    r"|ontario|alberta|manitoba|cad|ciro|iiroc|cipf|tsxv?|aud|asx|chess|sydney|melbourne|brisbane|perth|adelaide|canberra|abn|afsl|nzd|nzx"
    r"|auckland|wellington|christchurch|sharesies|ird|sgd|sgx|hkd|hkex|sehk|kowloon|gst|hst|qst|taiwan|taipei|twd|m[ée]xico|monterrey|guadalajara"
    r"|mxn|argentina|buenos\s+aires|ars|chile|clp|colombia|bogot[áa]|cop|uruguay|brazil|brasil|brl|jamaica|jmd|bahamas|bsd|barbados|bbd"
    r"|trinidad|ttd|bermuda|cayman|belize|guyana|suriname|fiji|namibia|liberia|brunei|zimbabwe|dominican\w*|philippines)\b"
)
# `NT$`, `Mex$`
GLUED_DOLLAR = re.compile(r"(?<![A-Za-z])(?!US\$)[A-Za-z]{1,4}\$")
NAMES_AMERICAN_DOLLAR = re.compile(r"\bUSD\b|US\$|\b(?:U\.?S\.?|American)[-\s]dollars?\b", re.IGNORECASE)


def names_other_dollar(text: str) -> bool:
    return _OTHER_DOLLARS.search(text.lower()) is not None
