"""Words that run across a page: stamps and watermarks, which are none of its lines and may take back what those say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ingestion.domain.page_marks import MAX_MARK_LETTERS, Stamp

_MAX_LETTERS = 2000
_LEAST_LETTERS = 3  # a sign, or the letters of a seal, each of which has a direction of its own
_SAME_DIRECTION = 3.0  # degrees
_NEAR, _BLANK = 2.2, 1.15  # of the size, from the middle of a letter to that of the next
_LARGE = 1.8  # times the usual size of the page's letters: labels of a chart are slanted too, and small


@dataclass(frozen=True, slots=True)
class SlantedLetter:
    """`x` and `y` are its middle, `angle` is in degrees. `is_seen`: or so pale that it may be a watermark, and no more
    of the page."""

    text: str
    x: float
    y: float
    size: float
    angle: float
    follows_blank: bool
    is_seen: bool


def find_stamps(letters: Sequence[SlantedLetter], usual_sizes: Sequence[float]) -> tuple[Stamp, ...]:
    """`usual_sizes` are those of the letters that the page is read by."""
    usual = median(usual_sizes) if usual_sizes else math.inf
    stamps = []
    for run in _split_runs(letters[:_MAX_LETTERS]):
        if sum(letter.text.isalnum() for letter in run) < _LEAST_LETTERS:
            continue
        is_seen = 2 * sum(letter.is_seen for letter in run) > len(run)
        is_large = is_seen and run[0].angle % 90 != 0 and run[0].size >= _LARGE * usual
        stamps.append(Stamp(_join(run), is_large))
    return tuple(stamps)


def _split_runs(letters: Sequence[SlantedLetter]) -> Iterator[list[SlantedLetter]]:
    run: list[SlantedLetter] = []
    for letter in letters:
        if run and (len(run) >= MAX_MARK_LETTERS or not _follows(run[-1], letter)):
            yield run
            run = []
        run.append(letter)
    if run:
        yield run


def _follows(before: SlantedLetter, letter: SlantedLetter) -> bool:
    turned = abs((letter.angle - before.angle + 180) % 360 - 180)
    return turned <= _SAME_DIRECTION and _measure_distance(before, letter) <= _NEAR


def _measure_distance(before: SlantedLetter, letter: SlantedLetter) -> float:
    """In sizes of the larger one."""
    size = max(before.size, letter.size, 1.0)
    return math.hypot(letter.x - before.x, letter.y - before.y) / size


def _join(run: Sequence[SlantedLetter]) -> str:
    joined = run[0].text
    for before, letter in pairwise(run):
        is_apart = letter.follows_blank or _measure_distance(before, letter) > _BLANK
        joined += f" {letter.text}" if is_apart else letter.text
    return joined
