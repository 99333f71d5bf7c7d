"""Where values stand on a page, seen from their labels: behind them, to their right, below them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ingestion.domain.transcript import TextCell, TextLine

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
    of heads and the row below it have as many cells, they belong together by their order."""
    heads = page[index]
    is_head = len(heads.cells) > 1 and not any(letter.isdigit() for letter in heads.text)
    for line in page[index + 1 : index + 6]:
        if line.page != heads.page or line.top - heads.top > 4 * max(heads.height, line.height):
            return
        if is_head and len(line.cells) == len(heads.cells):
            yield line.cells[heads.cells.index(cell)].text
            return
        under = [other for other in line.cells if min(other.right, cell.right) - max(other.left, cell.left) > 0]
        if under:
            yield under[0].text
            return
        is_head = False
