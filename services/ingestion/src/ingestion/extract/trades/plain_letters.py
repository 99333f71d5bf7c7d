"""Letters as a reader sees them, where a text has them parted by blanks, or its umlauts in a code of seven bits."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

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
    return [_restore_line(line, has_seven_bits=has_seven_bits) for line in _join_spaced_letters(page)]


def _join_spaced_letters(page: Sequence[TextLine]) -> list[TextLine]:
    """`K u rsw ert U SD`: where some letters nearly always have a blank behind them, none of these blanks parts words,
    for which such a text has two. Before a number a blank stays."""
    spaced = _find_spaced_letters([cell.text for line in page for cell in line.cells])
    if not spaced:
        return list(page)
    behind = re.compile(rf"(?<=[{''.join(sorted(spaced))}]) (?=[^\s\d+−–-])")
    return [
        replace(
            line, cells=tuple(replace(cell, text=_CAPITAL.sub(" ", behind.sub("", cell.text))) for cell in line.cells)
        )
        for line in page
    ]


def _find_spaced_letters(texts: Sequence[str]) -> set[str]:
    """None, unless they are several, and so many of all letters as no other text has in front of blanks alone."""
    spaced: Counter[str] = Counter()
    close: Counter[str] = Counter()
    for text in texts:
        for letter, behind in pairwise(text):
            if letter.isalpha():
                (spaced if behind == " " else close)[letter] += 1
    mostly = {letter for letter, times in spaced.items() if times >= _MIN_TIMES and close[letter] * _MOST <= times}
    share = sum(spaced[letter] for letter in mostly)
    # Where most letters are parted, all of them may be.
    is_some = spaced.total() < close.total()
    is_spaced = len(mostly) >= _MIN_LETTERS and share * _MIN_SHARE >= spaced.total() + close.total()
    return mostly if is_spaced and is_some else set()


_CAPITAL = re.compile(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])")  # begins a word, whose blank went with the others
_MIN_TIMES = 2
_MOST = 4  # times as often as not: a name may be typed
_MIN_LETTERS = 5
_MIN_SHARE = 8  # one in so many letters


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
