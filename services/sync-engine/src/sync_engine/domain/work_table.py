"""The compacted topic `sync-requests` as a work table: the protocol of one partition, without Kafka or a clock.

A request asks for a sync; a tombstone with the header `resolves` closes it. An exhaustive model found that each rule
is needed (docs/adr); the tests break each of them and see a change in a mailbox lost:

- S, the pending offset, is remembered when a key is claimed: before the first provider call of the run.
- The run ends with S still pending: a tombstone resolves S. It ends with a newer request pending: the key is claimed
  again, and nothing is written.
- A tombstone clears only requests at or below what it resolves.
- A tombstone that leaves a later request pending makes that one eligible for compaction: it is appended again.
- After an append of ours nothing is claimed for the key until that append has been read.
- A request for a full run says more than others, and a newer request takes its place in the log: so it is stored in
  Postgres before the key is claimed or its offset is committed.
- The committed offset is the lowest that is still needed, so that the next owner reads all that is still asked for.
"""

import heapq
from collections.abc import Collection, Container, Iterable
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
class RecordToAppend:
    """A request or tombstone that the owner appends until Kafka acknowledges it; then it calls `acknowledge_append`."""

    key: str
    request: SyncRequest
    reasons: frozenset[SyncReason] = frozenset()
    resolves: int | None = None  # set: a tombstone; None: the request again


@dataclass(slots=True)
class _Row:
    request: SyncRequest
    tenant_id: str
    pending: int | None = None
    reasons: set[SyncReason] = field(default_factory=set)
    full_sync_at: int | None = None  # offset of the first request for a full run that is not being stored yet
    recording_at: int | None = None  # the same, of one that is being stored
    claim: Claim | None = None
    is_shadowed: bool = False
    unacknowledged_appends: int = 0
    last_append_offset: int = _NEVER
    not_before: datetime | None = None

    def lowest_needed_offset(self) -> int | None:
        return min((at for at in (self.pending, self.full_sync_at, self.recording_at) if at is not None), default=None)


class WorkTable:
    """Not thread-safe. Keys of one tenant are claimed in the order in which they became claimable."""

    def __init__(self) -> None:
        self.position = 0
        self._rows: dict[str, _Row] = {}
        self._claimable: dict[str, dict[str, None]] = {}  # by tenant
        self._resting: list[tuple[datetime, str]] = []
        self._shadowed: dict[str, None] = {}
        self._full_sync_keys: dict[str, None] = {}
        self._unread_appends: list[tuple[int, str]] = []  # our own acknowledged appends, by offset

    # Records of the log, in offset order, also while runs are under way.

    def read_request(self, offset: int, key: str, request: SyncRequest) -> None:
        self.advance_position(offset + 1)
        row = self._rows.setdefault(key, _Row(request, request.tenant_id))
        row.request, row.pending = request, offset
        row.is_shadowed = False  # this record stands behind the tombstone that shadowed the one before
        row.reasons.update(request.reasons)
        if row.full_sync_at is None and not FULL_RUN_REASONS.isdisjoint(request.reasons):
            row.full_sync_at = offset
        if SyncReason.RETRY not in request.reasons:
            row.not_before = None  # a new request, perhaps after a repair: the stored `not_before` is read again
        self._update_indexes(key, row)

    def read_tombstone(self, offset: int, key: str, resolves: int | None) -> None:
        """`resolves` is None on a tombstone of no run of ours: it clears nothing, and shadows the request before it."""
        self.advance_position(offset + 1)
        row = self._rows.get(key)
        if row is None:
            return
        if resolves is not None:
            # A late tombstone of a former owner answers only what that owner knew of.
            if row.pending is not None and row.pending <= resolves:
                row.pending = None
                row.reasons.clear()
            if row.full_sync_at is not None and row.full_sync_at <= resolves:
                row.full_sync_at = None  # the writer had stored it before it resolved the request
        row.is_shadowed = row.pending is not None
        self._update_indexes(key, row)

    def advance_position(self, position: int) -> None:
        """All offsets below are read, also where compaction left a gap or a record was dead-lettered as undecodable."""
        self.position = max(self.position, position)
        while self._unread_appends and self._unread_appends[0][0] < self.position:
            _, key = heapq.heappop(self._unread_appends)
            if row := self._rows.get(key):
                self._update_indexes(key, row)

    def committable_offset(self) -> int:
        needed = (row.lowest_needed_offset() for row in self._rows.values())
        return min((at for at in needed if at is not None), default=self.position)

    # Actions of the owner.

    def take_requests_to_reappend(self) -> list[RecordToAppend]:
        """Requests behind which a late tombstone stands: they are appended again, or compaction would remove them."""
        appends = []
        for key in self._shadowed:
            row = self._rows[key]
            row.is_shadowed = False
            append = RecordToAppend(key, row.request, frozenset(row.reasons) | {SyncReason.RETRY})
            appends.append(self._count_append(row, append))
        self._shadowed.clear()
        return appends

    def take_full_sync_keys(self) -> list[str]:
        """Keys with a request for a full run: store that, then confirm the keys, or release them if it failed.

        They are not claimed before that. A request for a full run that is read meanwhile is stored after it.
        """
        keys = list(self._full_sync_keys)
        for key in keys:
            row = self._rows[key]
            row.recording_at, row.full_sync_at = row.full_sync_at, None
            self._update_indexes(key, row)
        return keys

    def confirm_full_sync_keys(self, keys: Iterable[str]) -> None:
        for key in keys:
            row = self._rows[key]
            row.recording_at = None
            self._update_indexes(key, row)

    def release_full_sync_keys(self, keys: Iterable[str]) -> None:
        for key in keys:
            row = self._rows[key]
            row.full_sync_at, row.recording_at = row.recording_at, None
            self._update_indexes(key, row)

    def wake_due_keys(self, now: datetime) -> None:
        """Keys whose `not_before` has come may be claimed again."""
        while self._resting and self._resting[0][0] <= now:
            _, key = heapq.heappop(self._resting)
            if (row := self._rows.get(key)) and row.not_before and row.not_before <= now:
                row.not_before = None
                self._update_indexes(key, row)

    def list_claimable_tenants(self) -> Collection[str]:
        return self._claimable.keys()

    def claim_next(self, tenant_id: str | None = None, *, busy: Container[str] = ()) -> Claim | None:
        """The next key, of this tenant or of any, that may run and is not `busy` elsewhere. Its offset is S."""
        chosen = self._claimable.values() if tenant_id is None else [self._claimable.get(tenant_id, {})]
        key = next((key for keys in chosen for key in keys if key not in busy), None)
        if key is None:
            return None
        row = self._rows[key]
        assert row.pending is not None  # noqa: S101  # what makes a key claimable
        claim = Claim(key, row.request, row.pending, frozenset(row.reasons))
        row.claim, row.reasons = claim, set()
        self._update_indexes(key, row)
        return claim

    def end_claim_and_build_tombstone(self, claim: Claim) -> RecordToAppend | None:
        """The run ended, or no run can help: a tombstone; None when a newer request asks for another run, or an append
        of ours has not been read back yet."""
        row = self._end_claim(claim)
        append = None
        if row.pending == claim.offset and self._has_read_own_appends(row):
            append = self._count_append(row, RecordToAppend(claim.key, row.request, resolves=claim.offset))
        self._update_indexes(claim.key, row)
        return append

    def back_off(self, claim: Claim, *, not_before: datetime) -> RecordToAppend:
        """After a failed run: the request again, so that the committed offset moves on while the key rests."""
        row = self._end_claim(claim)
        row.reasons.update(claim.reasons - FULL_RUN_REASONS)  # those are stored by now
        append = self._count_append(
            row, RecordToAppend(claim.key, row.request, frozenset(row.reasons) | {SyncReason.RETRY})
        )
        self._rest_until(claim.key, row, not_before)
        self._update_indexes(claim.key, row)
        return append

    def release_claim(self, claim: Claim, *, not_before: datetime) -> None:
        """The claim ends without a run and nothing is written: the key is as pending as before, but rests."""
        row = self._end_claim(claim)
        if row.pending is not None:  # else a tombstone of another owner has answered it meanwhile
            row.reasons.update(claim.reasons)
        self._rest_until(claim.key, row, not_before)
        self._update_indexes(claim.key, row)

    def acknowledge_append(self, key: str, offset: int) -> None:
        """Kafka acknowledged an append of ours; it may have been read before the acknowledgement came."""
        row = self._rows[key]
        row.unacknowledged_appends -= 1
        # Acknowledgements of two appends may come in any order.
        row.last_append_offset = max(row.last_append_offset, offset)
        heapq.heappush(self._unread_appends, (offset, key))
        self._update_indexes(key, row)

    def next_due_at(self) -> datetime | None:
        """When to call `wake_due_keys` next."""
        return self._resting[0][0] if self._resting else None

    @property
    def pending_count(self) -> int:
        return sum(row.pending is not None for row in self._rows.values())

    def _end_claim(self, claim: Claim) -> _Row:
        row = self._rows[claim.key]
        row.claim = None
        return row

    def _count_append(self, row: _Row, append: RecordToAppend) -> RecordToAppend:
        row.unacknowledged_appends += 1
        return append

    def _rest_until(self, key: str, row: _Row, until: datetime) -> None:
        row.not_before = until
        heapq.heappush(self._resting, (until, key))

    def _has_read_own_appends(self, row: _Row) -> bool:
        """No append of ours is unacknowledged or, once in the log, unread."""
        return not row.is_shadowed and row.unacknowledged_appends == 0 and row.last_append_offset < self.position

    def _update_indexes(self, key: str, row: _Row) -> None:
        """Bring the indexes in line with the row; drop a row that nothing depends on any more."""
        if row.is_shadowed:
            self._shadowed[key] = None
        else:
            self._shadowed.pop(key, None)
        if row.full_sync_at is not None and row.recording_at is None:
            self._full_sync_keys[key] = None
        else:
            self._full_sync_keys.pop(key, None)
        is_durable = row.full_sync_at is None and row.recording_at is None
        is_idle = row.claim is None and self._has_read_own_appends(row)
        if row.pending is not None and is_idle and is_durable and row.not_before is None:
            self._claimable.setdefault(row.tenant_id, {}).setdefault(key)
        elif claimable := self._claimable.get(row.tenant_id):
            claimable.pop(key, None)
            if not claimable:
                del self._claimable[row.tenant_id]
        if row.pending is None and is_idle and is_durable:
            del self._rows[key]
