"""When a document may be read by OCR: it costs seconds, and those that cost none must not wait for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What a document takes until one was timed.
_FIRST_GUESS_S = 5.0
_SHARE_OF_NEWEST = 0.2  # of the newest document in the running average
LONGEST_PAUSE_S = 300.0


class OCRBusy(Exception):
    """As many documents are being read by OCR as there are processes: try again in `retry_in_s`."""

    def __init__(self, retry_in_s: float) -> None:
        super().__init__(f"waits for OCR, {retry_in_s:.0f} s")
        self.retry_in_s = retry_in_s


class OCRTurns:
    """`places` documents at once. Whoever finds none free is told when its turn is likely to come, one after the other,
    so that a thousand scans are not asked for all the time.

    `clock` gives seconds that never go back.
    """

    def __init__(self, places: int, clock: Callable[[], float]) -> None:
        self._places = places
        self._clock = clock
        self._taken = 0
        self._average_s = _FIRST_GUESS_S
        self._next_turn_at = 0.0

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """
        Raises:
            OCRBusy: no place is free.
        """
        now = self._clock()
        if self._taken == self._places:
            # Behind those that were told before: each place has one document after the other.
            self._next_turn_at = max(self._next_turn_at, now) + self._average_s / self._places
            if self._next_turn_at > now + LONGEST_PAUSE_S:
                self._next_turn_at = now + self._average_s
                raise OCRBusy(LONGEST_PAUSE_S)
            raise OCRBusy(self._next_turn_at - now)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._average_s += _SHARE_OF_NEWEST * (self._clock() - now - self._average_s)
