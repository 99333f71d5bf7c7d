"""The tax number of whoever is to be paid."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_blocks import BLOCK_GAP
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.tax_ids import find_tax_ids
from ingestion.extract.parties.third_parties import is_bank
from ingestion.extract.parties.vat_id_signs import is_suppliers_number
from ingestion.extract.value_places import list_texts_below

_SAME_COLUMN = 12.0  # points
_FAR_ABOVE = 20  # lines that a heading may stand above what is said of it
_NEAR_ABOVE = 6
_NEAR_COLUMNS = 3  # lines that a foot's columns begin above
_BLOCK_LINES = 12  # of an address, with those beside it
_MAX_CELLS_BEFORE = 6
_OF_ACCOUNT = labels.match_any(r"\b(?:iban|bic|swift|blz|sort\s+code|bankgiro|plusgiro|konto\w{0,8}|account)\b")
_LONGEST_HEADING = 40
_MAX_LABELLED = 200  # cells of a page that speak of tax numbers: more are no supplier's, and each has its surroundings


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


_OUR_NUMBER = re.compile(rf"\W*{labels.OUR}\s+", re.IGNORECASE)
_YOUR_NUMBER = re.compile(
    rf"\b(?:jeres|deres|din|dit|ert|dein[er]?|euer|eure|vaše|państwa)\s+(?:{labels.VAT_ID.pattern})", re.IGNORECASE
)


def _is_our_number(text: str) -> bool:
    """`Unsere MWST-Nr.: CHE-… Ihre Kontaktperson: …`, but not `Unser Kunde: USt-IdNr. …`."""
    our = _OUR_NUMBER.match(text)
    label = labels.VAT_ID.match(text, our.end()) if our else None
    return label is not None and labels.BUYER.search(text[label.end() :].partition(":")[0]) is None
