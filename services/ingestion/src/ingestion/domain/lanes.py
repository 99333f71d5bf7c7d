"""Which document is read next: those of new mail first, so that a backfill of any size does not delay them."""

from enum import StrEnum
from itertools import count

_BACKFILL_SHARE = 5


class Lane(StrEnum):
    LIVE = "live"  # documents of mail that has just arrived
    BACKFILL = "backfill"  # documents of a first sync, a re-list or a replay


class LaneSchedule:
    """The lanes in which one of `loop_count` document loops looks, claim by claim.

    The first of several loops reads live documents only: a live one never waits until a backfill's is read. The others
    prefer live ones, but for each fifth claim, so that a backfill goes on however busy the site is.
    """

    def __init__(self, loop_number: int, loop_count: int) -> None:
        self._is_live_only = loop_number == 0 and loop_count > 1
        self._claims = count(1)

    @property
    def lanes(self) -> frozenset[Lane]:
        return frozenset({Lane.LIVE} if self._is_live_only else Lane)

    def choose_lanes(self) -> tuple[Lane, ...]:
        """The lanes of the next claim, in the order in which they are looked at."""
        if self._is_live_only:
            return (Lane.LIVE,)
        is_backfills_turn = next(self._claims) % _BACKFILL_SHARE == 0
        return (Lane.BACKFILL, Lane.LIVE) if is_backfills_turn else (Lane.LIVE, Lane.BACKFILL)
