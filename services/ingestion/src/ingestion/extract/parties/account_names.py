"""Whose name stands nearest to an account: that of another company, or of the customer."""

from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties.account_places import MAX_TEXT, OTHER_NUMBER, find_label_beside, locate_account
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.sender_line import is_town
from ingestion.extract.parties.third_parties import is_bank

_LINES_OF_NAME = 3  # of a name with the bank, above an account


def is_below_another_company(page: Sequence[TextLine], index: int, iban: str, supplier_name: str | None) -> bool:
    """Whether the nearest name is another company's, and no bank's."""
    ours = normalize_name(supplier_name or "")
    for text in _list_named(page, index, iban):
        if ours and ours in normalize_name(text):
            return False
        if labels.COMPANY.search(text) and not is_bank(labels.COMPANY.split(text)[0]):
            return True
    return False


def is_of_customer(page: Sequence[TextLine], index: int, iban: str, supplier_name: str | None) -> bool:
    """Whether an account is the last line of somebody else's address, or stands below a company's name that the page
    names twice: in a slip, the payer's."""
    ours = normalize_name(supplier_name or "")
    number, _, _ = locate_account(page[index], iban)
    block = [other.text for _, other in list_block(page, index, page[index].cells[number], -1)]
    if ours and any(ours in normalize_name(text) for text in block):
        return False
    if any(map(is_town, block[:2])):
        return True
    above = block[0] if block else ""
    if not labels.COMPANY.search(above) or is_bank(above):
        return False
    return sum(above in cell.text for line in page for cell in line.cells) > 1


def _list_named(page: Sequence[TextLine], index: int, iban: str) -> Iterator[str]:
    number, start, _ = locate_account(page[index], iban)
    cell = page[index].cells[number]
    yield OTHER_NUMBER.split(cell.text[max(0, start - MAX_TEXT) : start])[-1]
    for left in reversed(page[index].cells[max(0, number - 2) : number]):
        yield left.text[-MAX_TEXT:]
    for at, other in list_block(page, index, find_label_beside(page[index], number) or cell, -1):
        if index - at > _LINES_OF_NAME or next(values.find_ibans(other.text), None) is not None:
            return
        yield other.text[-MAX_TEXT:]
