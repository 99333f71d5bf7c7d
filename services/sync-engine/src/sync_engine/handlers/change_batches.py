"""How many messages of a page are processed and committed at once."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mailroom_common.providers.types import Change

MAX_BATCH_MESSAGES = 50
"""A batch is as much as may be lost to a crash, and as many messages as one transaction writes."""

_LONGEST_OLD_BATCH_S = 1.0
_MAX_OLD_BATCH_MESSAGES = 10


def cut_batches(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    # Ids alone cost no calls: a mail that is deleted from here on is known when the history, which is read between two
    # pages and not within one, says so.
    size = len(changes) if _are_ids_alone(changes) else MAX_BATCH_MESSAGES
    for start in range(0, len(changes), size or 1):
        yield changes[start : start + size]


@dataclass(slots=True)
class OldMailBatches:
    """Batches of as many messages as take about a second: new mail is looked for between two of them, and does not wait
    for old mail, which may be let through by one message a second where it has used up its quota. One per run, which
    knows from its former pages how many these are."""

    clock: Callable[[], float] = time.monotonic
    size: int = 2

    def cut(self, changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
        if _are_ids_alone(changes):
            yield from cut_batches(changes)
            return
        start = 0
        while start < len(changes):
            began_s, end = self.clock(), start + self.size
            yield changes[start:end]
            start = end
            is_slow = self.clock() - began_s > _LONGEST_OLD_BATCH_S
            self.size = max(1, self.size // 2) if is_slow else min(self.size * 2, _MAX_OLD_BATCH_MESSAGES)


def _are_ids_alone(changes: Sequence[Change]) -> bool:
    return bool(changes) and all(change.received_before for change in changes)
