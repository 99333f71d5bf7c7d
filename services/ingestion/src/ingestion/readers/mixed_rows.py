"""Two rows of small letters beside a large one: both stand at its height, and their letters must not mix.

A large letter's foot is near one row and its middle near another, so that each of them is on a line with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ingestion.readers.page_letters import Letter

_NEAR = 0.3  # of the height of the lower one: so far two letters of one row may stand apart
_ONE_SIZE = 1.5  # times as high: of more the letters are of two sizes, as cents and a headline are
_MAX_LEVELS = 8  # a headline, the rows beside it, cents, and footnotes' signs
_UPON = 0.3  # of the width of the narrower one: so much of it is beside no other letter


@dataclass(slots=True)
class _Level:
    """Letters of one size on one height, by which `first` stands."""

    first: Letter
    letters: list[Letter] = field(default_factory=list)

    @property
    def left(self) -> float:
        return min(letter.left for letter in self.letters)

    @property
    def right(self) -> float:
        return max(letter.right for letter in self.letters)


def part_rows(letters: Sequence[Letter]) -> list[list[Letter]]:
    """The letters of one line, or of several where some stand upon each other: what is level stays together, and what
    has room beside it (cents, a headline and the only row at its height) is on its line."""
    if not _may_be_mixed(letters):
        return [list(letters)]
    levels = _find_levels(letters)
    rivals = [
        level
        for level in levels[1:]
        if any(
            level is not other and _is_one_size(level.first, other.first) and _collide(level, other)
            for other in levels[1:]
        )
    ]
    lines = [[levels[0]], *([level] for level in rivals)]
    for level in levels[1:]:
        if not any(level is rival for rival in rivals):
            _add_level(lines, level)
    return [[letter for level in line for letter in level.letters] for line in lines]


def _add_level(lines: list[list[_Level]], level: _Level) -> None:
    """To the nearest line that has room for it."""
    free = [line for line in lines if not any(_collide(level, other) for other in line)]
    if free:
        min(free, key=lambda line: abs(line[0].first.bottom - level.first.bottom)).append(level)
    else:
        lines.append([level])


def _may_be_mixed(letters: Sequence[Letter]) -> bool:
    """No more than a glance: the letters of most lines have one height."""
    first = letters[0]
    if all(letter.bottom == first.bottom for letter in letters):
        return False
    placed = sorted(letters, key=lambda letter: letter.left)
    if any(_overlap(one, other) and not _is_level(one, other) for one, other in pairwise(placed)):
        return True
    small = [letter for letter in letters if letter.height * _ONE_SIZE < first.height]
    feet = [letter.bottom for letter in small]
    return bool(small) and max(feet) - min(feet) > _NEAR * small[0].height


def _find_levels(letters: Sequence[Letter]) -> list[_Level]:
    """That of the line's first letter comes first."""
    levels: list[_Level] = []
    for letter in letters:
        level = next((level for level in levels if _is_level(level.first, letter)), None)
        if level is None:
            level = _Level(letter) if len(levels) < _MAX_LEVELS else levels.pop()
            levels.append(level)
        level.letters.append(letter)
    return levels


def _collide(level: _Level, other: _Level) -> bool:
    """Rows of one size do not stand in each other's blanks either."""
    if level.left >= other.right or other.left >= level.right:
        return False
    if _is_one_size(level.first, other.first):
        return True
    placed = sorted([*level.letters, *other.letters], key=lambda letter: letter.left)
    reach = placed[0]
    for letter in placed[1:]:
        if _overlap(reach, letter) and not _is_one_size(reach, letter):
            return True
        reach = max(reach, letter, key=lambda one: one.right)
    return False


def _overlap(one: Letter, other: Letter) -> bool:
    narrower = min(one.right - one.left, other.right - other.left)
    return min(one.right, other.right) - max(one.left, other.left) > _UPON * narrower


def _is_level(one: Letter, other: Letter) -> bool:
    near = _NEAR * min(one.height, other.height)
    middles = (one.top + one.bottom - other.top - other.bottom) / 2
    return _is_one_size(one, other) and (abs(one.bottom - other.bottom) <= near or abs(middles) <= near)


def _is_one_size(one: Letter, other: Letter) -> bool:
    return max(one.height, other.height) <= _ONE_SIZE * min(one.height, other.height)
