"""Words whose letters stand apart (`F A C T U U R`), by a font's spacing or by typed blanks.

An eye joins them, since the gaps are even and a word's end is wider.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low

# Of the height. How much wider one gap of a word is than another (a blank adds 0.2 or more), and how much narrower.
_EVEN, _KERNING = 0.08, 0.16
_MAX_KERNED = 3  # of so many gaps one may be closed, by a kerning pair (`T o`)
# Digits that stand alone may be those of several columns, and so may letters; nobody has a column for a comma.
_WORD = re.compile(r"[^\W\d_]{4}")
_TYPED_WORD = re.compile(r"[^\W\d_]{5}")  # a company may write `A B C D`
_AMOUNT = re.compile(r"\D{0,4}\d{1,3}(?:[.,'’]?\d{3})*[.,]\d\d\D{0,4}")


def find_spaced_letters(
    letters: Sequence[str], gaps: Sequence[float], is_written: Sequence[bool], blank: float
) -> set[int]:
    """The letters of one cell that belong to the word before them, though the gap in front of each is wider than a
    `blank`. `gaps` are in heights (that of the first letter is none); `is_written`: the text has a blank there."""
    if not _has_letters_alone(gaps, blank):
        return set()
    usual = median_low(gap for gap in gaps[1:] if gap > blank)
    words = [*_part_words(gaps, is_written, usual, blank)]
    spaced = []
    for word in words:
        wide = [at for at in word[1:] if gaps[at] > blank]
        known = _TYPED_WORD if all(is_written[at] for at in wide) else _WORD
        written = "".join(letters[at] for at in word)
        is_even = (len(word) - 1 - len(wide)) * _MAX_KERNED <= len(wide)
        if is_even and (known.search(written) is not None or _AMOUNT.fullmatch(written) is not None):
            spaced.append(word)
    if spaced and min(gaps[1:]) >= usual - _KERNING:
        # Where all of the cell is spaced, so are its short words and its digits.
        spaced = [word for word in words if all(abs(gaps[at] - usual) <= _EVEN or gaps[at] <= blank for at in word[1:])]
    return {at for word in spaced for at in word[1:]}


def _has_letters_alone(gaps: Sequence[float], blank: float) -> bool:
    """No more than a glance: most cells have none."""
    return sum(before > blank < behind for before, behind in pairwise(gaps[1:])) > 1


def _part_words(gaps: Sequence[float], is_written: Sequence[bool], usual: float, blank: float) -> Iterator[range]:
    """A written blank ends a word, unless each letter has one; and so does one beside letters without a gap."""
    wide = [written for gap, written in zip(gaps, is_written, strict=True) if blank < gap <= usual + _EVEN]
    ends_at_blank = not all(wide)
    start = 0
    for at in range(1, len(gaps)):
        beside = [*gaps[max(at - 1, 1) : at], *gaps[at + 1 : at + 2]]
        is_end = gaps[at] > blank and min(beside, default=usual) < usual - _KERNING
        if is_end or gaps[at] > usual + _EVEN or (ends_at_blank and is_written[at]):
            yield range(start, at)
            start = at
    yield range(start, len(gaps))
