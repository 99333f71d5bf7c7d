"""When a document may be read by OCR: it costs seconds, and those that cost none must not wait for it."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What a document takes until one was timed.
_FIRST_GUESS_S = 5.0
_SHARE_OF_NEWEST = 0.2  # of the newest document in the running average
# Each time that a document comes in vain its text layer is read anew: ten thousand scans that came back within minutes
# would keep the parser processes from all others.
LONGEST_PAUSE_S = 6 * 3600.0
_MAX_QUEUES = 1000
# Two come for each place that becomes free: some documents take less time than others, and no place is to stay free.
_SHARE_OF_WAIT = 0.5


class OCRBusy(Exception):
    """As many documents are being read by OCR as there are processes: try again in `retry_in_s`."""

    def __init__(self, retry_in_s: float) -> None:
        super().__init__(f"waits for OCR, {retry_in_s:.0f} s")
        self.retry_in_s = retry_in_s


class OCRTurns:
    """`places` documents at once. Whoever finds none free is told when its turn is likely to come: behind those of its
    own queue, beside those of the others, so that a thousand scans of one mailbox keep no other's waiting.

    `clock` gives seconds that never go back.
    """

    def __init__(self, places: int, clock: Callable[[], float]) -> None:
        self._places = places
        self._clock = clock
        self._taken = 0
        self._average_s = _FIRST_GUESS_S
        self._last_turn_at: OrderedDict[str, float] = OrderedDict()  # by queue

    @contextmanager
    def take_turn(self, queue: str = "") -> Iterator[None]:
        """
        Raises:
            OCRBusy: no place is free.
        """
        now = self._clock()
        if self._taken == self._places:
            raise OCRBusy(self._give_turn(queue, now) - now)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._average_s += _SHARE_OF_NEWEST * (self._clock() - now - self._average_s)

    def _give_turn(self, queue: str, now: float) -> float:
        others = sum(at > now for name, at in self._last_turn_at.items() if name != queue)
        turn_at = (
            max(self._last_turn_at.get(queue, now), now)
            + _SHARE_OF_WAIT * self._average_s * (others + 1) / self._places
        )
        if turn_at > now + LONGEST_PAUSE_S:
            return now + LONGEST_PAUSE_S
        self._last_turn_at[queue] = turn_at
        self._last_turn_at.move_to_end(queue)
        if len(self._last_turn_at) > _MAX_QUEUES:
            self._last_turn_at.popitem(last=False)
        return turn_at
