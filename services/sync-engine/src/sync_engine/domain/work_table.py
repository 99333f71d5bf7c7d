"""The compacted topic as a work table: the protocol of one partition, without Kafka and without a clock.

A request only wakes; a tombstone with `resolves` closes it. Why each rule is needed is in docs/adr and was found by an
exhaustive model; the tests break each of them here and see a change lost:

- S, the pending offset, is taken when a key is claimed: before the first provider call of the run.
- Done with S still pending: a tombstone that resolves S. Done with a newer request: round again, nothing is written.
- A tombstone clears only requests at or below what it resolves.
- A tombstone that leaves a later request pending has made that one a prey of the cleaner: it is appended again.
- After an append of ours nothing is claimed for the key until that append has been read.
- A request that asks for a full run is more than a wake-up: a newer one must not overwrite that wish, so it is made
  durable before the key is claimed or the offset passes.
- The committed offset is the lowest that is still needed, so a successor reads all that is still asked for.
"""

import heapq
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from mailroom_common.events import FULL_RUN_REASONS, SyncReason, SyncRequest

_NEVER = -1


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one key once; its `offset` is S."""

    key: str
    request: SyncRequest
    offset: int
    reasons: frozenset[SyncReason]


@dataclass(frozen=True, slots=True)
class Append:
    """A record that the owner must append, again and again until it is acknowledged: then `appended` is due."""

    key: str
    request: SyncRequest
    reasons: frozenset[SyncReason] = frozenset()
    resolves: int | None = None  # set: a tombstone; None: the request again


@dataclass(slots=True)
class _Row:
    request: SyncRequest
    pending: int | None = None
    reasons: set[SyncReason] = field(default_factory=set)
    wish_at: int | None = None  # the first request for a full run that nobody is making durable yet
    recording_at: int | None = None  # the same, and somebody is
    claim: Claim | None = None
    is_shadowed: bool = False
    appends_under_way: int = 0
    last_append: int = _NEVER
    not_before: datetime | None = None

    def lowest_needed(self) -> int | None:
        return min((at for at in (self.pending, self.wish_at, self.recording_at) if at is not None), default=None)


class WorkTable:
    """Not thread-safe. Keys are claimed in the order in which they became ready."""

    def __init__(self) -> None:
        self.position = 0
        self._rows: dict[str, _Row] = {}
        self._ready: dict[str, None] = {}
        self._held: list[tuple[datetime, str]] = []
        self._shadowed: dict[str, None] = {}
        self._wishes: dict[str, None] = {}
        self._unread: list[tuple[int, str]] = []  # our own acknowledged appends, by offset

    # What the log says, in offset order, also while runs are under way.

    def read_request(self, offset: int, key: str, request: SyncRequest) -> None:
        self.moved_to(offset + 1)
        row = self._rows.setdefault(key, _Row(request))
        row.request, row.pending = request, offset
        row.is_shadowed = False  # this record stands behind the tombstone that shadowed the one before
        row.reasons.update(request.reasons)
        if row.wish_at is None and not FULL_RUN_REASONS.isdisjoint(request.reasons):
            row.wish_at = offset
        if SyncReason.RETRY not in request.reasons:
            row.not_before = None  # somebody asks anew, perhaps after mending it: look at the database's word again
        self._settle(key, row)

    def read_tombstone(self, offset: int, key: str, resolves: int | None) -> None:
        """`resolves` is None on a tombstone of no run of ours: it clears nothing, and shadows what stood before it."""
        self.moved_to(offset + 1)
        row = self._rows.get(key)
        if row is None:
            return
        if resolves is not None:
            if row.pending is not None and row.pending <= resolves:
                row.pending = None
                row.reasons.clear()
            if row.wish_at is not None and row.wish_at <= resolves:
                row.wish_at = None  # its writer made that durable before it resolved
        row.is_shadowed = row.pending is not None
        self._settle(key, row)

    def moved_to(self, position: int) -> None:
        """All below is read: also where the cleaner left a gap, or a record was set aside as undecodable."""
        self.position = max(self.position, position)
        while self._unread and self._unread[0][0] < self.position:
            _, key = heapq.heappop(self._unread)
            if row := self._rows.get(key):
                self._settle(key, row)

    def committable(self) -> int:
        needed = (row.lowest_needed() for row in self._rows.values())
        return min((at for at in needed if at is not None), default=self.position)

    # What the owner does.

    def rearms(self) -> list[Append]:
        """Requests that a tombstone has shadowed, to be appended again."""
        owed = []
        for key in self._shadowed:
            row = self._rows[key]
            row.is_shadowed = False
            owed.append(self._append(row, Append(key, row.request, frozenset(row.reasons) | {SyncReason.RETRY})))
        self._shadowed.clear()
        return owed

    def wishes(self) -> list[str]:
        """Keys of which somebody asked for a full run: make that durable, and say so by `recorded` or `not_recorded`.

        They are not claimed before that; what is asked for meanwhile is another wish.
        """
        taken = list(self._wishes)
        for key in taken:
            row = self._rows[key]
            row.recording_at, row.wish_at = row.wish_at, None
            self._settle(key, row)
        return taken

    def recorded(self, keys: Iterable[str]) -> None:
        for key in keys:
            row = self._rows[key]
            row.recording_at = None
            self._settle(key, row)

    def not_recorded(self, keys: Iterable[str]) -> None:
        for key in keys:
            row = self._rows[key]
            row.wish_at, row.recording_at = row.recording_at, None
            self._settle(key, row)

    def wake_rested(self, now: datetime) -> None:
        """Keys whose `not_before` has come may be claimed again."""
        while self._held and self._held[0][0] <= now:
            _, key = heapq.heappop(self._held)
            if (row := self._rows.get(key)) and row.not_before and row.not_before <= now:
                row.not_before = None
                self._settle(key, row)

    def claim(self, *, busy: Container[str] = ()) -> Claim | None:
        """The next key that may run and is not `busy` elsewhere. Its offset is S."""
        key = next((key for key in self._ready if key not in busy), None)
        if key is None:
            return None
        row = self._rows[key]
        assert row.pending is not None  # noqa: S101  # that is what being ready means
        claim = Claim(key, row.request, row.pending, frozenset(row.reasons))
        row.claim, row.reasons = claim, set()
        self._settle(key, row)
        return claim

    def finish(self, claim: Claim) -> Append | None:
        """The run is done, or no run can help: a tombstone; None when something newer asks for another round."""
        row = self._end(claim)
        append = None
        if row.pending == claim.offset and self._is_settled(row):
            append = self._append(row, Append(claim.key, row.request, resolves=claim.offset))
        self._settle(claim.key, row)
        return append

    def fail(self, claim: Claim, *, not_before: datetime) -> Append:
        """The request again, so that the committed offset moves on while the key rests."""
        row = self._end(claim)
        row.reasons.update(claim.reasons - FULL_RUN_REASONS)  # those are durable by now
        append = self._append(row, Append(claim.key, row.request, frozenset(row.reasons) | {SyncReason.RETRY}))
        self._hold(claim.key, row, not_before)
        self._settle(claim.key, row)
        return append

    def put_back(self, claim: Claim, *, not_before: datetime) -> None:
        """Nothing came of the claim and nothing is written: the key is as pending as before, but rests."""
        row = self._end(claim)
        if row.pending is not None:  # else a tombstone of another owner has answered it meanwhile
            row.reasons.update(claim.reasons)
        self._hold(claim.key, row, not_before)
        self._settle(claim.key, row)

    def appended(self, key: str, offset: int) -> None:
        """Kafka acknowledged an append of ours; it may have been read before we heard of it."""
        row = self._rows[key]
        row.appends_under_way -= 1
        row.last_append = max(row.last_append, offset)
        heapq.heappush(self._unread, (offset, key))
        self._settle(key, row)

    def next_due_at(self) -> datetime | None:
        """When to call `wake_rested` next."""
        return self._held[0][0] if self._held else None

    @property
    def pending_count(self) -> int:
        return sum(row.pending is not None for row in self._rows.values())

    def _end(self, claim: Claim) -> _Row:
        row = self._rows[claim.key]
        row.claim = None
        return row

    def _append(self, row: _Row, append: Append) -> Append:
        row.appends_under_way += 1
        return append

    def _hold(self, key: str, row: _Row, until: datetime) -> None:
        row.not_before = until
        heapq.heappush(self._held, (until, key))

    def _is_settled(self, row: _Row) -> bool:
        """Nothing of ours is on its way to the log or, once there, still unread."""
        return not row.is_shadowed and row.appends_under_way == 0 and row.last_append < self.position

    def _settle(self, key: str, row: _Row) -> None:
        """Bring the indexes in line with the row; forget a row that says nothing any more."""
        if row.is_shadowed:
            self._shadowed[key] = None
        else:
            self._shadowed.pop(key, None)
        if row.wish_at is not None and row.recording_at is None:
            self._wishes[key] = None
        else:
            self._wishes.pop(key, None)
        is_durable = row.wish_at is None and row.recording_at is None
        is_free = row.claim is None and self._is_settled(row)
        if row.pending is not None and is_free and is_durable and row.not_before is None:
            self._ready.setdefault(key)
        else:
            self._ready.pop(key, None)
        if row.pending is None and is_free and is_durable:
            del self._rows[key]
