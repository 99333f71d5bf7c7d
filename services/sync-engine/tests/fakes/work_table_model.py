"""A partition, its owners and their mailboxes as a state machine around the work table: what the protocol's tests run.

A former owner does not know that its partition has moved, and goes on. A change in a mailbox is followed by a request;
it is lost when, with nothing left to do, no run has read it.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from mailroom_common.events import SyncReason, SyncRequest
from sync_engine.domain.work_table import Claim, RecordToAppend, WorkTable

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = ("a", "b")
FOLDERS = 2


@dataclass(frozen=True)
class Record:
    """`request` None is a tombstone."""

    offset: int
    key: str
    request: SyncRequest | None = None
    resolves: int | None = None


@dataclass
class Run:
    """A run reads the folders one after the other; a full one finds what was missed before, too."""

    claim: Claim
    full_mark: int | None
    next_folder: int = 0


@dataclass
class Owner:
    """One process with the partition. A former owner goes on, but reads no log and commits nothing."""

    table: WorkTable
    runs: dict[str, Run] = field(default_factory=dict)
    unacknowledged: list[RecordToAppend] = field(default_factory=list)
    recording: list[str] = field(default_factory=list)
    acks: list[tuple[str, int]] = field(default_factory=list)


class Mailroom(RuleBasedStateMachine):
    make_table: ClassVar[type[WorkTable]] = WorkTable

    def __init__(self) -> None:
        super().__init__()
        self.now = EPOCH
        self.log: list[Record] = []
        self.end = 0
        self.committed = 0
        self.unread = {key: set[int]() for key in KEYS}  # folders with a change that any run finds
        self.missed = {key: set[int]() for key in KEYS}  # folders with a change that only a full run finds
        self.full_due_marks: dict[str, int] = {}
        self.marks = 0
        self.owner = Owner(self.make_table())
        self.former_owners: list[Owner] = []

    # Mailboxes and the log.

    @rule(key=st.sampled_from(KEYS), folder=st.sampled_from(range(FOLDERS)))
    def a_mail_comes(self, key: str, folder: int) -> None:
        self.unread[key].add(folder)
        self._write(key, self._request(key, SyncReason.NOTIFICATION))

    @rule(key=st.sampled_from(KEYS), folder=st.sampled_from(range(FOLDERS)))
    def a_notification_was_missed(self, key: str, folder: int) -> None:
        self.missed[key].add(folder)
        self._write(key, self._request(key, SyncReason.LIFECYCLE))

    @rule(count=st.integers(1, 3))
    def offsets_are_skipped(self, count: int) -> None:
        self.end += count

    @rule()
    def time_passes(self) -> None:
        self.now += timedelta(seconds=1)
        self.owner.table.wake_due_keys(self.now)

    def compaction_may_run(self) -> bool:
        # The lag is longer than any takeover: it touches only what the live owner has read and answered.
        return self._is_all_read() and not self.owner.unacknowledged and not self._has_full_sync_requests()

    @precondition(compaction_may_run)
    @rule()
    def compaction_runs(self) -> None:
        last = {record.key: record for record in self.log}
        self.log = sorted(last.values(), key=lambda record: record.offset)

    # The owner.

    @precondition(lambda self: not self._is_all_read())
    @rule(to_the_end=st.booleans())
    def the_owner_reads(self, to_the_end: bool = False) -> None:
        self._read()
        while to_the_end and not self._is_all_read():
            self._read()

    def _read(self) -> None:
        table = self.owner.table
        record = next(record for record in self.log if record.offset >= table.position)
        if record.request is None:
            table.read_tombstone(record.offset, record.key, record.resolves)
        else:
            table.read_request(record.offset, record.key, record.request)
        self.owner.unacknowledged += table.take_requests_to_reappend()

    @precondition(lambda self: self._has_full_sync_requests())
    @rule(in_vain=st.booleans())
    def a_full_sync_request_is_stored(self, in_vain: bool = False) -> None:
        owner = self.owner
        if not owner.recording:
            owner.recording = owner.table.take_full_sync_keys()
            return
        if in_vain:
            owner.table.release_full_sync_keys(owner.recording)
        else:
            for key in owner.recording:
                self.marks += 1
                self.full_due_marks[key] = self.marks
            owner.table.confirm_full_sync_keys(owner.recording)
        owner.recording = []

    @rule()
    def the_owner_claims(self) -> None:
        self._claim(self.owner)

    @rule()
    def the_owner_releases_a_claim(self) -> None:
        if claim := self.owner.table.claim_next():
            self.owner.table.release_claim(claim, not_before=self.now + timedelta(seconds=2))

    @precondition(lambda self: self.owner.runs)
    @rule(data=st.data(), to_the_end=st.booleans())
    def a_run_goes_on(self, data: st.DataObject, to_the_end: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.owner.runs)))
        self._step(self.owner, key)
        while to_the_end and key in self.owner.runs:
            self._step(self.owner, key)

    @rule()
    def the_owner_works_a_request_off(self) -> None:
        """In one go, so that what comes between the steps above need not always be looked for."""
        if key := self._claim(self.owner):
            while key in self.owner.runs:
                self._step(self.owner, key)

    @precondition(lambda self: self.owner.runs)
    @rule(data=st.data())
    def a_run_fails(self, data: st.DataObject) -> None:
        self.the_run_fails(data.draw(st.sampled_from(sorted(self.owner.runs))))

    def the_run_fails(self, key: str) -> None:
        run = self.owner.runs.pop(key)
        rests_until = self.now + timedelta(seconds=2)
        self.owner.unacknowledged.append(self.owner.table.back_off(run.claim, not_before=rests_until))

    @precondition(lambda self: self.owner.unacknowledged)
    @rule()
    def an_append_is_written(self) -> None:
        self._write_append(self.owner)

    @precondition(lambda self: self.owner.acks)
    @rule()
    def an_ack_arrives(self) -> None:
        self.owner.table.acknowledge_append(*self.owner.acks.pop(0))

    @rule()
    def the_owner_commits(self) -> None:
        self.owner.table.advance_position(self.end if self._is_all_read() else self.owner.table.position)
        self.committed = self.owner.table.committable_offset()

    @rule()
    def the_partition_moves(self) -> None:
        self.former_owners.append(self.owner)
        self.owner = Owner(self.make_table())
        self.owner.table.advance_position(self.committed)

    # Former owners.

    @precondition(lambda self: any(former_owner.runs for former_owner in self.former_owners))
    @rule(data=st.data())
    def a_former_owner_goes_on(self, data: st.DataObject) -> None:
        former_owner = data.draw(st.sampled_from([owner for owner in self.former_owners if owner.runs]))
        self._step(former_owner, data.draw(st.sampled_from(sorted(former_owner.runs))))

    @precondition(lambda self: any(former_owner.unacknowledged for former_owner in self.former_owners))
    @rule(data=st.data())
    def an_append_of_a_former_owner_is_written(self, data: st.DataObject) -> None:
        self._write_append(data.draw(st.sampled_from([owner for owner in self.former_owners if owner.unacknowledged])))

    # The promise.

    @rule()
    def it_comes_to_rest(self) -> None:
        """Let everything end that can, and look."""
        for former_owner in self.former_owners:
            while former_owner.unacknowledged:
                self._write_append(former_owner)
        self.former_owners.clear()
        for _ in range(1_000):
            if not self._does_something():
                break
        else:
            pytest.fail("it works for ever")
        assert not any(self.unread.values()), f"changes that nobody will read: {self.unread}"
        assert not any(self.missed.values()), f"missed changes that nobody will read: {self.missed}"

    def teardown(self) -> None:
        self.it_comes_to_rest()

    def _does_something(self) -> bool:
        owner = self.owner
        if not self._is_all_read():
            self._read()
        elif owner.unacknowledged:
            self._write_append(owner)
        elif owner.acks:
            self.an_ack_arrives()
        elif self._has_full_sync_requests():
            self.a_full_sync_request_is_stored()
        elif owner.runs:
            self._step(owner, min(owner.runs))
        elif self._claim(owner):
            pass
        elif owner.table.next_due_at() is not None:
            self.time_passes()
        else:
            return False
        return True

    def _is_all_read(self) -> bool:
        return not self.log or self.log[-1].offset < self.owner.table.position

    def a_step_of_a_run(self, key: str) -> None:
        self._step(self.owner, key)

    def _has_full_sync_requests(self) -> bool:
        return bool(self.owner.recording or self.owner.table._full_sync_keys)

    def _claim(self, owner: Owner) -> str | None:
        claim = owner.table.claim_next()
        if claim is None:
            return None
        assert claim.key not in owner.runs
        owner.runs[claim.key] = Run(claim, self.full_due_marks.get(claim.key))
        return claim.key

    def _step(self, owner: Owner, key: str) -> None:
        run = owner.runs[key]
        if run.next_folder < FOLDERS:
            self.unread[key].discard(run.next_folder)
            if run.full_mark is not None:
                self.missed[key].discard(run.next_folder)
            run.next_folder += 1
            return
        del owner.runs[key]
        if run.full_mark is not None and self.full_due_marks.get(key) == run.full_mark:
            del self.full_due_marks[key]
        if append := owner.table.end_claim_and_build_tombstone(run.claim):
            owner.unacknowledged.append(append)

    def _write_append(self, owner: Owner) -> None:
        append = owner.unacknowledged.pop(0)
        request = self._request(append.key, *append.reasons) if append.resolves is None else None
        owner.acks.append((append.key, self._write(append.key, request, append.resolves)))

    def _write(self, key: str, request: SyncRequest | None, resolves: int | None = None) -> int:
        offset = self.end
        self.log.append(Record(offset, key, request, resolves))
        self.end += 1
        return offset

    def _request(self, key: str, *reasons: SyncReason) -> SyncRequest:
        return SyncRequest(
            event_id=f"{key}-{self.end}",
            occurred_at=self.now,
            tenant_id="acme",
            doc_source_id=key,
            reasons=list(reasons),
            first_requested_at=self.now,
        )


class OneMailbox(Mailroom):
    """With a single key, which finds most faults sooner."""

    @rule(folder=st.sampled_from(range(FOLDERS)))
    def a_mail_comes(self, folder: int) -> None:
        super().a_mail_comes(KEYS[0], folder)

    @rule(folder=st.sampled_from(range(FOLDERS)))
    def a_notification_was_missed(self, folder: int) -> None:
        super().a_notification_was_missed(KEYS[0], folder)
