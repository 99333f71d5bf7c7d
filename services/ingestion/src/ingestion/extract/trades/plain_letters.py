"""Letters as a reader sees them, where a text has them parted by blanks, or its umlauts in a code of seven bits."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.domain.transcript import TextLine

_MIN_PARTED = 5  # letters in a row, each alone: `I S I N` may be a heading, `K u r s w e r t` is a word
_PARTED = re.compile(rf"(?<!\S)\S(?: \S(?!\S)){{{_MIN_PARTED - 1},}}")
# Where a word ended cannot be seen any more; that letters go on as digits, or small ones as large ones, tells of it.
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[^\W\d_][.:])(?=\S)")
_SEVEN_BITS = {"{": "ä", "|": "ö", "}": "ü", "~": "ß"}
_INSIDE_WORD = re.compile(r"(?<=[a-zA-Z])[{|}~](?=[a-z])")
_MIN_WORDS = 2  # of a document with such an umlaut: one may be what somebody typed


def restore_letters(page: Sequence[TextLine]) -> list[TextLine]:
    has_seven_bits = sum(len(_INSIDE_WORD.findall(line.text)) for line in page) >= _MIN_WORDS
    return [_restore_line(line, has_seven_bits=has_seven_bits) for line in page]


def _restore_line(line: TextLine, *, has_seven_bits: bool) -> TextLine:
    texts = [_restore_text(cell.text, has_seven_bits=has_seven_bits) for cell in line.cells]
    if all(text == cell.text for text, cell in zip(texts, line.cells, strict=True)):
        return line
    return replace(line, cells=tuple(replace(cell, text=text) for text, cell in zip(texts, line.cells, strict=True)))


def _restore_text(text: str, *, has_seven_bits: bool) -> str:
    if has_seven_bits:
        text = _INSIDE_WORD.sub(lambda match: _SEVEN_BITS[match[0]], text)
    return _PARTED.sub(lambda match: _join(match[0]), text)


def _join(parted: str) -> str:
    """`1 . 4 3 9 , 1 3` is an amount; `1 2 3 4 5` may be five numbers."""
    joined = parted.replace(" ", "")
    return _SEAM.sub(" ", joined) if re.search(r"[^\W\d_]{3}|\d[.,]\d", joined) else parted
