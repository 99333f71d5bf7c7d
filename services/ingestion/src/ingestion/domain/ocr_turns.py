"""When a document may be read by OCR: it costs seconds, and those that cost none must not wait for it."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

# What a document takes until one was timed.
_FIRST_GUESS_S = 5.0
_SHARE_OF_NEWEST = 0.2  # of the newest document in the running average
# Each time that a document comes in vain its text layer is read anew: ten thousand scans that came back within minutes
# would keep the parser processes from all others.
LONGEST_PAUSE_S = 6 * 3600.0
_SHORTEST_PAUSE_S = 1.0
_MAX_QUEUES = 1000
_MAX_PROMISES = 10_000  # of a queue that are remembered
# Two come for each place that becomes free: some documents take less time than others, and no place is to stay free.
_SHARE_OF_WAIT = 0.5
_NEVER = float("-inf")

T = TypeVar("T")


class OCRBusy(Exception):
    """As many documents are being read by OCR as there are processes: try again in `retry_in_s`."""

    def __init__(self, retry_in_s: float) -> None:
        super().__init__(f"waits for OCR, {retry_in_s:.0f} s")
        self.retry_in_s = retry_in_s


@dataclass(slots=True)
class _WaitingQueue:
    """`waits_since`: its last turn, and when it came in vain since; the least is the next one. `promised` are the times
    at which its documents were told to come, at least one, and of very many the first; `last_at` is the last of all."""

    waits_since: tuple[float, float]
    last_at: float = _NEVER
    promised: deque[float] = field(default_factory=deque)


class OCRTurns:
    """`places` documents at once. Whoever finds none free is told when its turn is likely to come: behind those of its
    own queue, beside those of the others. A place is kept for the queue that had none for longest, if it is to come
    before a document would be read: the scans of one mailbox come so often that all others would find it taken.

    `clock` gives seconds that never go back.
    """

    def __init__(self, places: int, clock: Callable[[], float]) -> None:
        self._places = places
        self._clock = clock
        self._started_at: list[float] = []  # of those that are read now
        self._average_s = _FIRST_GUESS_S
        self._waiting: OrderedDict[str, _WaitingQueue] = OrderedDict()
        self._last_turn_at: OrderedDict[str, float] = OrderedDict()  # by queue

    @contextmanager
    def take_turn(self, queue: str = "") -> Iterator[None]:
        """
        Raises:
            OCRBusy: no place is free, or it is kept for another queue.
        """
        now = self._clock()
        if self._places - len(self._started_at) <= self._count_queues_before(queue, now):
            raise OCRBusy(self._promise_turn(queue, now) - now)
        self._record_turn(queue, now)
        try:
            yield
        finally:
            self._started_at.remove(now)
            self._average_s += _SHARE_OF_NEWEST * (self._clock() - now - self._average_s)

    def _record_turn(self, queue: str, now: float) -> None:
        self._started_at.append(now)
        _remember(self._last_turn_at, queue, now)
        waiting = self._waiting.get(queue)
        if waiting is not None:
            waiting.waits_since = (now, now)
            waiting.promised.popleft()
            self._drop_if_empty(queue)

    def _count_queues_before(self, queue: str, now: float) -> int:
        """The queues that wait for longer, and come soon enough for a place to be kept for them."""
        waits_since = self._find_waits_since(queue, now)
        self._forget_broken_promises(now)
        return sum(
            waiting.waits_since < waits_since and waiting.promised[0] <= now + self._average_s
            for name, waiting in self._waiting.items()
            if name != queue
        )

    def _find_waits_since(self, queue: str, now: float) -> tuple[float, float]:
        waiting = self._waiting.get(queue)
        return (self._last_turn_at.get(queue, _NEVER), now) if waiting is None else waiting.waits_since

    def _forget_broken_promises(self, now: float) -> None:
        """Who does not come was taken by another worker."""
        patience_s = self._average_s * _SHARE_OF_WAIT
        for name, waiting in list(self._waiting.items()):
            while waiting.promised and waiting.promised[0] < now - patience_s:
                waiting.promised.popleft()
            self._drop_if_empty(name)

    def _drop_if_empty(self, queue: str) -> None:
        if not self._waiting[queue].promised:
            del self._waiting[queue]

    def _promise_turn(self, queue: str, now: float) -> float:
        waits_since = self._find_waits_since(queue, now)
        waiting = self._waiting.get(queue) or _WaitingQueue(waits_since)
        if waiting.promised and waiting.promised[0] <= now:
            waiting.promised.popleft()  # this one's, most likely: it has come
        others = [other for name, other in self._waiting.items() if name != queue]
        if waiting.promised:
            turn_at = max(waiting.last_at, now)
            # As long as others wait too they have their turns between.
            turn_at += self._pause_for(1 + sum(other.last_at > turn_at for other in others))
        else:
            is_full = len(self._started_at) == self._places
            free_at = min(self._started_at) + self._average_s if is_full else now
            before = sum(other.waits_since < waits_since for other in others)
            turn_at = max(free_at, now + _SHORTEST_PAUSE_S) + self._pause_for(before)
        if turn_at > now + LONGEST_PAUSE_S:
            return now + LONGEST_PAUSE_S
        waiting.last_at = turn_at
        if len(waiting.promised) < _MAX_PROMISES:
            waiting.promised.append(turn_at)
        _remember(self._waiting, queue, waiting)
        return turn_at

    def _pause_for(self, turns: int) -> float:
        return _SHARE_OF_WAIT * self._average_s * turns / self._places


def _remember(by_queue: OrderedDict[str, T], queue: str, value: T) -> None:
    by_queue[queue] = value
    by_queue.move_to_end(queue)
    if len(by_queue) > _MAX_QUEUES:
        by_queue.popitem(last=False)
