"""How much processor time each page of a document may cost, so that one of them does not take that of all others."""

from collections.abc import Callable, Iterable, Iterator

# Of the limit at which the kernel ends the process: what was read by then is answered.
_SHARE_FOR_PAGES = 0.8
# Of that: a page whose text takes longer is read in part, and the others have their turn.
_SHARE_OF_PAGE = 0.4


class PageBudget:
    """`cpu_s` is the limit of the whole document; `clock` gives the processor time of this process."""

    def __init__(self, cpu_s: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._page_s = cpu_s * _SHARE_FOR_PAGES * _SHARE_OF_PAGE
        self._ends_at = clock() + cpu_s * _SHARE_FOR_PAGES
        self._page_ends_at = self._ends_at

    def spend_on(self, pages: Iterable[int]) -> Iterator[int]:
        """The first page, and each further one for which as much is left as the longest so far has cost."""
        longest = 0.0
        for page in pages:
            begun = self._clock()
            if begun + longest > self._ends_at:
                return
            self._page_ends_at = min(begun + self._page_s, self._ends_at)
            yield page
            longest = max(longest, self._clock() - begun)

    def is_page_spent(self) -> bool:
        return self._clock() >= self._page_ends_at
