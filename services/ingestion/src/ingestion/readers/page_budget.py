"""How much of a document's time each page of it may cost, so that one of them does not take that of all others."""

from collections.abc import Callable, Iterator, Sequence

# Of the limits at which the process is ended: what was read by then is answered.
_SHARE_FOR_PAGES = 0.8
# Of that, at least: a page whose text takes longer than its part is read in part, and the others have their turn.
_SHARE_OF_PAGE = 0.4


class PageBudget:
    """`measure_spent` says how much of its time the process has used: 1.0 when it is ended, by whichever limit comes
    first."""

    def __init__(self, measure_spent: Callable[[], float]) -> None:
        self._measure_spent = measure_spent
        self._page_ends_at = _SHARE_FOR_PAGES

    def spend_on(self, pages: Sequence[int]) -> Iterator[int]:
        """The first page, and each further one for which as much is left as the longest so far has cost."""
        of_page = _SHARE_FOR_PAGES * max(_SHARE_OF_PAGE, 1 / max(len(pages), 1))
        longest = 0.0
        for page in pages:
            begun = self._measure_spent()
            if begun + longest > _SHARE_FOR_PAGES:
                return
            self._page_ends_at = min(begun + of_page, _SHARE_FOR_PAGES)
            yield page
            longest = max(longest, self._measure_spent() - begun)

    def is_page_spent(self) -> bool:
        return self._measure_spent() >= self._page_ends_at


def measure_shares(
    cpu_s: float, wall_s: float, cpu_clock: Callable[[], float], wall_clock: Callable[[], float]
) -> Callable[[], float]:
    """How much of two limits was used from now on: of that of which more was. A page that waits for its turn at the
    processor costs time as well."""
    cpu_began, wall_began = cpu_clock(), wall_clock()
    return lambda: max((cpu_clock() - cpu_began) / cpu_s, (wall_clock() - wall_began) / wall_s)
