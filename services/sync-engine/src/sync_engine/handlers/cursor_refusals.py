"""Counts how often the provider has refused the tokens of a round, over all the slices in which it is read."""

from collections import OrderedDict

from sync_engine.handlers.sync_run import SyncRun

_MAX_ROUNDS = 10_000


class CursorRefusals:
    """A slice may end before a token is refused often enough to tell: each would begin the round anew, for ever.

    In memory only: a count that is forgotten costs a few rounds from their beginning.
    """

    def __init__(self, max_rounds: int = _MAX_ROUNDS) -> None:
        self._max_rounds = max_rounds
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()

    def count_refusal(self, run: SyncRun, scope: str) -> int:
        """How many there have been since the last `end_round`."""
        key = (run.doc_source_id, scope)
        self._counts[key] = self._counts.pop(key, 0) + 1
        if len(self._counts) > self._max_rounds:
            self._counts.popitem(last=False)
        return self._counts[key]

    def end_round(self, run: SyncRun, scope: str) -> None:
        """It came to its end, or was given up."""
        self._counts.pop((run.doc_source_id, scope), None)
