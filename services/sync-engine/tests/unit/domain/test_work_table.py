"""Rules of the work table one by one; `test_work_table_protocol.py` shows what is lost without them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.events import SyncReason, SyncRequest
from sync_engine.domain.work_table import Claim, WorkTable

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def request(key: str, *reasons: SyncReason) -> SyncRequest:
    return SyncRequest(
        event_id=key,
        occurred_at=NOON,
        tenant_id="acme",
        doc_source_id=key,
        reasons=list(reasons or (SyncReason.NOTIFICATION,)),
        first_requested_at=NOON,
    )


def read(table: WorkTable, offset: int, key: str = "a", *reasons: SyncReason) -> None:
    table.read_request(offset, key, request(key, *reasons))


def claimed(table: WorkTable) -> Claim:
    claim = table.claim_next()
    assert claim is not None
    return claim


def test_a_request_for_all_holds_the_offset_until_it_is_durable() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.LIFECYCLE)
    read(table, 4)  # takes its place as the pending request
    table.advance_position(9)
    assert table.committable_offset() == 3, "nobody has begun to record it"
    keys = table.take_full_sync_keys()
    assert table.committable_offset() == 3, "it is being confirm_full_sync_keys"
    table.confirm_full_sync_keys(keys)
    assert table.committable_offset() == 4, "only the newest request is still needed"


def test_a_request_for_all_that_is_being_recorded_is_not_taken_a_second_time() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL)
    keys = table.take_full_sync_keys()
    assert table.take_full_sync_keys() == []
    table.advance_position(9)
    assert table.committable_offset() == 3
    table.release_full_sync_keys(keys)
    assert table.take_full_sync_keys() == ["a"]


def test_a_request_for_all_that_could_not_be_recorded_is_asked_for_again_from_its_own_offset() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL)
    keys = table.take_full_sync_keys()
    read(table, 5, "a", SyncReason.CONNECT)
    table.release_full_sync_keys(keys)
    assert table.committable_offset() == 3
    assert table.claim_next() is None
    assert table.take_full_sync_keys() == ["a"]


def test_a_request_for_all_that_comes_while_another_is_recorded_is_recorded_too() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL)
    first = table.take_full_sync_keys()
    read(table, 5, "a", SyncReason.CONNECT)
    assert table.take_full_sync_keys() == [], "one at a time"
    table.confirm_full_sync_keys(first)
    assert table.take_full_sync_keys() == ["a"]
    table.confirm_full_sync_keys(["a"])
    assert claimed(table).offset == 5


def test_the_oldest_of_two_requests_for_all_is_what_holds_the_offset() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL)
    read(table, 5, "a", SyncReason.MANUAL)
    assert table.committable_offset() == 3


def test_s_is_the_offset_at_the_claim_whatever_is_read_later() -> None:
    table = WorkTable()
    read(table, 3)
    claim = claimed(table)
    read(table, 7)
    assert claim.offset == 3
    assert table.end_claim_and_build_tombstone(claim) is None, "a newer request goes round again"
    assert claimed(table).offset == 7


def test_an_answered_key_is_claimed_again_only_after_its_own_answer_was_read() -> None:
    table = WorkTable()
    read(table, 3)
    append = table.end_claim_and_build_tombstone(claimed(table))
    assert append is not None
    assert append.resolves == 3
    read(table, 4)
    assert table.claim_next() is None, "the answer is on its way"
    table.acknowledge_append("a", 5)
    assert table.claim_next() is None, "it is in the log and not read"
    table.read_tombstone(5, "a", 3)
    (again,) = table.take_requests_to_reappend()
    assert again.resolves is None
    assert table.claim_next() is None, "the request is on its way again"
    table.acknowledge_append("a", 6)
    read(table, 6)
    assert claimed(table).offset == 6


def test_an_append_that_is_read_before_its_acknowledgement_counts_once_both_are_there() -> None:
    table = WorkTable()
    read(table, 3)
    table.end_claim_and_build_tombstone(claimed(table))
    table.read_tombstone(4, "a", 3)
    read(table, 5)
    assert table.claim_next() is None
    table.acknowledge_append("a", 4)
    assert claimed(table).offset == 5


def test_a_gap_where_an_append_stood_counts_as_read() -> None:
    table = WorkTable()
    read(table, 3)
    table.back_off(claimed(table), not_before=NOON)
    table.acknowledge_append("a", 4)
    read(table, 6)
    table.wake_due_keys(NOON)
    assert claimed(table).offset == 6


@pytest.mark.parametrize(("resolves", "pending"), [(2, 1), (3, 0), (4, 0), (None, 1)])
def test_a_tombstone_clears_only_requests_at_or_below_what_it_resolves(resolves: int | None, pending: int) -> None:
    table = WorkTable()
    read(table, 3)
    table.read_tombstone(5, "a", resolves)
    assert table.pending_count == pending
    assert len(table.take_requests_to_reappend()) == pending


@pytest.mark.parametrize(("resolves", "wished"), [(2, ["a"]), (3, []), (None, ["a"])])
def test_a_tombstone_ends_only_the_request_that_its_writer_had_made_durable(
    resolves: int | None, wished: list[str]
) -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.RESUME)
    table.read_tombstone(5, "a", resolves)
    assert table.take_full_sync_keys() == wished


def test_a_request_behind_a_tombstone_is_not_shadowed_by_it() -> None:
    table = WorkTable()
    read(table, 3)
    table.read_tombstone(4, "a", None)
    read(table, 5)
    assert table.take_requests_to_reappend() == []
    assert claimed(table).offset == 5


def test_a_shadowed_request_is_not_claimed_before_it_was_appended_again() -> None:
    table = WorkTable()
    read(table, 3)
    table.read_tombstone(4, "a", 1)
    assert table.claim_next() is None
    (append,) = table.take_requests_to_reappend()
    assert append.reasons == {SyncReason.NOTIFICATION, SyncReason.RETRY}
    assert table.take_requests_to_reappend() == [], "once"
    assert table.committable_offset() == 3, "it is still needed where it stands"


def test_a_failed_run_rests_and_is_asked_for_again_without_the_reasons_that_are_durable() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL, SyncReason.NOTIFICATION)
    table.confirm_full_sync_keys(table.take_full_sync_keys())
    until = NOON + timedelta(seconds=5)
    append = table.back_off(claimed(table), not_before=until)
    assert append.reasons == {SyncReason.NOTIFICATION, SyncReason.RETRY}
    table.acknowledge_append("a", 4)
    read(table, 4, "a", SyncReason.RETRY)
    assert table.next_due_at() == until
    table.wake_due_keys(until - timedelta(microseconds=1))
    assert table.claim_next() is None
    table.wake_due_keys(until)
    assert claimed(table).offset == 4


def test_a_new_request_ends_the_rest_and_a_repeated_one_does_not() -> None:
    for reason, is_claimed in ((SyncReason.RETRY, False), (SyncReason.NOTIFICATION, True)):
        table = WorkTable()
        read(table, 3)
        table.release_claim(claimed(table), not_before=NOON + timedelta(hours=1))
        read(table, 4, "a", reason)
        assert (table.claim_next() is not None) is is_claimed


def test_a_claim_that_was_put_back_keeps_its_reasons_and_its_offset() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.BACKSTOP)
    table.release_claim(claimed(table), not_before=NOON)
    assert table.committable_offset() == 3
    table.wake_due_keys(NOON)
    again = claimed(table)
    assert (again.offset, again.reasons) == (3, frozenset({SyncReason.BACKSTOP}))


def test_a_claim_that_another_owner_answered_meanwhile_is_put_back_without_its_reasons() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.BACKSTOP)
    claim = claimed(table)
    table.read_tombstone(4, "a", 3)
    table.release_claim(claim, not_before=NOON)
    assert table._rows == {}
    table.wake_due_keys(NOON)
    read(table, 5)
    assert claimed(table).reasons == {SyncReason.NOTIFICATION}


def test_an_answer_of_another_owner_leaves_nothing_to_answer() -> None:
    table = WorkTable()
    read(table, 3)
    claim = claimed(table)
    table.read_tombstone(4, "a", 3)
    assert table.end_claim_and_build_tombstone(claim) is None
    assert table.committable_offset() == 5


def test_the_reasons_of_a_request_that_another_owner_answered_are_not_those_of_the_next() -> None:
    table = WorkTable()
    read(table, 3)
    claim = claimed(table)
    read(table, 5, "a", SyncReason.BACKSTOP)
    table.read_tombstone(6, "a", 5)
    read(table, 7)
    assert table.end_claim_and_build_tombstone(claim) is None
    assert claimed(table).reasons == {SyncReason.NOTIFICATION}


def test_a_later_rest_is_not_ended_by_an_earlier_one() -> None:
    table = WorkTable()
    read(table, 3)
    table.release_claim(claimed(table), not_before=NOON)
    table.wake_due_keys(NOON)
    table.release_claim(claimed(table), not_before=NOON + timedelta(minutes=1))
    table.wake_due_keys(NOON + timedelta(seconds=59))
    assert table.claim_next() is None


def test_keys_are_claimed_in_order_and_busy_ones_are_passed_over() -> None:
    table = WorkTable()
    for offset, key in enumerate("abc"):
        read(table, offset, key)
    assert [claim.key for _ in range(3) if (claim := table.claim_next(busy={"a"}))] == ["b", "c"]
    assert claimed(table).key == "a"


@pytest.mark.parametrize(
    "end_claim", [lambda t, c: t.end_claim_and_build_tombstone(c), lambda t, c: t.back_off(c, not_before=NOON)]
)
def test_a_key_that_says_nothing_any_more_is_forgotten(end_claim: Callable[[WorkTable, Claim], object]) -> None:
    table = WorkTable()
    read(table, 3)
    end_claim(table, claimed(table))
    table.acknowledge_append("a", 4)
    table.read_tombstone(4, "a", 3)
    assert table._rows == {}
    assert table.committable_offset() == 5


def test_the_position_never_goes_back() -> None:
    table = WorkTable()
    table.advance_position(9)
    table.advance_position(4)
    assert table.committable_offset() == 9


def test_an_append_that_compaction_took_counts_as_read_once_the_position_is_behind_it() -> None:
    table = WorkTable()
    read(table, 3)
    table.back_off(claimed(table), not_before=NOON)
    table.acknowledge_append("a", 4)
    table.wake_due_keys(NOON)
    table.advance_position(4)
    assert table.claim_next() is None, "offset 4 itself is still to be read"
    table.advance_position(5)
    assert claimed(table).offset == 3


def test_a_reappended_request_is_appended_once() -> None:
    table = WorkTable()
    read(table, 3)
    table.read_tombstone(4, "a", 1)
    assert len(table.take_requests_to_reappend()) == 1
    table.acknowledge_append("a", 5)
    assert table.take_requests_to_reappend() == []


def test_the_end_of_an_earlier_rest_does_not_end_a_later_one() -> None:
    table = WorkTable()
    read(table, 3)
    table.release_claim(claimed(table), not_before=NOON + timedelta(seconds=1))
    read(table, 4)  # a new request ends the rest, and its entry in the queue stays
    table.release_claim(claimed(table), not_before=NOON + timedelta(minutes=1))
    table.wake_due_keys(NOON + timedelta(seconds=1))
    assert table.claim_next() is None
    table.wake_due_keys(NOON + timedelta(minutes=1))
    assert claimed(table).offset == 4


def test_nothing_is_answered_while_an_append_of_ours_is_unread() -> None:
    table = WorkTable()
    read(table, 3)
    claim = claimed(table)
    table.read_tombstone(4, "a", 1)  # of a former owner: it shadows the request that is being worked on
    table.take_requests_to_reappend()
    assert table.end_claim_and_build_tombstone(claim) is None


def test_acknowledgements_may_come_in_any_order() -> None:
    table = WorkTable()
    read(table, 3)
    claim = claimed(table)
    table.read_tombstone(4, "a", 1)
    table.take_requests_to_reappend()
    table.back_off(claim, not_before=NOON)
    table.acknowledge_append("a", 6)
    table.acknowledge_append("a", 5)
    table.wake_due_keys(NOON)
    table.advance_position(6)
    assert table.claim_next() is None, "offset 6 is unread"
    table.advance_position(7)
    assert claimed(table).offset == 3


def test_a_request_for_all_that_is_being_stored_outlives_a_tombstone() -> None:
    table = WorkTable()
    read(table, 3, "a", SyncReason.MANUAL)
    keys = table.take_full_sync_keys()
    table.read_tombstone(4, "a", 3)
    assert table.committable_offset() == 3
    table.confirm_full_sync_keys(keys)
    assert table.committable_offset() == 5


def test_a_tenants_keys_are_claimed_without_a_look_at_those_of_others() -> None:
    table = WorkTable()
    for offset, (key, tenant_id) in enumerate([("a1", "a"), ("a2", "a"), ("b1", "b")]):
        table.read_request(offset, key, replace(request(key), tenant_id=tenant_id))
    assert set(table.list_claimable_tenants()) == {"a", "b"}
    assert [claim.key for _ in range(3) if (claim := table.claim_next("b"))] == ["b1"]
    assert set(table.list_claimable_tenants()) == {"a"}
    assert [claim.key for _ in range(3) if (claim := table.claim_next("a"))] == ["a1", "a2"]
