"""The work-table protocol, as it is built, against a log with gaps and compaction, and owners that are killed.

Each rule of the protocol is broken below. The state machine of `work_table_model` found every one of these losses by
itself, in up to some thousand random histories; here each is a fixed history, so that every broken variant fails in
every run of the tests.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from work_table_model import KEYS, Mailroom, OneMailbox

from mailroom_sandbox.testkit.coverage_pause import pause_coverage
from sync_engine.domain.work_table import Claim, RecordToAppend, WorkTable, _Row


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
        explore(machine, max_examples=100)


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
