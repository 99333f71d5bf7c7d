"""The holder of the account that an invoice is to be paid to: one of the signs of whose it is."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties.company_names import parse_name
from ingestion.extract.parties.third_parties import is_financier, tells_of_assignment

_HOLDER = labels.match_any(
    r"\b(?:konto-?inhaber(?:in)?|zahlungsempfänger(?:in)?|begünstigte[rn]?)\b",
    r"\baccount\s+(?:name|holder)\b|\bbeneficiary(?:\s+name)?\b",
    r"\b(?:cheques?|checks?|payable|payments?)\b[^.:]{0,40}\bto(?=\s+[A-Z])|\bplease\s+pay(?=\s+[A-Z])",
    r"\btitulaire(?:\s+du\s+compte)?\b|\bbénéficiaire\b|\btitular(?:\s+d[ae]\s+(?:la\s+)?(?:cuenta|conta))?\b|\bbeneficiári?o\b",
    r"\b(?:intestat(?:o|ari[oa])|beneficiario)\b(?:\s+a\b)?|\b(?:t\.?\s?n\.?\s?v\.?|ten\s+name\s+van|rekeninghouder)(?=\W)",
    r"\bwłaściciel\s+rachunku\b|\bmajitel\s+účtu\b|\bkontohaver\b|\bkontoinnehavare\b|\bbetalningsmottagare\b",
)
# Of a mandate the account is the customer's.
DEBIT = labels.match_any(
    r"mandat|lastschrift|bankeinzug|abbuch|abgebucht|eingezogen|einziehen|\bzieh(?:en|t)\b(?:[^.]|\.(?=\d)){0,60}\bein\b|\bbuch(?:en|t)\b(?:[^.]|\.(?=\d)){0,60}\bab\b",
    r"\bd[eé]bit(?!or|eur)|prélèv|prélev|domicilia(?!tion\s*(?:bancaire\s*)?:)|adeudo|\bcarg(?:o|ar\w{0,2})\s+en|\bcuenta\s+de\s+cargo|addebit|incasso|\bafgeschreven|\bgeïncasseerd",
    r"\bautogiro|\bdras\b|\btrækkes|\bbetalingsservice\b|\bpobran|\bpobierz|\bobciąż|\bpoleceni\w{1,2}\s+zapłaty|inkas[oe]|\bstrh[áa]v|\bstrhn",
)
# So it is where money goes back.
RETURNED = labels.match_any(
    r"erstatt|rückzahl|\brefund|\brembours|\brimbors|\breembols|devoluci|devolve|\bterug(?:betal|stort)|\bterug\b|\bzwro[ct]|\bvrac|\bvrát|tilbagebetal|återbetal",
)
_MAX_ABOVE = 3  # lines
_MAX_TEXT = 200  # letters of a cell


def find_account_holder(page: Sequence[TextLine], index: int, number: int) -> str | None:
    """The name behind such a label in this cell, or to its right; None where an account is debited, or where somebody
    is paid who bought the debt, or only passes the money on: an invoice is not its factor's."""
    line = page[index]
    text = line.cells[number].text[:_MAX_TEXT]
    match = _HOLDER.search(text)
    if match is None or labels.BUYER.search(text):
        return None
    near = page[max(0, index - _MAX_ABOVE) : index + 2]
    if any(words.search(other.text[: 4 * _MAX_TEXT]) for other in near for words in (DEBIT, RETURNED)):
        return None
    rest = text[match.end() :].strip(" :.-")
    if len(rest) < 2 and number + 1 < len(line.cells):
        rest = line.cells[number + 1].text[:_MAX_TEXT].strip()
    if not rest[:1].isupper() or tells_of_assignment(page, index):
        return None
    holder = parse_name(re.split(r"[,;]\s|\.\s|\s{2,}|\s[·|]\s", rest)[0].rstrip("."))
    return None if holder is None or is_financier(holder) else holder
