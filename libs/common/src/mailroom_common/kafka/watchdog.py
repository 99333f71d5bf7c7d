"""Detects a stalled consumer: Kafka has more records for it, and it reads none.

aiokafka has been seen to deliver nothing after a cluster came back (its issue 703). A process like that looks healthy,
so it has to end itself.
"""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

P = TypeVar("P", bound=Hashable)

STALLED_AFTER_S = 60.0


class StallDetector(Generic[P]):
    """Is given a reader's positions and the ends of its partitions at intervals; has no clock and no Kafka itself."""

    def __init__(self, stalled_after_s: float = STALLED_AFTER_S) -> None:
        self._stalled_after_s = stalled_after_s
        self._standing_since: dict[P, tuple[int, float]] = {}

    def find_stalled(self, now_s: float, positions: Mapping[P, int], ends: Mapping[P, int]) -> list[P]:
        """Partitions that have stood at one position, short of the end, for too long.

        Leave out of `positions` what is held on purpose: a full window, or a record that waits for its schema.
        """
        found = []
        since: dict[P, tuple[int, float]] = {}
        for partition, position in positions.items():
            if ends.get(partition, 0) <= position:
                continue
            stood_at, from_s = self._standing_since.get(partition, (-1, now_s))
            since[partition] = (position, from_s if stood_at == position else now_s)
            if now_s - since[partition][1] >= self._stalled_after_s:
                found.append(partition)
        self._standing_since = since
        return found
