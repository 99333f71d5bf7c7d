"""From letters with their places to lines: what stands at one height is a line, and a wide gap parts its cells.

Invisible differences (a blank as a character or as a gap, a table drawn column by column, bold as letters that are
drawn twice, dots that lead from a word to its number) are gone after that.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.readers.letter_spacing import find_spaced_letters
from ingestion.readers.mixed_rows import part_rows
from ingestion.readers.page_letters import Letter

MAX_ROWS = 2000  # no page has as many lines of text

# In heights of the letters beside it: less is a letter's own distance, more than the second parts two cells.
_BLANK = 0.12
_WRITTEN_BLANK = 0.02  # where the text has one between two letters of words, one of which leans over it
_GAP = 0.9
_NEAR = 0.3  # of the height: how far two letters of one line may stand apart
_SHIFT = 0.3  # of the width: the same letter again so near is the same letter, drawn twice
_LEADERS = frozenset("._·…‥•-–")
_MIN_LEADERS = 4
_SMALL_PRINT = 0.5  # of the height of a line
_MANY_SMALL_LETTERS = 12  # a note of a headline, cents or a footnote's sign have fewer

_BUCKET = 4.0  # points of height
_MAX_COMPARISONS = 60  # rows that one letter is held against
_MAX_BUCKETS = 40


@dataclass(slots=True)
class _Row:
    number: int
    top: float
    bottom: float
    letters: list[Letter] = field(default_factory=list)

    def holds(self, letter: Letter) -> bool:
        near = _NEAR * min(letter.height, self.bottom - self.top)
        return (
            abs(letter.bottom - self.bottom) <= near
            or abs(letter.top + letter.bottom - self.top - self.bottom) / 2 <= near
        )


class RowIndex:
    """The rows of a page, found by height: a letter is held against a bounded number of them, however many there are.

    A row keeps the height of its first letter: if it grew, a headline would swallow the two small lines beside it.
    """

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.comparisons = 0
        self._by_height: dict[int, list[_Row]] = defaultdict(list)

    def add_letter(self, letter: Letter) -> None:
        row = self._find_row(letter)
        if row is None:
            row = _Row(len(self.rows), letter.top, letter.bottom)
            self.rows.append(row)
            for place in {_place(row.bottom), _place((row.top + row.bottom) / 2)}:
                self._by_height[place].append(row)
        row.letters.append(letter)

    def _find_row(self, letter: Letter) -> _Row | None:
        """The newest row of its height: letters come in runs."""
        if self.rows and self.rows[-1].holds(letter):
            self.comparisons += 1
            return self.rows[-1]
        best: _Row | None = None
        for row in self._list_near_rows(letter):
            self.comparisons += 1
            if (best is None or row.number > best.number) and row.holds(letter):
                best = row
        return best

    def _list_near_rows(self, letter: Letter) -> Iterator[_Row]:
        left = _MAX_COMPARISONS
        for place in _list_places(letter):
            for row in reversed(self._by_height.get(place, ())):
                if left == 0:
                    return
                left -= 1
                yield row


def _list_places(letter: Letter) -> list[int]:
    """The buckets of height that a row of this letter may be in, those of its own foot and middle first."""
    reach = _NEAR * letter.height
    found: dict[int, None] = {}
    for at in (letter.bottom, (letter.top + letter.bottom) / 2):
        found.setdefault(_place(at))
        found.update(dict.fromkeys(range(_place(at - reach), min(_place(at + reach), _place(at) + _MAX_BUCKETS) + 1)))
    return list(found)[:_MAX_BUCKETS]


def _place(height: float) -> int:
    return math.floor(height / _BUCKET)


@dataclass(frozen=True, slots=True)
class PageLines:
    lines: list[TextLine]
    is_cut: bool  # the page has more rows than are read


def build_lines(page: int, letters: Iterable[Letter]) -> PageLines:
    index = RowIndex()
    is_cut = False
    for letter in letters:
        if len(index.rows) >= MAX_ROWS:
            is_cut = True
            break
        index.add_letter(letter)
    rows = [row.letters for row in sorted(index.rows, key=lambda row: row.top)]
    lines = [line for letters in rows for line in _build_lines_of_row(page, letters)]
    return PageLines(sorted(lines, key=lambda line: line.top), is_cut)


def _build_lines_of_row(page: int, letters: Sequence[Letter]) -> Iterator[TextLine]:
    for part in part_rows(letters):
        for some in _part_small_print(part):
            written = _drop_leaders(_drop_repeats(sorted(some, key=lambda letter: letter.left)))
            if written:
                line = TextLine(page, part[0].top, _compute_line_height(some), tuple(_split_cells(written)))
                # A word without one of its letters is another value.
                is_doubtful = any(letter.is_doubtful for letter in written)
                yield line.hide() if is_doubtful else line


def _part_small_print(letters: Sequence[Letter]) -> list[Sequence[Letter]]:
    """Much smaller letters beside large ones are a line of their own: an eye that reads the one does not read the
    other, and a line says how large its letters are."""
    least = _SMALL_PRINT * _compute_line_height(letters)
    small = [letter for letter in letters if letter.height < least]
    if len(small) < _MANY_SMALL_LETTERS:
        return [letters]
    return [[letter for letter in letters if letter.height >= least], small]


def _drop_repeats(letters: Sequence[Letter]) -> list[Letter]:
    """Bold and shadows are made by drawing a letter again, a little beside itself. The letters of one glyph stand at
    one place too, and were not drawn again."""
    kept: list[Letter] = []
    is_repeat = False
    for letter in letters:
        if not letter.continues_glyph:
            is_repeat = any(
                before.text == letter.text and letter.left - before.left < _SHIFT * (before.right - before.left)
                for before in kept[-3:]
            )
        if not is_repeat:
            kept.append(letter)
    return kept


def _drop_leaders(letters: Sequence[Letter]) -> list[Letter]:
    """`Total ........ 300.00`: the dots are a gap."""
    kept: list[Letter] = []
    start = 0
    while start < len(letters):
        end = start
        while end < len(letters) and letters[end].text in _LEADERS and letters[end].text == letters[start].text:
            end += 1
        if end - start < _MIN_LEADERS:
            end = max(end, start + 1)
            kept += letters[start:end]
        start = end
    return kept


def _compute_line_height(letters: Sequence[Letter]) -> float:
    heights = sorted(letter.height for letter in letters)
    return max(heights[len(heights) * 3 // 4], 1.0)


def _split_cells(letters: Sequence[Letter]) -> Iterator[TextCell]:
    start, end, before = 0, letters[0].right, letters[0]
    gaps = [0.0]
    for at, letter in enumerate(letters[1:], start=1):
        # By the smaller of the two: a headline beside small print has gaps of its own.
        gap = (letter.left - end) / max(min(letter.height, before.height), 1.0)
        if gap > _GAP:
            yield _build_cell(letters[start:at], gaps, end)
            start, gaps = at, []
        gaps.append(gap)
        end, before = max(end, letter.right), letter
    yield _build_cell(letters[start:], gaps, end)


def _build_cell(letters: Sequence[Letter], gaps: Sequence[float], right: float) -> TextCell:
    written = [letter.text for letter in letters]
    joined = find_spaced_letters(written, gaps, [letter.follows_blank for letter in letters], _BLANK)
    for at, letter in enumerate(letters[1:], start=1):
        # A blank that kerning took back is none in a number: `2026-` and `4471`.
        is_of_words = letter.follows_blank and letters[at - 1].text.isalpha() and letter.text.isalpha()
        if gaps[at] > (_WRITTEN_BLANK if is_of_words else _BLANK) and at not in joined:
            written[at] = f" {letter.text}"
    return TextCell("".join(written), letters[0].left, right)
