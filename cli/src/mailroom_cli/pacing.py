"""Holds a command to a rate, and says how far it is."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable

from mailroom_cli.terminal import print_line


class Pacer:
    """At most `rate` turns a second pass, evenly; 0 lets all pass."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._gap_s = 1 / rate if rate > 0 else 0.0
        self._clock = clock
        self._next_at = clock()
        self.turns_a_second = max(1, int(rate)) if rate > 0 else 1_000_000

    async def wait_turn(self, turns: int = 1) -> None:
        """Until the turns taken before are paid for; these are paid for by whoever comes next."""
        now = self._clock()
        due_at = max(self._next_at, now)
        self._next_at = due_at + turns * self._gap_s
        if due_at > now:
            await asyncio.sleep(due_at - now)


class Progress:
    """Lines on stderr, so that stdout holds the result alone: often on a terminal, seldom in a log."""

    def __init__(self, total: int | None, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self.done = 0
        self._total = total
        self._unit = unit
        self._clock = clock
        self._started_at = self._told_at = clock()
        self._every_s = 1.0 if sys.stderr.isatty() else 15.0

    def advance(self, done: int) -> None:
        self.done += done
        if self._clock() - self._told_at >= self._every_s:
            self._told_at = self._clock()
            print_line(self.describe(), err=True)

    def describe(self) -> str:
        share = f"{100 * self.done // self._total:3} %" if self._total else ""
        elapsed_s = max(0.001, self._clock() - self._started_at)
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        of_total = "" if self._total is None else f" of {self._total:,}"
        return f"{share} {self.done:,}{of_total} {self._unit} ({self.done / elapsed_s:,.0f}/s): {counts}"
