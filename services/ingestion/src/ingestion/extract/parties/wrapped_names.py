"""Names that are broken over two lines: a part of a name is another one's."""

import re
from collections.abc import Iterator, Sequence
from statistics import median

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels
from ingestion.extract.page_blocks import find_cell
from ingestion.extract.parties.company_names import parse_name

_SAME_EDGE = 3.0  # points
_LARGE = 1.2  # of the height of most lines
_BELOW = 1.3  # of its height: a line of its size that is no further down belongs to the one above
_REST_BELOW = 2.5  # likewise, for what is the rest of a name by its words
# Of the mean width of a letter: letters of one size differ by so much from word to word.
_NARROWEST, _WIDEST = 0.8, 1.25
_HEAD_LINES, _NEXT_LINES = 12, 3
# `TERMOIDRAULICA BELLUCO` over `di Belluco Sergio & C. S.n.c.`: no name begins so.
_GOES_ON = re.compile(r"(?:di|de|del|della|dei|da|do|dos|du|des|van|von|vom|der|und|and|et|en|og|och|&|\+)\s+\w")


def join_wrapped_name(page: Sequence[TextLine], index: int, number: int) -> str:
    """A cell, with what is above it where it is the rest of a name: `Pty Ltd` below `Southern Roast Coffee`."""
    cell = page[index].cells[number]
    match = labels.COMPANY.search(cell.text)
    is_form_alone = match is not None and not re.sub(r"\W", "", labels.COMPANY.sub("", cell.text))
    is_rest = is_form_alone or (match is not None and _GOES_ON.match(cell.text) is not None)
    if not is_rest or index == 0:
        return cell.text
    names = [other.text for other in _list_cells_above(page, index, cell)]
    if not names or (not is_form_alone and parse_name(names[0]) != names[0]):
        return cell.text
    return f"{names[0]} {cell.text}"


def _list_cells_above(page: Sequence[TextLine], index: int, cell: TextCell) -> Iterator[TextCell]:
    """Those that begin at the same edge, in the nearest line that has one: another column's lines may lie between."""
    line = page[index]
    for at in range(index - 1, max(index - _NEXT_LINES, 0) - 1, -1):
        above = page[at]
        if above.page != line.page or line.top - above.top > _REST_BELOW * max(line.height, above.height):
            return
        found = [other for other in above.cells if abs(other.left - cell.left) < _SAME_EDGE]
        if found:
            yield from found
            return


def may_go_on_below(page: Sequence[TextLine], name: str) -> bool:
    """Whether a name in large type, without a legal form at its end, has words of the same size straight below."""
    if not page or ((match := labels.COMPANY.search(name)) is not None and match.end() >= len(name.rstrip(" ."))):
        return False
    large = _LARGE * median(line.height for line in page)
    for index, line in enumerate(page[:_HEAD_LINES]):
        cell = find_cell(line, name)
        if cell is not None and cell.text == name and line.height > large:
            below = _find_below(page, index, cell)
            return below is not None and _is_as_large(cell, below) and parse_name(below.text) == below.text
    return False


def _find_below(page: Sequence[TextLine], index: int, cell: TextCell) -> TextCell | None:
    line = page[index]
    for below in page[index + 1 : index + 1 + _NEXT_LINES]:
        if below.page != line.page or below.top - line.top > _BELOW * line.height:
            return None
        for other in below.cells:
            if abs(other.left - cell.left) < _SAME_EDGE:
                return other
    return None


def _is_as_large(cell: TextCell, other: TextCell) -> bool:
    """A line's height is that of most of its letters, which may be another column's."""
    ours, theirs = ((one.right - one.left) / max(len(one.text), 1) for one in (cell, other))
    return _NARROWEST * ours <= theirs <= _WIDEST * ours
