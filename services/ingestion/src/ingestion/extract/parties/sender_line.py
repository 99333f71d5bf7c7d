"""The line over an envelope's window, which begins with the sender: `Malerbetrieb Kunz, Hauptstr. 1, 10115 Berlin`."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties.company_names import parse_name

_PARTS = re.compile(r"[,●•|·]|\s[-–—]\s")
_MARK = re.compile(r"[●•|·–—-]")
HOUSE = re.compile(r"\s\d{1,4}\s?[a-zA-Z]?$")  # a street's number ends it
# A postcode and its town: `12345 Stadt`, `110 00 Praha`, `00-001 Warszawa`, `1000-001 Lisboa`.
TOWN = re.compile(r"(?:[A-Z]{1,3}-)?(?:\d{4,5}|\d{3} \d{2}|\d{2}-\d{3}|\d{4}-\d{3})\s+[^\W\d]")
# Where the postcode follows: `Leeds LS1 4DE`, `Limerick V94 X2P4`, `Austin, TX 78701`, `Toronto ON M5V 2T6`.
_TOWN_BEFORE = re.compile(
    r"^[A-Z][^\d]{1,40}[\s,]"
    r"(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[\dW] ?[A-Z\d]{4}|[A-Z]{2} \d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d)$"
)
_MAX_CELLS = 12  # of a line
_WINDOW = 260.0  # points: above it stands the line over a window
_CLOSE = 6  # times a line's height
_WINDOW_LINES = 8
_WINDOW_HEIGHT = 14  # times a line's height
_SAME_LEFT = 40.0


def is_town(text: str) -> bool:
    """Whether it is the last line of an address."""
    return TOWN.match(text) is not None or _TOWN_BEFORE.match(text) is not None


def find_sender(line: TextLine, number: int) -> str | None:
    """In a cell; or over several, which marks between its parts make of a line."""
    if number == 0 and any(_MARK.fullmatch(other.text) for other in line.cells[1:3]):
        return find_sender_in_text(" ".join(other.text for other in line.cells[:_MAX_CELLS]))
    return find_sender_in_text(line.cells[number].text)


def find_sender_in_text(text: str) -> str | None:
    parts = [part.strip() for part in _PARTS.split(text)]
    town = next((number for number, part in enumerate(parts) if number and is_town(part)), None)
    # A company with a postcode of its own names no street.
    least = 2 if labels.COMPANY.search(parts[0]) else 3
    if len(parts) < least or town is None:
        return None
    # `Kwekerijweg 8, 2691 KP …`: without a street in between the first part is the street.
    if HOUSE.search(parts[0]) and not any(HOUSE.search(part) for part in parts[1:town]):
        return None
    return parse_name(parts[0])


def stands_over_window(page: Sequence[TextLine], index: int, number: int) -> bool:
    """Whether an address in one line can be the sender's: it stands in the upper part of the first page, and over
    another address. In a foot it may be anybody's: an insurer's, a partner's."""
    line = page[index]
    if line.page != page[0].page or line.top > _WINDOW:
        return False
    left = line.cells[number].left
    below = [
        cell.text
        for other in page[index + 1 : index + _WINDOW_LINES]
        if other.page == line.page and other.top - line.top < _WINDOW_HEIGHT * line.height
        for cell in other.cells
        if abs(cell.left - left) < _SAME_LEFT
    ]
    return len(below) > 1 and any(HOUSE.search(text) or TOWN.match(text) for text in below)


def is_below_sender_line(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """Whether a cell stands in an envelope's window, close below the sender's line: it is the addressee."""
    line = page[line_index]
    cell = line.cells[cell_index]
    for above in reversed(page[max(0, line_index - 4) : line_index]):
        if above.page != line.page or line.top - above.top > _CLOSE * line.height:
            return False
        if any(abs(other.left - cell.left) < _SAME_LEFT and find_sender_in_text(other.text) for other in above.cells):
            return True
    return False
