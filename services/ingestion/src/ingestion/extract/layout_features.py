"""The features of a layout: its words that are no values, each with its column, and the folded labels of its cells."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from ingestion.domain.layout_template import MAX_FEATURES, MAX_LABEL_CHARACTERS
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract.page_blocks import overlap_across

# Of a page more is no layout; rules take time by the length of what they read.
_MAX_HEAD_LINES, _MAX_FOOT_LINES = 240, 80
_MAX_CELLS = 16
_MAX_CELL = 200
_ROWS_OVER = 3  # so far over a value stands its label
_MAX_TOKENS = 24
_COLUMN = 18.0  # points: a column that is drawn a little further left is the same one
_MIN_LETTERS = 3
_TOKEN = re.compile(r"[^\s:]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a cell without case and punctuation, `#` for what has a digit in it, and where it starts."""

    folded: str
    start: int


@dataclass(frozen=True, slots=True)
class PageCell:
    """`label` is its whole text folded, `above` are the labels of the nearest cells over it in its column."""

    line: TextLine
    row: int
    column: int
    cell: TextCell
    tokens: tuple[Token, ...]
    label: str
    above: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.cell.text


Page = Sequence[Sequence[PageCell]]
"""The rows of a document, with their cells from left to right."""


def index_page(transcript: Transcript) -> Page:
    lines = list(transcript.lines)
    if len(lines) > _MAX_HEAD_LINES + _MAX_FOOT_LINES:
        lines = lines[:_MAX_HEAD_LINES] + lines[-_MAX_FOOT_LINES:]
    rows: list[list[PageCell]] = []
    for line in lines:
        over = [row for row in rows[-_ROWS_OVER:] if row and row[0].line.page == line.page]
        rows.append([_index_cell(line, len(rows), column, over) for column in range(len(line.cells[:_MAX_CELLS]))])
    return rows


def _index_cell(line: TextLine, row: int, column: int, over: Sequence[Sequence[PageCell]]) -> PageCell:
    cell = line.cells[column]
    cut = TextCell(cell.text[:_MAX_CELL], cell.left, cell.right, cell.confidence)
    tokens = tuple(_list_tokens(cut.text))
    return PageCell(line, row, column, cut, tokens, join_label(tokens), _list_labels_over(cut, over))


def _list_labels_over(cell: TextCell, over: Sequence[Sequence[PageCell]]) -> tuple[str, ...]:
    for row in reversed(over):
        if labels := [other.label for other in row if overlap_across(other.cell, cell)]:
            return tuple(labels)
    return ()


def _list_tokens(text: str) -> Iterator[Token]:
    for number, match in enumerate(_TOKEN.finditer(text)):
        if number == _MAX_TOKENS:
            return
        folded = "".join(letter for letter in match[0].casefold() if letter.isalnum())
        if folded:
            yield Token("#" if any(letter.isdigit() for letter in folded) else folded, match.start())


def join_label(tokens: Sequence[Token]) -> str:
    return " ".join(token.folded for token in tokens)[:MAX_LABEL_CHARACTERS]


def compute_features(page: Page) -> list[int]:
    """Of the words before the first digit of each cell on the first page: `Invoice no. 17` is `invoice no`."""
    found: dict[int, None] = {}
    for row in page:
        for cell in row:
            label = _cut_before_digits(cell.tokens)
            if cell.line.page == 0 and sum(letter.isalpha() for letter in label) >= _MIN_LETTERS:
                found.setdefault(_hash_feature(label, round(cell.cell.left / _COLUMN)))
    features = list(found)
    # The head and the foot of a page are its layout; what is between are the lines.
    half = MAX_FEATURES // 2
    return features if len(features) <= MAX_FEATURES else features[:half] + features[-half:]


def _cut_before_digits(tokens: Sequence[Token]) -> str:
    words = [token.folded for token in tokens]
    return " ".join(words[: words.index("#")] if "#" in words else words)[:MAX_LABEL_CHARACTERS]


def _hash_feature(label: str, column: int) -> int:
    return int.from_bytes(sha256(f"{column}/{label}".encode()).digest()[:7], "big")
