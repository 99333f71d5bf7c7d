"""Whether who asks for dollars is at home in the United States: by an address there that is his own.

That of the customer says nothing, whether a label names it or not: many a supplier of another country has customers
there. Nor does that of his bank.
"""

from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties import business_marks as marks
from ingestion.extract.parties.american_address import list_american_addresses
from ingestion.extract.parties.customer_cells import is_buyer_cell, names_customer
from ingestion.extract.parties.foreign_signs import has_foreign_sign, list_own_texts
from ingestion.extract.parties.sender_line import is_town
from ingestion.extract.parties.third_parties import is_bank

_MAX_CELLS = 12  # of a line


def is_american_seller(page: Sequence[TextLine], supplier_name: str | None) -> bool:
    """`supplier_name`: as it was read off the page."""
    addresses = _list_addresses(page)
    if not addresses or any(map(has_foreign_sign, list_own_texts(page))):
        return False
    own = [page[index].cells[number] for index, number in addresses]
    named = list(_list_cells_of_name(page, supplier_name)) if supplier_name else []
    if any(cell is other for cell in own for other in named):
        return True
    customer = _find_customer(page)
    return customer is not None and any(_is_in_head(page, index, number, customer) for index, number in addresses)


def _list_addresses(page: Sequence[TextLine]) -> list[tuple[int, int]]:
    """Lines and cells with an American address that no label calls the customer's."""
    found = set(list_american_addresses(cell.text for line in page for cell in line.cells))
    return [
        (index, number)
        for index, line in enumerate(page)
        for number, cell in enumerate(line.cells[:_MAX_CELLS])
        if found and cell.text in found and not is_buyer_cell(page, index, number)
    ]


def _list_cells_of_name(page: Sequence[TextLine], name: str) -> Iterator[TextCell]:
    """What stands below the supplier's name; in the foot beside it, too."""
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells[:_MAX_CELLS]):
            if name not in cell.text or is_buyer_cell(page, index, number):
                continue
            yield from marks.list_own_cells(page, index, cell, name)
            if index > len(page) * marks.FOOT:
                yield from line.cells


def _find_customer(page: Sequence[TextLine]) -> int | None:
    """The line of the first heading over the address of who is to pay."""
    for index, line in enumerate(page):
        for cell in line.cells[:_MAX_CELLS]:
            match = labels.BUYER.search(cell.text)
            if match is None or cell.text[match.end() :].strip(" :") or not names_customer(cell.text):
                continue
            if any(is_town(other.text) for _, other in list_block(page, index, cell, 1)):
                return index
    return None


def _is_in_head(page: Sequence[TextLine], index: int, number: int, customer: int) -> bool:
    """Whether an address stands above the customer's, and is no bank's: only one of them is named there."""
    block = [other.text for _, other in list_block(page, index, page[index].cells[number], -1)]
    is_above = page[index].page == page[customer].page and index < customer
    return is_above and not any(map(is_bank, block))
