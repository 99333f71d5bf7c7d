"""The work-table protocol, as it is built, against a log with gaps and compaction, and owners that are killed.

A former owner does not know that its partition has moved, and goes on. A change in a mailbox is followed by a request;
it is lost when, with nothing left to do, no run has read it. Each rule of the protocol is broken below. The state
machine found every one of these losses by itself, in up to some thousand random histories; here each is a fixed
history, so that every broken variant fails in every run of the tests.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from mailroom_common.events import SyncReason, SyncRequest
from mailroom_sandbox.testkit.coverage_pause import pause_coverage
from sync_engine.domain.work_table import Claim, RecordToAppend, WorkTable, _Row

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


class NaiveTombstone(WorkTable):
    """A tombstone clears its key, whatever came before it."""

    def read_tombstone(self, offset: int, key: str, resolves: int | None) -> None:
        super().read_tombstone(offset, key, offset)


class LateS(WorkTable):
    """S is what is pending when the run ends, not when it began."""

    def end_claim_and_build_tombstone(self, claim: Claim) -> RecordToAppend | None:
        row = self._rows[claim.key]
        at_the_end = row.pending if row.pending is not None else claim.offset
        row.claim = Claim(claim.key, claim.request, at_the_end, claim.reasons)
        return super().end_claim_and_build_tombstone(row.claim)


class NoReappend(WorkTable):
    """A request that a tombstone left pending stays as it is, for the compaction to take."""

    def read_tombstone(self, offset: int, key: str, resolves: int | None) -> None:
        super().read_tombstone(offset, key, resolves)
        if row := self._rows.get(key):
            row.is_shadowed = False
            self._update_indexes(key, row)


class CommitsItsPosition(WorkTable):
    """What is read counts as done."""

    def committable_offset(self) -> int:
        return self.position


class CommitsPastAFullSyncRequest(WorkTable):
    """A newer request takes the place of one that asked for a full run, before that request is durable."""

    def committable_offset(self) -> int:
        pending = (row.pending for row in self._rows.values())
        return min((at for at in pending if at is not None), default=self.position)


class CommitsPastAFullSyncBeingRecorded(WorkTable):
    """A request that somebody is about to make durable counts as durable."""

    def committable_offset(self) -> int:
        needed = [at for row in self._rows.values() for at in (row.pending, row.full_sync_at) if at is not None]
        return min(needed, default=self.position)


class DropsAFullSyncThatWasNotRecorded(WorkTable):
    """What could not be made durable is not tried again."""

    def release_full_sync_keys(self, keys: Iterable[str]) -> None:
        self.confirm_full_sync_keys(keys)


class ClaimsBeforeAFullSyncIsStored(WorkTable):
    """The run that somebody wanted to be a full one begins as if nobody had."""

    def _update_indexes(self, key: str, row: _Row) -> None:
        full_sync_at, row.full_sync_at = row.full_sync_at, None
        super()._update_indexes(key, row)
        row.full_sync_at = full_sync_at
        if full_sync_at is not None and key in self._rows:
            self._full_sync_keys[key] = None


class AnswersWithoutLooking(WorkTable):
    """Done is done, also where a newer request was read meanwhile."""

    def end_claim_and_build_tombstone(self, claim: Claim) -> RecordToAppend | None:
        row = self._end_claim(claim)
        row.pending = None
        append = self._count_append(row, RecordToAppend(claim.key, row.request, resolves=claim.offset))
        self._update_indexes(claim.key, row)
        return append


class ForgetsToAskAgain(WorkTable):
    """After a failure the request is not appended again, though it counts as handled."""

    def back_off(self, claim: Claim, *, not_before: datetime) -> RecordToAppend:
        append = super().back_off(claim, not_before=not_before)
        return RecordToAppend(append.key, append.request, resolves=claim.offset)


A = KEYS[0]
Story = Callable[[Mailroom], None]


def a_mail_comes_while_the_answer_is_unacknowledged(it: Mailroom) -> None:
    it.a_mail_comes(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_works_a_request_off()
    it.a_mail_comes(A, 1)
    it.an_append_is_written()


def and_then_the_owner_dies_after_compaction(it: Mailroom) -> None:
    a_mail_comes_while_the_answer_is_unacknowledged(it)
    it.the_owner_reads(to_the_end=True)
    it.an_ack_arrives()
    while it.owner.unacknowledged:
        it.an_append_is_written()
    it.the_owner_commits()
    if it.compaction_may_run():
        it.compaction_runs()
    it.the_partition_moves()


def a_mail_comes_to_a_folder_that_was_read(it: Mailroom) -> None:
    it.a_mail_comes(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_claims()
    it.a_step_of_a_run(A)
    it.a_mail_comes(A, 0)
    it.the_owner_reads(to_the_end=True)
    while A in it.owner.runs:
        it.a_step_of_a_run(A)


def the_owner_dies_with_a_request_in_hand(it: Mailroom) -> None:
    it.a_mail_comes(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_commits()
    it.the_partition_moves()


def the_owner_dies_before_a_full_sync_request_is_stored(it: Mailroom) -> None:
    it.a_notification_was_missed(A, 0)
    it.a_mail_comes(A, 1)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_commits()
    it.the_partition_moves()


def the_owner_dies_while_it_stores_a_full_sync_request(it: Mailroom) -> None:
    it.a_notification_was_missed(A, 0)
    it.a_mail_comes(A, 1)
    it.the_owner_reads(to_the_end=True)
    it.a_full_sync_request_is_stored()  # begun, and never to be done
    it.the_owner_commits()
    it.the_partition_moves()


def a_full_sync_request_could_not_be_stored(it: Mailroom) -> None:
    it.a_notification_was_missed(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.a_full_sync_request_is_stored()
    it.a_full_sync_request_is_stored(in_vain=True)


def a_run_begins_before_a_full_sync_request_is_stored(it: Mailroom) -> None:
    it.a_notification_was_missed(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_works_a_request_off()


def a_run_ends_in_failure(it: Mailroom) -> None:
    it.a_mail_comes(A, 0)
    it.the_owner_reads(to_the_end=True)
    it.the_owner_claims()
    it.the_run_fails(A)


def explore(machine: type[Mailroom], *, max_examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("machine", [Mailroom, OneMailbox])
def test_no_change_is_left_unread_when_nothing_is_left_to_do(machine: type[Mailroom]) -> None:
    with pause_coverage():  # the fixed histories below cover the table
        explore(machine, max_examples=250)


@pytest.mark.parametrize(
    ("broken", "story"),
    [
        (NaiveTombstone, a_mail_comes_while_the_answer_is_unacknowledged),
        (NoReappend, and_then_the_owner_dies_after_compaction),
        (LateS, a_mail_comes_to_a_folder_that_was_read),
        (AnswersWithoutLooking, a_mail_comes_to_a_folder_that_was_read),
        (CommitsItsPosition, the_owner_dies_with_a_request_in_hand),
        (CommitsPastAFullSyncRequest, the_owner_dies_before_a_full_sync_request_is_stored),
        (CommitsPastAFullSyncBeingRecorded, the_owner_dies_while_it_stores_a_full_sync_request),
        (DropsAFullSyncThatWasNotRecorded, a_full_sync_request_could_not_be_stored),
        (ClaimsBeforeAFullSyncIsStored, a_run_begins_before_a_full_sync_request_is_stored),
        (ForgetsToAskAgain, a_run_ends_in_failure),
    ],
)
def test_each_rule_is_needed(broken: type[WorkTable], story: Story) -> None:
    sound = Mailroom()
    story(sound)
    sound.it_comes_to_rest()

    unsound = type(broken.__name__, (Mailroom,), {"make_table": broken})()
    story(unsound)
    with pytest.raises(AssertionError, match="nobody will read"):
        unsound.it_comes_to_rest()
