"""Words that run across a page: stamps and watermarks, which are none of its lines and may take back what those say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ingestion.domain.page_marks import MAX_MARK_LETTERS, Stamp

_MAX_LETTERS = 2000
_LEAST_LETTERS = 3  # a sign, or the letters of a seal, each of which has a direction of its own
_SAME = 3.0  # degrees
_NEAR, _BLANK = 2.2, 1.15  # of the size, from the middle of a letter to that of the next
# Times the usual size of the page's letters: labels of a chart are slanted too, and small, or stand side by side; and
# what stands upright along the margin is the number of a form.
_LARGE, _LARGE_ALONE, _LARGE_UPRIGHT = 1.8, 1.25, 2.5


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
    runs = [
        run
        for run in _split_runs(letters[:_MAX_LETTERS])
        if sum(letter.text.isalnum() for letter in run) >= _LEAST_LETTERS
    ]
    texts = list(map(_join, runs))
    directions = [run[0].angle for run in runs]
    stamps = []
    for run, text in zip(runs, texts, strict=True):
        along = {other for other, angle in zip(texts, directions, strict=True) if _turn(angle, run[0].angle) <= _SAME}
        stamps.append(Stamp(text, _is_large(run, usual, is_alone=along == {text})))
    return tuple(stamps)


def _is_large(run: Sequence[SlantedLetter], usual: float, *, is_alone: bool) -> bool:
    """A pale one is as large as another: most watermarks are pale."""
    size = run[0].size / usual
    is_seen = 2 * sum(letter.is_seen for letter in run) > len(run)
    if run[0].angle % 90 == 0:
        return is_seen and size >= _LARGE_UPRIGHT
    return size >= _LARGE or (is_seen and is_alone and size >= _LARGE_ALONE)


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
    return _turn(letter.angle, before.angle) <= _SAME and _measure_distance(before, letter) <= _NEAR


def _turn(angle: float, other: float) -> float:
    return abs((angle - other + 180) % 360 - 180)


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
