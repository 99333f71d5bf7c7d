"""Where values stand on a page, seen from their labels: behind them, to their right, below them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import values
from ingestion.extract.page_blocks import overlap_across

T = TypeVar("T")


def find_first_parsed(texts: Iterator[str], read: Callable[[str], T | None]) -> T | None:
    return next((found for text in texts if (found := read(text)) is not None), None)


def list_texts_beside(page: Sequence[TextLine], label: re.Pattern[str]) -> Iterator[str]:
    """The texts that a label may speak of, likeliest first: behind it, to its right, below it."""
    for _, texts in list_labelled_texts(page, label):
        yield from texts


def list_labelled_texts(
    page: Sequence[TextLine], label: re.Pattern[str]
) -> Iterator[tuple[re.Match[str], Iterator[str]]]:
    """Each place of a label, with the texts that it may speak of."""
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = label.search(cell.text)
            if match:
                yield match, _list_texts_of(page, index, number, match)


def _list_texts_of(page: Sequence[TextLine], index: int, number: int, match: re.Match[str]) -> Iterator[str]:
    line, cell = page[index], page[index].cells[number]
    rest = _skip_translation(cell.text[match.end() :], match.re).strip(" :.#*\t")
    if rest:
        yield rest
    # `Invoice date / Delivery date`: what has no digit is still the label.
    if any(letter.isdigit() for letter in rest):
        return
    if number + 1 < len(line.cells) and not match.re.search(line.cells[number + 1].text):
        yield line.cells[number + 1].text.lstrip(" :")
    yield from list_texts_below(page, index, cell)


def _skip_translation(behind: str, label: re.Pattern[str]) -> str:
    """What stands behind the same label in another language: `Rechnung Nr. / Invoice no.: 7`."""
    other = behind.lstrip(" .:/|(–-")
    again = label.match(other) if "/" in behind[: len(behind) - len(other)] else None
    return other[again.end() :] if again else behind


def list_texts_below_labels(page: Sequence[TextLine], label: re.Pattern[str]) -> Iterator[str]:
    for index, line in enumerate(page):
        for cell in line.cells:
            if label.search(cell.text):
                yield from list_texts_below(page, index, cell)


def list_texts_below(page: Sequence[TextLine], index: int, cell: TextCell) -> Iterator[str]:
    """The text of the next row under a cell, as far down as a table's row or two; none where there is none. Where a row
    of heads and the row below it have as many cells, they belong together by their order. Where the row above may have
    the values, nobody can tell."""
    heads = page[index]
    if _may_have_values_above(page, index):
        return
    is_head = is_row_of_heads(heads)
    for line in page[index + 1 : index + 6]:
        if line.page != heads.page or line.top - heads.top > 4 * max(heads.height, line.height):
            return
        if is_head and len(line.cells) == len(heads.cells):
            yield line.cells[heads.cells.index(cell)].text
            return
        under = [other for other in line.cells if overlap_across(other, cell)]
        if under:
            yield under[0].text
            return
        if is_head and _has_values_of_others(line, heads):
            return
        is_head = False


def is_row_of_heads(line: TextLine) -> bool:
    return len(line.cells) > 1 and _are_labels(line)


def _has_values_of_others(line: TextLine, heads: TextLine) -> bool:
    """Whether a row has what belongs to some of the heads: then the others have nothing."""
    return all(_is_value(cell.text) and any(overlap_across(cell, head) for head in heads.cells) for cell in line.cells)


def _may_have_values_above(page: Sequence[TextLine], index: int) -> bool:
    """`HM-20441 | 03/11/2026` over `Invoice no. | Invoice date`: as many values, over which no other labels stand; of
    labels and values in turn, one to a line, those that begin with a value and end with a label."""
    first = index
    while (
        first > max(1, index - _MAX_IN_TURN)
        and _are_pair(page, first - 1, first)
        and _are_pair(page, first - 2, first - 1)
    ):
        first -= 2
    if first == 0 or not _are_pair(page, first - 1, first):
        return False
    return len(page[index].cells) > 1 or not _has_value_at_end(page, index)


def _has_value_at_end(page: Sequence[TextLine], index: int) -> bool:
    last = index
    while last + 1 < len(page) and last - index < _MAX_IN_TURN and _are_pair(page, last, last + 1):
        last += 1
    return (last - index) % 2 == 1


def _are_pair(page: Sequence[TextLine], at: int, below: int) -> bool:
    """Whether of two lines one has labels and the other as many values."""
    above, line = page[at], page[below]
    if above.page != line.page or line.top - above.top > _NEAR * max(line.height, above.height):
        return False
    if len(above.cells) != len(line.cells) or abs(above.cells[0].left - line.cells[0].left) > _SAME_EDGE:
        return False
    return (_are_values(above) and _are_labels(line)) or (_are_labels(above) and _are_values(line))


_NEAR = 2.5  # times a line's height
_SAME_EDGE = 12.0  # points
_MAX_IN_TURN = 40  # lines


def _are_values(line: TextLine) -> bool:
    return all(_is_value(cell.text) for cell in line.cells)


def _are_labels(line: TextLine) -> bool:
    return not any(letter.isdigit() for letter in line.text)


def _is_value(text: str) -> bool:
    """A number or a day, and no word beside it."""
    rest = values.mask_dates(text)
    return any(letter.isdigit() for letter in text) and not re.search(r"(?<![\w/.-])[^\W\d_]{3,}(?![\w/-])", rest)
