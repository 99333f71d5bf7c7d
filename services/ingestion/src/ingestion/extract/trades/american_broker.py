"""Whether who wrote a note is at home in the United States: by an address there, and by what brokers there have to say.

An address alone may be a client's, whom no label names in the window of a letter, and the words alone those of whom
the order was passed on to.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties.american_address import list_american_addresses, speaks_of_another
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.foreign_signs import has_foreign_sign, list_own_texts

_MAX_CELLS = 12  # of a line
_SAYS_AMERICAN_BROKER = re.compile(
    r"\b(?:FINRA|SIPC|FDIC|1099(?:-B)?|W-9|MSRB|Form\s+CRS|Securities\s+and\s+Exchange\s+Commission|(?:Roth|Traditional|Rollover)\s+IRA|401\(k\))(?!\w)"
)
# What a client is not called; then the address below is that of the letter head.
_BROKER = re.compile(r"\b(?:brokerage|brokers?|stockbrokers?|securities)\b", re.IGNORECASE)


def is_american_broker(page: Sequence[TextLine]) -> bool:
    addresses = list(_list_addresses(page))
    if not addresses or any(map(has_foreign_sign, list_own_texts(page))):
        return False
    says = any(_SAYS_AMERICAN_BROKER.search(line.text) and not speaks_of_another(line.text) for line in page)
    return says or any(_is_below_broker(page, index, cell) for index, cell in addresses)


def _list_addresses(page: Sequence[TextLine]) -> Iterator[tuple[int, TextCell]]:
    """The lines with an American address that no label calls the client's, and the cell that they begin with."""
    found = set(list_american_addresses(line.text for line in page))
    for index, line in enumerate(page if found else ()):
        if line.text not in found:
            continue
        if not any(is_buyer_cell(page, index, number) for number in range(len(line.cells[:_MAX_CELLS]))):
            yield index, line.cells[0]


def _is_below_broker(page: Sequence[TextLine], index: int, cell: TextCell) -> bool:
    """Whether nothing but a street stands between a broker's name and an address."""
    above = (other.text for _, other in list_block(page, index, cell, -1))
    named = next((text for text in above if not re.search(r"\d", text)), "")
    return _BROKER.search(named) is not None
