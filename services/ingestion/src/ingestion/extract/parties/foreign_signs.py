"""What on a page says that who wrote it is at home in another country than the United States.

By forms that no American business has: a postcode with letters, a domain of a country, a telephone, a tax number. What
the customer has says nothing of the writer.
"""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.parties.customer_cells import is_buyer_cell

_MAX_CELLS = 12  # of a line
_MAX_CELL = 300  # letters

CANADIAN_POSTCODE = re.compile(
    r"\b[ABCEGHJ-NPRSTVXY]\d[A-Z][ -]\d[A-Z]\d\b"
    r"|\b(?:BC|AB|SK|MB|ON|QC|PQ|NB|NS|PE|NL|YT|NT|NU)[,\s]{1,3}[ABCEGHJ-NPRSTVXY]\d[A-Z]\d[A-Z]\d\b"
)
_BRITISH_POSTCODE = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}\b")
# The country at the end of a mail or web address; without either mark only in small letters, as a word of its own.
_DOMAIN = re.compile(
    r"(?:@|\b(?i:www)\.|\b(?i:https?)://)(?:[\w-]{1,60}\.){1,4}(?P<marked>[A-Za-z]{2})(?![\w-]|\.[A-Za-z])"
    r"|(?<![\w.@/-])[a-z\d-]{3,60}\.(?:(?:com?|net|org)\.)?(?P<bare>[a-z]{2})(?=$|[\s,;|/)·•])"
)
# What businesses of any country take: for the sound, or of a country that sells them.
_ANYWHERE = frozenset({"us", "io", "co", "ai", "me", "tv", "cc", "ly", "gg", "fm", "to", "sh", "so", "ws", "la", "vc"})
_TELEPHONE = re.compile(
    r"(?<![\w+])(?:\+\s?\(?[2-9]\d{0,2}|00[2-9]\d{0,2}(?=[\s()-]))\)?[\s().-]{0,2}\d[\d\s().-]{5,14}\d"
)
_TAX_NUMBER = re.compile(
    r"\b(?:VAT|GST(?:IN)?|HST|QST|TPS|TVQ|ABN|ACN|UEN|CNPJ|CUIT|NIF|NIP|CVR|IVA|TVA|BTW)\b\.?\s?"
    r"(?i:(?:reg(?:istration)?|id(?:entification)?)\b\.?\s?)?(?i:(?:no|nr|number|n[°º])\b\.?)?\W{0,3}(?=[A-Z]{0,3}[\s-]?\d)"
)
_LEGAL_FORM = re.compile(
    r"\b(?:GmbH|B\.V\.|N\.V\.|S\.r\.l\.?|S\.p\.A\.?|S\.L\.U?\.?|SARL|Ltda|Lda|Pty|Pte|Pvt|Private\s+Limited|Sdn\.?\s+Bhd"
    r"|s\.r\.o|[Ss]p\.\s?z\s?o\.\s?o|ApS|A/S|Oy|Kft|d\.o\.o|UAB|FZE|FZ-LLC|PLC|plc|S\.A\. de C\.V)(?!\w)"
)


def list_own_texts(page: Sequence[TextLine]) -> list[str]:
    """The cells of a page without those of the customer."""
    return [
        cell.text[:_MAX_CELL]
        for index, line in enumerate(page)
        for number, cell in enumerate(line.cells[:_MAX_CELLS])
        if not is_buyer_cell(page, index, number)
    ]


def has_foreign_sign(text: str) -> bool:
    forms = (CANADIAN_POSTCODE, _BRITISH_POSTCODE, _TELEPHONE, _TAX_NUMBER, _LEGAL_FORM)
    if any(form.search(text) for form in forms) or list_domain_countries(text):
        return True
    return bool(values.find_vat_ids(text)) or next(values.find_ibans(text), None) is not None


def list_domain_countries(text: str) -> list[str]:
    """The countries whose domains are in a text, in small letters, but for those that anybody takes."""
    found = ((match["marked"] or match["bare"]).lower() for match in _DOMAIN.finditer(text))
    return [country for country in found if country not in _ANYWHERE]
