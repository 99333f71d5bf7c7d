"""The numbers of whoever is to be paid: of their tax office, and of their account."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.account_holder import DEBIT, RETURNED
from ingestion.extract.account_words import is_account_of_assignee, is_of_other_purpose, is_page_of_assignment
from ingestion.extract.company_names import normalize_name
from ingestion.extract.customer_cells import is_buyer_cell
from ingestion.extract.page_blocks import BLOCK_GAP
from ingestion.extract.tax_ids import find_tax_ids
from ingestion.extract.third_parties import is_bank
from ingestion.extract.value_places import list_texts_below
from ingestion.extract.vat_id_signs import is_suppliers_number

_SAME_COLUMN = 12.0  # points
_FAR_ABOVE = 20  # lines that a heading may stand above what is said of it
_NEAR_ABOVE = 6
_NEAR_COLUMNS = 3  # lines that a foot's columns begin above
_BLOCK_LINES = 12  # of an address, with those beside it
_MAX_CELLS_BEFORE = 6
_OF_ACCOUNT = labels.match_any(r"\b(?:iban|bic|swift|blz|sort\s+code|bankgiro|plusgiro|konto\w{0,8}|account)\b")
_LONGEST_HEADING = 40
_MAX_LABELLED = 200  # cells of a page that speak of tax numbers: more are no supplier's, and each has its surroundings
_MAX_ACCOUNTS = 50  # of a page: no supplier has more, and each has its surroundings
_MIN_SHARE_OF_HEIGHT = 0.6  # of that of the largest account on the page


@dataclass(frozen=True, slots=True)
class _Place:
    tax_id: str
    line: int
    cell: int


def find_vat_id(page: Sequence[TextLine], supplier_name: str | None) -> str | None:
    """The one tax number that is not the customer's."""
    found: list[_Place] = []
    found_below: list[_Place] = []
    labelled = [
        (index, number)
        for index, line in enumerate(page)
        for number, cell in enumerate(line.cells)
        if labels.VAT_ID.search(cell.text)
    ]
    for index, number in labelled if len(labelled) <= _MAX_LABELLED else ():
        line, cell = page[index], page[index].cells[number]
        if is_buyer_cell(page, index, number) and not _is_our_number(cell.text):
            continue
        if _YOUR_NUMBER.search(cell.text):
            continue
        if supplier_name is not None and _is_somebody_elses(page, index, number, supplier_name):
            continue
        beside = line.cells[number + 1].text if number + 1 < len(line.cells) else ""
        ids = find_tax_ids(cell.text) or find_tax_ids(f"{cell.text} {beside}")
        found += [_Place(tax_id, index, number) for tax_id in ids[:1]]
        if not ids:
            below = list_texts_below(page, index, cell)
            found_below += [_Place(tax_id, index, number) for text in below for tax_id in find_tax_ids(text)]
    places = found or found_below or list(_list_bare_in_foot(page, supplier_name))
    for choose in (
        partial(_keep_signed, supplier_name=supplier_name),
        _keep_below_seller,
        partial(_keep_near_name, supplier_name=supplier_name),
    ):
        distinct = {place.tax_id for place in choose(page, places)}
        if len(distinct) == 1:
            return distinct.pop()
    return None


def _list_bare_in_foot(page: Sequence[TextLine], supplier_name: str | None) -> Iterator[_Place]:
    """`ATU67123454` without a label, in a line below the supplier's name or in its own."""
    for index, line in enumerate(page[len(page) // 2 :] if supplier_name else (), len(page) // 2):
        near = [other for other in page[max(0, index - _NEAR_COLUMNS + 1) : index + 1] if other.page == line.page]
        if not any((supplier_name or "") in cell.text for other in near for cell in other.cells):
            continue
        for number, cell in enumerate(line.cells):
            ids = values.find_vat_ids(cell.text)
            if len(ids) != 1 or ids[0] != re.sub(r"[\s.-]", "", cell.text) or is_buyer_cell(page, index, number):
                continue
            above = [
                other.text for row in near[:-1] for other in row.cells if abs(other.left - cell.left) < _SAME_COLUMN
            ]
            if all((supplier_name or "") in text or _OF_REGISTER.search(text) for text in above):
                yield _Place(ids[0], index, number)


# What stands over a business's number in a column of its foot; anything else may be another one's name.
_OF_REGISTER = re.compile(
    r"^\W*(?:(?:LG|HG|AG|RG|FN|HR\s?[AB]|RCS|KVK|BIC|IBAN|UID)\b|(?i:firmenbuch|handelsregister|registergericht|amtsgericht|landesgericht|handelsgericht|sitz\b|tel\b|www\.))"
)


def _is_somebody_elses(page: Sequence[TextLine], index: int, number: int, supplier_name: str) -> bool:
    """Whether the nearest name before a number is another company's: `Ein Partner der Verbund AG, USt-IdNr. …`.

    A bank is no other one: it stands in the column beside the number, and prints none of its own.
    """
    ours = normalize_name(supplier_name)
    for at, cell, text in _list_texts_before(page, index, number):
        if ours and ours in normalize_name(text):
            return False
        others = _NO_COMPANY.sub(" ", text)
        company = labels.COMPANY.search(others)
        is_of_bank = at != index or cell is not page[index].cells[number]
        if company and not is_bank(others[: company.end()]) and not (is_of_bank and _has_account_below(page, at, cell)):
            return True
    return False


# `AG Mannheim HRA 704411` is a court unless a name stands before it, and `SARL au capital de 12 000 €` says what the
# company is whose page it is.
_NO_COMPANY = re.compile(
    r"(?:^\W*|[^\w\s.)]\s*|gericht:?\s+|\b(?:mbH|GmbH|KG|OHG|UG|GbR|SE)\s+|\be\.\s?K\.\s+)AG\s+[^\W\d].{1,30}?\bHR\s?[AB]\b"
    r"|\bHR\s?[AB]\s*\d[\d\s]{1,9}\W{0,3}AG\b"
    r"|^\W*(?:S\.?A\.?R\.?L\.?|S\.?A\.?S?\.?U?|EURL|S\.?R\.?L\.?)\s+(?:(?i:unipersonnelle)\s+)?(?:(?i:au\s+capital)\b|(?i:unipersonnelle)\W*$)"
)


def _list_texts_before(page: Sequence[TextLine], index: int, number: int) -> Iterator[tuple[int, TextCell, str]]:
    """In the cell, to its left, and above in its column as far as its block goes, from the nearest on."""
    line = page[index]
    cell = line.cells[number]
    label = labels.VAT_ID.search(cell.text)
    yield index, cell, cell.text[: label.start()] if label else ""
    for other in reversed(line.cells[max(0, number - _MAX_CELLS_BEFORE) : number]):
        yield index, other, other.text
    lowest, has_gap = line.top, False
    for at in range(index - 1, max(-1, index - 1 - _BLOCK_LINES), -1):
        for other in page[at].cells if page[at].page == line.page else ():
            if abs(other.left - cell.left) >= _SAME_COLUMN:
                continue
            has_gap |= lowest - page[at].top > BLOCK_GAP * max(line.height, page[at].height)
            if has_gap and index - at > _NEAR_COLUMNS:
                return
            lowest = page[at].top
            yield at, other, other.text


def _has_account_below(page: Sequence[TextLine], index: int, cell: TextCell) -> bool:
    """Whether a column is that of a bank, whatever the bank is called."""
    return any(
        _OF_ACCOUNT.search(other.text)
        for line in page[index : index + _NEAR_COLUMNS]
        for other in line.cells
        if abs(other.left - cell.left) < _SAME_COLUMN
    )


def _keep_signed(page: Sequence[TextLine], places: Sequence[_Place], supplier_name: str | None) -> Sequence[_Place]:
    """All, if they are of one number and something says at one of them that it is the supplier's."""
    is_one = len({place.tax_id for place in places}) == 1
    return places if is_one and any(_is_signed(page, place, supplier_name) for place in places) else ()


def _is_signed(page: Sequence[TextLine], place: _Place, supplier_name: str | None) -> bool:
    if _is_our_number(page[place.line].cells[place.cell].text):
        return True
    return is_suppliers_number(page, place.line, place.cell, place.tax_id, supplier_name)


def _keep_below_seller(page: Sequence[TextLine], places: Sequence[_Place]) -> Sequence[_Place]:
    """Those of whom the nearest heading in their column calls the seller, however far above."""
    return [place for place in places if _is_below_seller(page, place)]


def _is_below_seller(page: Sequence[TextLine], place: _Place) -> bool:
    line = page[place.line]
    left = line.cells[place.cell].left
    for above in reversed(page[max(0, place.line - _FAR_ABOVE) : place.line]):
        for other in above.cells:
            if above.page != line.page or abs(other.left - left) > _SAME_COLUMN or len(other.text) > _LONGEST_HEADING:
                continue
            if labels.SELLER.search(other.text) or labels.BUYER.search(other.text):
                return labels.SELLER.search(other.text) is not None
    return False


def _keep_near_name(page: Sequence[TextLine], places: Sequence[_Place], supplier_name: str | None) -> Sequence[_Place]:
    """Those below the supplier's name in its column, or beside it in a foot; below it may be the customer's address."""
    near = [place for place in places if supplier_name and _is_near_name(page, place, supplier_name)]
    return [place for place in near if _is_signed(page, place, supplier_name)]


def _is_near_name(page: Sequence[TextLine], place: _Place, name: str) -> bool:
    line = page[place.line]
    if name in line.text:
        return True
    left = line.cells[place.cell].left
    return any(
        abs(cell.left - left) < _SAME_COLUMN and name in cell.text
        for above in page[max(0, place.line - _NEAR_ABOVE) : place.line]
        for cell in above.cells
        if above.page == line.page
    )


def list_read_lines(page: Sequence[TextLine], lines: Sequence[TextLine]) -> list[TextLine]:
    """Those of `lines` that a person reads for the account: not what is much smaller than an account on the page that
    is not the customer's. Whoever wants to be paid in a supplier's place may write his own where a machine looks first
    and no eye does."""
    tallest = max((page[index].height for index, _ in _list_accounts(page)), default=0.0)
    return [line for line in lines if line.height >= _MIN_SHARE_OF_HEIGHT * tallest]


def find_iban(page: Sequence[TextLine], currency: str | None = None) -> str | None:
    """The first whose check digits are right: suppliers list several accounts of theirs, and of their customer's at
    most the one that they debit. Not one beside which something else is said; where the debt was assigned only the one
    of which it is said that nothing else is paid to."""
    accounts = list(_list_accounts(page))
    tallest = max((page[index].height for index, _ in accounts), default=0.0)
    read = [(index, iban) for index, iban in accounts if page[index].height >= _MIN_SHARE_OF_HEIGHT * tallest]
    is_assigned = is_page_of_assignment(page)
    if is_assigned and len({iban for _, iban in read}) > 1:
        own = {iban for index, iban in read[:_MAX_ACCOUNTS] if is_account_of_assignee(page, index, iban)}
        read = [(index, iban) for index, iban in read if iban in own] if len(own) == 1 else []
        if not read:
            return None
    for index, iban in read[:_MAX_ACCOUNTS]:
        if not is_of_other_purpose(page, index, iban, currency, is_assigned=is_assigned):
            return iban
    if read:
        return None
    polish = (iban for index in range(len(page)) for iban in _find_polish_account(page, index, currency))
    return next(polish, None)


def _list_accounts(page: Sequence[TextLine]) -> Iterator[tuple[int, str]]:
    """Those that are not the customer's, with the numbers of their lines."""
    for index, line in enumerate(page):
        if _is_buyers_line(page, index):
            continue
        for iban in [*values.find_ibans(line.text), *_find_broken(page, index)]:
            if not _is_customers(page, index, line.text.find(iban[:4])):
                yield index, iban


def _is_buyers_line(page: Sequence[TextLine], index: int) -> bool:
    return any(labels.BUYER.search(cell.text) for cell in page[index].cells) or is_buyer_cell(page, index, 0)


def _is_customers(page: Sequence[TextLine], index: int, start: int) -> bool:
    """Whether money is taken from an account, or goes back to it: by the words around it, and those above."""
    line = page[index]
    above = page[index - 1].text if index else ""
    before, behind = line.text[:start], line.text[start : start + _WITH_ACCOUNT]
    if _is_of_debit(before) or _DEBITED.search(behind):
        return True
    if _is_for_transfers(before):
        return any(RETURNED.search(other.text) for other in _list_near_above(page, index))
    return _is_debited(f"{above} {before}") or _is_in_mandate(page, index)


_REST_OF_ACCOUNT = re.compile(r"[A-Z0-9 ]{1,24}")


def _find_broken(page: Sequence[TextLine], index: int) -> Iterator[str]:
    """Accounts of which the line below, in the same cell, has the end and nothing else."""
    line = page[index]
    below = page[index + 1] if index + 1 < len(page) and page[index + 1].page == line.page else None
    for cell in line.cells if below is not None else ():
        rest = next(
            (other.text for other in (below.cells if below else ()) if abs(other.left - cell.left) < _SAME_COLUMN), ""
        )
        if not _REST_OF_ACCOUNT.fullmatch(rest) or _is_below_debit(page, index):
            continue
        if next(values.find_ibans(cell.text), None) is None:
            yield from values.find_ibans(f"{cell.text} {rest}")


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


_BEFORE_ACCOUNT = 60  # letters that may stand between whose account it is and its number
_YOUR_ACCOUNT = re.compile(
    r"\b(?:ihr(?:em|es|er|en)?|dein(?:em|es)?)\s+(?:bank|giro)?-?(?:konto|bankverbindung)"
    r"|\byour\s+(?:bank\s+|current\s+)?account|\bvotre\s+compte|\b(?:su|vuestra)\s+cuenta|\b(?:vostro|suo|tuo)\s+(?:conto|c/c)"
    r"|\b(?:uw|jouw|je)\s+(?:bank)?rekening|\b(?:sua|vossa|tua)\s+conta|\b(?:państwa|twojego|pan[ai])\s+(?:rachun|kont)"
    r"|\bwir\s+(?:ziehen|buchen)\s+(?:[^\W\d]{1,16}\s+){0,4}(?:ein|ab)\s+(?:von|vom)\b"
    r"|\b(?:vaš|tv)\w{1,4}\s+účt|\b(?:din|jeres|deres)\s+konto|\b(?:ditt|ert)\s+(?:bank)?konto",
    re.IGNORECASE,
)
_OUR_NUMBER = re.compile(
    r"\W*(?:unser|our|notre|nuestr|nostr|ons|onze|noss|nasz|naš|vores|vår)\w{0,4}\s+", re.IGNORECASE
)
_OUR_ACCOUNT = re.compile(
    r"\b(?:unser|our|notre|nuestr|nostr|ons|onze|noss|nasz|naš|vores|vår)\w{0,4}\b", re.IGNORECASE
)


_YOUR_NUMBER = re.compile(
    rf"\b(?:jeres|deres|din|dit|ert|dein[er]?|euer|eure|vaše|państwa)\s+(?:{labels.VAT_ID.pattern})", re.IGNORECASE
)


def _is_our_number(text: str) -> bool:
    """`Unsere MWST-Nr.: CHE-… Ihre Kontaktperson: …`, but not `Unser Kunde: USt-IdNr. …`."""
    our = _OUR_NUMBER.match(text)
    label = labels.VAT_ID.match(text, our.end()) if our else None
    return label is not None and labels.BUYER.search(text[label.end() :].partition(":")[0]) is None


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


def _is_for_transfers(before: str) -> bool:
    return _TRANSFER.search(before) is not None


def _list_near_above(page: Sequence[TextLine], index: int) -> Sequence[TextLine]:
    return [line for line in page[max(0, index - _NEAR_COLUMNS) : index] if line.page == page[index].page]


def _is_below_debit(page: Sequence[TextLine], index: int) -> bool:
    """An account in pieces is believed only where nothing near it speaks of a debit, whosever column that is."""
    near = [*_list_near_above(page, index), page[index]]
    return any(words.search(line.text) for line in near for words in (DEBIT, RETURNED))


def _is_debited(before: str) -> bool:
    """Whether an account is the reader's, by the words in front: `… wird von Ihrem Konto DE… abgebucht`."""
    yours = [match.end() for match in _YOUR_ACCOUNT.finditer(before)]
    if not yours or len(before) - yours[-1] > _BEFORE_ACCOUNT:
        return False
    return _OUR_ACCOUNT.search(before, yours[-1]) is None


# An account of Poland, as it is written at home: without its country.
_POLISH_ACCOUNT = re.compile(
    r"\b(?:kont[ao]|rachun\w{1,4}|nrb|bank\w{0,3})\b\D{0,40}(\d{2}(?: ?\d{4}){6})(?!\d)", re.IGNORECASE
)


def _find_polish_account(page: Sequence[TextLine], index: int, currency: str | None) -> Iterator[str]:
    line = page[index]
    match = _POLISH_ACCOUNT.search(line.text)
    if match is None or _is_buyers_line(page, index) or _is_customers(page, index, match.start(1)):
        return
    for iban in values.find_ibans(f"PL{match[1]}"):
        if not is_of_other_purpose(page, index, iban[2:], currency, is_assigned=is_page_of_assignment(page)):
            yield iban
