"""How far a partition may be committed while its records finish out of order."""

from collections import deque


class Watermark:
    """Counts *delivered* offsets, never integers: compacted and transactional topics have gaps."""

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._done: set[int] = set()
        self._after_last: int | None = None

    def add_delivered(self, offset: int) -> None:
        """Offsets come in rising order."""
        self._open.append(offset)
        self._after_last = offset + 1

    def mark_done(self, offset: int) -> None:
        self._done.add(offset)
        while self._open and self._open[0] in self._done:
            self._done.remove(self._open.popleft())

    @property
    def committable(self) -> int | None:
        """The smallest delivered offset that is not done, else the one after the last; None before the first."""
        return self._open[0] if self._open else self._after_last

    @property
    def uncommittable_count(self) -> int:
        """Delivered and not committable: not done, or done above one that is not. A crash would repeat these."""
        return len(self._open)
