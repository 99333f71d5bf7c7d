"""The order in which several processes take test modules: what waits for servers runs beside what computes."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath

_SITES = frozenset({"chaos", "e2e"})  # folders of tests that start whole sites: the longest of all
_WAITING = frozenset({"integration", "contract"})  # and of those that wait for servers more than they compute
# Where the last module of a kind begins; 1 is the end of the run, when a long one would keep one core busy alone.
_LAST_SITE, _LAST_WAITING, _LAST_COMPUTING = 0.6, 0.85, 1.0


def order_modules(paths: Iterable[PurePath]) -> list[PurePath]:
    """Each kind is spread evenly over its part of the run, in the order given."""
    sites: list[PurePath] = []
    waiting: list[PurePath] = []
    computing: list[PurePath] = []
    for path in paths:
        folders = set(path.parent.parts)
        kind = sites if folders & _SITES else waiting if folders & _WAITING else computing
        kind.append(path)
    placed = [
        *_spread_evenly(sites, until=_LAST_SITE),
        *_spread_evenly(waiting, until=_LAST_WAITING),
        *_spread_evenly(computing, until=_LAST_COMPUTING),
    ]
    return [path for _, path in sorted(placed, key=lambda one: one[0])]


def _spread_evenly(paths: Sequence[PurePath], *, until: float) -> list[tuple[float, PurePath]]:
    return [(until * number / len(paths), path) for number, path in enumerate(paths)]
