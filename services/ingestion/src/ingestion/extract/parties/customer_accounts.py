"""Whose account it is: the customer's, from which money is taken or to which it goes back, stands on invoices too."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.parties.account_holder import DEBIT, RETURNED

_SAME_COLUMN = 12.0  # points
_NEAR_LINES = 3


def is_customers_account(page: Sequence[TextLine], index: int, start: int) -> bool:
    """Whether money is taken from an account, or goes back to it: by the words around it, and those above."""
    line = page[index]
    last = page[index - 1] if index else line
    is_near = last.page == line.page and line.top - last.top <= _MANDATE_GAP * max(line.height, last.height)
    above = last.text if index and is_near else ""
    before, behind = line.text[:start], line.text[start : start + _WITH_ACCOUNT]
    if _is_of_debit(before) or _DEBITED.search(behind):
        return True
    if _is_for_transfers(before):
        return any(RETURNED.search(other.text) for other in _list_near_above(page, index))
    return _is_debited(f"{above} {before}") or _is_in_mandate(page, index) or _is_in_customers_box(page, index)


# That it is done, not how it may be done: `zahlbar per Lastschrift oder Überweisung`, `incassokosten`.
_TAKEN = labels.match_any(
    r"\b(?:wir\s+(?:ziehen|buchen)|wird\b.{0,60}\b(?:abgebucht|eingezogen))\b|\bwe\s+(?:will\s+)?(?:collect|debit|take)\b|\bwill\s+be\s+(?:debited|collected|taken)\b|\b(?:sera|est)\s+prélevé|\bnous\s+prélev",
    r"\bse\s+cargará|\bcargaremos\b|\b(?:sarà|verrà)\s+addebitat|\baddebiteremo\b|\bwij\s+(?:incasseren|schrijven)\b|\bwordt\b.{0,60}\b(?:afgeschreven|geïncasseerd)\b|\bserá\s+debitad|\bdebitaremos\b",
    r"\bpobierzemy\b|\bzostanie\s+pobran|\b(?:bude|bud[oe]u)\b.{0,40}\bstržen|\bstrhneme\b|\binkasujeme\b|\btrækkes\b|\bvi\s+trækker\b|\bdras\b|\bvi\s+drar\b",
)


def tells_of_debit(page: Sequence[TextLine]) -> bool:
    return any(_TAKEN.search(line.text) for line in page)


def tells_of_own_account(text: str) -> bool:
    """`auf unser Konto`, `By EFT: Bank of Ireland, IBAN …`"""
    return _OUR_ACCOUNT.search(text) is not None or _TRANSFER_LABEL.search(text) is not None


_MANDATE_LINES = 4
_MANDATE_GAP = 2.5  # of a line's height: more between two lines parts their blocks
_MANDATE = labels.match_any(
    r"\b(?:sepa-?\s?)?(?:lastschrift|einzugs?)-?\s?(?:mandats?|ermächtigung)\b|\bdirect\s+debit\s+mandate\b|\bmandat\s+(?:sepa|de\s+prélèvement)\b",
    r"\b(?:bankverbindung|konto|account)\b.{0,25}\b(?:lastschrift|abbuchung|direct\s+debit)\b|\b(?:zahlungsart|zahlungsweise)\W+(?:sepa-?)?(?:lastschrift|bankeinzug)\b",
    r"\b(?:mandato|machtiging|orden\s+de\s+domiciliación|autorizzazione\s+(?:all['’])?addebito)\b",
)


def _is_in_mandate(page: Sequence[TextLine], index: int) -> bool:
    """`SEPA-Lastschriftmandat`, and in lines below it whose account is debited."""
    line = page[index]
    left = line.cells[0].left
    for above in reversed(page[max(0, index - _MANDATE_LINES) : index]):
        height = max(line.height, above.height)
        if above.page != line.page or line.top - above.top > _MANDATE_GAP * height:
            return False
        line = above
        own = next((cell for cell in above.cells if abs(cell.left - left) < _SAME_COLUMN), None)
        if own is None or _OUR_ACCOUNT.search(own.text):
            continue
        if _MANDATE.search(own.text):
            return True
        if next(values.find_ibans(own.text), None):  # the words there are of that one
            return False
        if DEBIT.search(own.text) or RETURNED.search(own.text):
            return True
    return False


_BOX_LINES = 5
_BOX_GAP = 2.2  # of a line's height
# A box on how the customer pays, or on his contract: whose account stands in it needs no word.
_OF_DEBIT = labels.match_any(
    r"\bmandat\w{0,4}s?-?\s?(?:ref|nr|n[°ºo]|id|num)|\bmandate\s+(?:ref|no|number|id)|\br[eé]f\w{0,7}\.?\s+(?:unique\s+)?(?:de\s+|del\s+|do\s+)?mandat|\brum\b|\bmandatskenmerk|\bkenmerk\s+machtiging",
    DEBIT.pattern,
    r"\b(?:sepa-?\s?)?lastschrift\b|\bbankeinzug\b|\bdirect\s+debit\b|\bprélèvement\b|\bdomicilia(?:ción|do|da)\b|\baddebito\s+diretto\b|\bdébito\s+dire[c]?to\b|\bincasso\b|\bpolecenie\s+zapłaty\b|\binkaso\b|\bbetalingsservice\b|\bautogiro\b",
)
_OF_CONTRACT = labels.match_any(
    r"\b(?:vertrag|tarif|zähler)(?:s?-?\s?(?:nummer|nr|daten|konto|beginn|partner)|s?stand)?\b|\b(?:contract|tariff|meter)(?:\s+(?:no|number|details|name))?\b|\b(?:contrat|compteur)\b|\bcontratt[oi]\b|\bcontatore\b",
    r"\bcontrat[oa]\b|\bcontador\b|\btarifa\b|\b(?:contract|meter|tarief)(?:nummer|gegevens)?\b|\b(?:umow|licznik|taryf)\w{0,3}\b|\b(?:smlouv|elektroměr|tarif)\w{0,3}\b|\b(?:aftale|måler|avtal|mätar|abonnement)\w{0,10}\b",
)


def _is_in_customers_box(page: Sequence[TextLine], index: int) -> bool:
    """Whether the lines of an account's block, in its columns, speak of a debit or of the customer's contract."""
    row = page[index]
    lefts = [cell.left for cell in row.cells[:2]]
    for step in (-1, 1):
        near = row
        end = min(max(index + step * _BOX_LINES, -1), len(page))
        for other in (page[at] for at in range(index + step, end, step)):
            if other.page != near.page or abs(other.top - near.top) > _BOX_GAP * max(other.height, near.height):
                break
            near = other
            cells = [cell for cell in other.cells if any(abs(cell.left - left) < _SAME_COLUMN for left in lefts)]
            text = " ".join(cell.text[:_WITH_ACCOUNT] for cell in cells)
            if _OUR_ACCOUNT.search(text) or next(values.find_ibans(text), None) is not None:
                break
            is_short = len(text) <= _LONGEST_ROW
            if is_short and (_OF_DEBIT.search(text) or _OF_CONTRACT.search(text)):
                return True
    return False


_LONGEST_ROW = 60  # letters of a label and its value: a sentence may speak of anything
_BEFORE_ACCOUNT = 60  # letters that may stand between whose account it is and its number
_YOUR_ACCOUNT = re.compile(
    r"\b(?:ihr(?:em|es|er|en)?|dein(?:em|es)?)\s+(?:bank|giro)?-?(?:konto|bankverbindung)"
    r"|\byour\s+(?:bank\s+|current\s+)?account|\bvotre\s+compte|\b(?:su|vuestra)\s+cuenta|\b(?:vostro|suo|tuo)\s+(?:conto|c/c)"
    r"|\b(?:uw|jouw|je)\s+(?:bank)?rekening|\b(?:sua|vossa|tua)\s+conta|\b(?:państwa|twojego|pan[ai])\s+(?:rachun|kont)"
    r"|\bwir\s+(?:ziehen|buchen)\s+(?:[^\W\d]{1,16}\s+){0,4}(?:ein|ab)\s+(?:von|vom)\b"
    r"|\b(?:vaš|tv)\w{1,4}\s+účt|\b(?:din|jeres|deres)\s+konto|\b(?:ditt|ert)\s+(?:bank)?konto",
    re.IGNORECASE,
)
_OUR_ACCOUNT = re.compile(rf"\b{labels.OUR}\b", re.IGNORECASE)


_WITH_ACCOUNT = 110  # letters, with those of an account
_FROM_ACCOUNT = re.compile(r"\bvom\s+(?:giro)?konto\b", re.IGNORECASE)
# `IBAN DE… wird am 3.11. abgebucht`: in the sentence, not in the next column's heading.
_DEBITED = labels.match_any(
    r"^(?:[^.!?|]|\.(?=\s?\d)){0,90}\b(?:abgebucht|eingezogen|belastet|debited|prélevée?s?|débitée?s?|cargará|addebitat[oi]|afgeschreven|geïncasseerd|debitad[oa]|pobrana|pobierzemy|dras|trækkes)\b"
)


def _is_of_debit(before: str) -> bool:
    """Whether the sentence right in front of an account speaks of money that is taken, or goes back."""
    sentence = re.split(r"[.!?]\s", before)[-1][-_BEFORE_ACCOUNT:]
    words = [match.end() for pattern in (DEBIT, RETURNED, _FROM_ACCOUNT) for match in pattern.finditer(sentence)]
    return bool(words) and _OUR_ACCOUNT.search(sentence, max(words)) is None


# A sentence of its own, and nothing else up to the account: `By EFT: Bank of Ireland, IBAN …`.
_TRANSFER = re.compile(
    r"(?:^\W*|[.!?]\s+)(?:(?:by|per|mit|mittels|par|por|con|mediante|tramite|via|met|med|via|genom)\s+(?:eft|(?:bank|credit)\s+transfer|überweisung|virement|transferencia"
    r"|bonifico|overschrijving|transferência|overførsel|överföring)|przelewem|(?:bankovním\s+)?převodem)\s?:"
    r"[^:.!?]{0,40}(?:\biban\W{0,3})?$",
    re.IGNORECASE,
)


_TRANSFER_LABEL = re.compile(_TRANSFER.pattern.partition(r"[^:.!?]{0,40}")[0], re.IGNORECASE)


def _is_for_transfers(before: str) -> bool:
    return _TRANSFER.search(before) is not None


def _list_near_above(page: Sequence[TextLine], index: int) -> Sequence[TextLine]:
    return [line for line in page[max(0, index - _NEAR_LINES) : index] if line.page == page[index].page]


def is_below_debit(page: Sequence[TextLine], index: int) -> bool:
    """An account in pieces is believed only where nothing near it speaks of a debit, whosever column that is."""
    near = [*_list_near_above(page, index), page[index]]
    return any(words.search(line.text) for line in near for words in (DEBIT, RETURNED))


def _is_debited(before: str) -> bool:
    """Whether an account is the reader's, by the words in front: `… wird von Ihrem Konto DE… abgebucht`."""
    yours = [match.end() for match in _YOUR_ACCOUNT.finditer(before)]
    if not yours or len(before) - yours[-1] > _BEFORE_ACCOUNT:
        return False
    return _OUR_ACCOUNT.search(before, yours[-1]) is None
