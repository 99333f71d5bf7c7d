"""Addresses in the upper part of a page of which nothing is said: whom the letter is written to.

A business prints on its own paper how it is reached, or its numbers; of whom it writes to, name, street and town.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties import business_marks as marks
from ingestion.extract.parties.addressing_words import drop_address_words
from ingestion.extract.parties.company_names import normalize_name, parse_name
from ingestion.extract.parties.customer_cells import names_customer
from ingestion.extract.parties.sender_line import HOUSE, find_sender_in_text, is_town
from ingestion.extract.titles import title_words

_UPPER_PART = 300.0  # points
_SAME_LEFT = 1.0  # points: an address is set flush left
_MAX_CELLS = 12  # of a line
_MAX_NAME = 60  # letters
_MIN_LETTERS = 3


@dataclass(frozen=True, slots=True)
class BareAddress:
    """`name` is without legal form, as names are compared."""

    line: int
    name: str

    def is_of(self, name: str) -> bool:
        ours = normalize_name(name)
        return self.name.startswith(ours) or ours.startswith(self.name)


def list_bare_addresses(page: Sequence[TextLine]) -> list[BareAddress]:
    found = []
    for index, line in enumerate(page):
        if line.page != page[0].page or line.top > _UPPER_PART:
            break
        for cell in line.cells[:_MAX_CELLS]:
            if _is_bare(page, index, cell):
                name = drop_address_words(cell.text)
                found.append(BareAddress(index, normalize_name(parse_name(name) or name)))
    return found


def list_addressee_lines(page: Sequence[TextLine]) -> set[int]:
    """The lines of such addresses, with what stands below them in their block."""
    found: set[int] = set()
    for address in list_bare_addresses(page):
        for cell in page[address.line].cells[:_MAX_CELLS]:
            if _is_bare(page, address.line, cell):
                found |= {at for at, _ in list_block(page, address.line, cell, 1)}
    return found


def _is_bare(page: Sequence[TextLine], index: int, cell: TextCell) -> bool:
    above = next(list_block(page, index, cell, -1), None)
    if not _may_be_name(cell.text):
        return False
    # `Lieferadresse:` says that there is another one.
    if above is not None and (_may_be_name(above[1].text) or not names_customer(above[1].text)):
        return False
    below = [other for _, other in list_block(page, index, cell, 1) if abs(other.left - cell.left) < _SAME_LEFT]
    # `BRF Björken 4` over `Storgatan 18` is no street.
    if HOUSE.search(cell.text) and not (below and HOUSE.search(below[0].text)):
        return False
    whole = (cell, *below)
    if any(marks.is_own_number(other) or marks.tells_of_seller(other) for other in whole):
        return False
    return any(is_town(other.text) for other in below) and not any(find_sender_in_text(other.text) for other in whole)


def _may_be_name(text: str) -> bool:
    is_word = text[:1].isupper() and sum(letter.isalpha() for letter in text) >= _MIN_LETTERS
    if not is_word or len(text) > _MAX_NAME or ":" in text or "@" in text:
        return False
    return not (is_town(text) or title_words.INVOICE_WORD.search(text))
