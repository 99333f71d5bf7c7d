from dataclasses import replace
from datetime import timedelta

import pytest
from connection_samples import NOW, TOKEN_TROUBLE, make_connection, make_subscription, make_trouble

from mailroom_common.events import ClientState
from mailroom_common.providers.types import Account
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    PendingReason,
    SubscriptionStatus,
    Trouble,
    TroubleReason,
)

PENDING = make_connection(
    state=ConnectionState.PENDING,
    pending_reason=PendingReason.AUTHORIZATION_PENDING,
    next_check_at=None,
    next_backstop_at=None,
)
ACCOUNT = Account(
    "user-1", "ada@contoso.example", ("a@contoso.example",), "tenant-1", verified_addresses=("ada@contoso.example",)
)


def make_client_state(sha256: str, valid_for: timedelta) -> ClientState:
    return ClientState(sha256=sha256, valid_until=NOW + valid_for)


def give_consent(connection: Connection, account: Account = ACCOUNT) -> Connection:
    return transitions.record_consent(
        connection,
        account,
        generation=3,
        now=NOW,
        start_at=NOW - timedelta(minutes=1),
        next_backstop_at=NOW + timedelta(minutes=7),
    )


def test_consent_of_a_pending_connection_makes_it_active_and_due() -> None:
    consented = give_consent(replace(PENDING, failed_attempts=4, provider_tenant="asked"))
    assert (consented.state, consented.connection_status) == (ConnectionState.ACTIVE, ConnectionStatus.ACTIVE)
    assert (consented.next_check_at, consented.failed_attempts) == (NOW, 0)
    assert consented.next_backstop_at == NOW + timedelta(minutes=7)
    assert consented.provider_tenant == "tenant-1"
    assert (
        give_consent(
            replace(PENDING, provider_tenant="asked"), Account("u", "a@b.example", verified_addresses=())
        ).provider_tenant
        == "asked"
    )


def test_later_consent_leaves_what_is_scheduled_and_where_the_sync_began() -> None:
    active = make_connection(start_at=NOW - timedelta(days=9))
    consented = give_consent(active)
    assert consented.start_at == NOW - timedelta(days=9)
    assert consented.next_backstop_at == active.next_backstop_at
    assert give_consent(replace(active, state=ConnectionState.PAUSED)).state is ConnectionState.PAUSED


def test_added_hash_outlives_the_subscription_and_hashes_that_ran_out_go() -> None:
    known = (make_client_state("old", timedelta(0)), make_client_state("valid", timedelta(days=1)))
    added = transitions.add_client_state(
        make_connection(client_states=known), "new", expires_at=NOW + timedelta(days=7), now=NOW
    )
    assert [state.sha256 for state in added.client_states] == ["valid", "new"]
    assert added.client_states[-1].valid_until == NOW + timedelta(days=8)


def test_renewal_prolongs_the_hash_of_the_current_subscription_only() -> None:
    connection = make_connection(
        subscription=make_subscription(client_state_sha256="current", renewal_requested_at=NOW),
        client_states=(
            make_client_state("expired", timedelta(0)),
            make_client_state("replaced", timedelta(days=2)),
            make_client_state("current", timedelta(seconds=-1)),
        ),
    )
    expires_at = NOW + timedelta(days=6)
    renewed = transitions.record_renewal(connection, expires_at, now=NOW, next_check_at=expires_at)
    assert [(state.sha256, state.valid_until - NOW) for state in renewed.client_states] == [
        ("replaced", timedelta(days=2)),
        ("current", timedelta(days=7)),
    ]
    assert renewed.subscription is not None
    assert renewed.subscription.renewal_requested_at is None


def test_renewal_of_one_that_was_taken_for_expired_makes_it_active_again() -> None:
    expired = make_connection(subscription=make_subscription(status=SubscriptionStatus.EXPIRED), failed_attempts=3)
    renewed = transitions.record_renewal(expired, NOW + timedelta(days=6), now=NOW, next_check_at=NOW)
    assert renewed.subscription is not None
    assert (renewed.subscription.status, renewed.failed_attempts) == (SubscriptionStatus.ACTIVE, 0)


def test_what_has_no_subscription_cannot_be_renewed() -> None:
    with pytest.raises(ValueError, match="has no subscription"):
        transitions.record_renewal(make_connection(subscription=None), NOW, now=NOW, next_check_at=NOW)


@pytest.mark.parametrize(
    ("trouble", "shown"),
    [
        (None, (ConnectionStatus.SUBSCRIPTION_EXPIRED, "renewal_failed")),
        (TOKEN_TROUBLE, (ConnectionStatus.TOKEN_REFRESH_FAILED, "token_refused")),
    ],
)
def test_overdue_subscription_is_expired_unless_a_refused_grant_is_why(
    trouble: Trouble | None, shown: tuple[ConnectionStatus, str]
) -> None:
    overdue = make_connection(subscription=make_subscription(expires_at=NOW), sync_trouble=trouble)
    after = transitions.schedule_retry(overdue, "504", now=NOW)
    assert (after.connection_status, after.connection_reason) == shown
    assert after.subscription is not None
    assert after.subscription.status is SubscriptionStatus.EXPIRED


def test_removed_subscription_does_not_become_an_expired_one() -> None:
    removed = make_connection(subscription=make_subscription(expires_at=NOW, status=SubscriptionStatus.REMOVED))
    assert transitions.mark_overdue_as_expired(removed, NOW) == removed


def test_deletion_stops_the_backstop_and_is_due_at_once_whatever_failed_before() -> None:
    deleting = transitions.begin_deletion(make_connection(failed_attempts=7), NOW + timedelta(minutes=1))
    assert (deleting.state, deleting.next_check_at) == (ConnectionState.DELETING, NOW + timedelta(minutes=1))
    assert (deleting.failed_attempts, deleting.next_backstop_at) == (0, None)


def test_deletion_without_consent_is_finished_at_once_and_with_a_left_grant_is_not() -> None:
    assert transitions.begin_deletion(PENDING, NOW).state is ConnectionState.DELETED
    asked = replace(PENDING, address="asked@contoso.example")
    with_grant = transitions.begin_deletion(asked, NOW, has_grant=True)
    assert (with_grant.state, with_grant.address, with_grant.sync_rows_deleted_at) == (
        ConnectionState.DELETING,
        None,
        NOW,
    )


def test_deletion_is_finished_when_both_sides_are() -> None:
    deleting = make_connection(state=ConnectionState.DELETING, failed_attempts=2)
    ended = transitions.record_provider_end(deleting, NOW)
    assert (ended.provider_ended_at, ended.next_check_at, ended.failed_attempts) == (NOW, None, 0)
    forgotten = transitions.record_forgotten(deleting, 2, NOW)
    for one in (deleting, ended, forgotten):
        assert transitions.erase_to_tombstone_if_finished(one, NOW).state is ConnectionState.DELETING
    both = transitions.erase_to_tombstone_if_finished(transitions.record_forgotten(ended, 2, NOW), NOW)
    assert both.state is ConnectionState.DELETED
    alive = replace(both, state=ConnectionState.ACTIVE)
    assert transitions.erase_to_tombstone_if_finished(alive, NOW) == alive


def test_repeated_forgotten_keeps_the_first_time() -> None:
    first = transitions.record_forgotten(make_connection(), 2, NOW)
    assert transitions.record_forgotten(first, 2, NOW + timedelta(hours=1)) == first


def test_soft_deleted_row_holds_nothing_of_a_mailbox() -> None:
    full = make_connection(
        aliases=("a@contoso.example",),
        client_states=(make_client_state("x", timedelta(days=1)),),
        subscription=make_subscription(),
        pending_error="canary",
        sync_trouble=make_trouble(ConnectionStatus.PROVIDER_ERROR, TroubleReason.ACCESS_DENIED, "canary"),
        subscription_trouble=make_trouble(ConnectionStatus.ACTIVE, TroubleReason.SUBSCRIPTION_PENDING, "canary"),
        published_version=4,
    )
    deleted = transitions.erase_to_tombstone(full, NOW)
    for secret in ("contoso", "user-1", "canary", "sub-old", "access_denied"):
        assert secret not in repr(deleted)
    assert deleted.client_states == ()
    assert (deleted.next_check_at, deleted.next_backstop_at, deleted.published_version) == (None, None, 4)
    assert deleted.provider_ended_at == NOW
    ended_before = replace(full, provider_ended_at=NOW - timedelta(hours=1))
    assert transitions.erase_to_tombstone(ended_before, NOW).provider_ended_at == NOW - timedelta(hours=1)


def test_refused_grant_stays_refused_until_a_consent() -> None:
    refused = make_connection(sync_trouble=TOKEN_TROUBLE, subscription=make_subscription())
    renewed = transitions.record_renewal(refused, NOW, now=NOW, next_check_at=NOW)
    assert renewed.connection_status is ConnectionStatus.TOKEN_REFRESH_FAILED
    assert give_consent(refused).connection_status is ConnectionStatus.ACTIVE


@pytest.mark.parametrize(
    ("reason", "shown"), [(TroubleReason.MAILBOX_GONE, None), (TroubleReason.PROVIDER_FAILING, "provider_failing")]
)
def test_mailbox_that_was_taken_for_gone_is_there_once_its_subscription_is_renewed(
    reason: TroubleReason, shown: str | None
) -> None:
    troubled = make_connection(
        sync_trouble=make_trouble(ConnectionStatus.PROVIDER_ERROR, reason), subscription=make_subscription()
    )
    renewed = transitions.record_renewal(troubled, NOW, now=NOW, next_check_at=NOW)
    assert renewed.connection_reason == shown


def test_pauses_double_up_to_an_hour_and_the_providers_word_counts_before() -> None:
    def retry_pause(attempts: int, retry_after: timedelta | None = None) -> timedelta:
        failed = transitions.schedule_retry(
            make_connection(failed_attempts=attempts), "why", now=NOW, retry_after=retry_after
        )
        assert failed.next_check_at is not None
        return failed.next_check_at - NOW

    assert [retry_pause(attempts) for attempts in (0, 1, 2)] == [timedelta(seconds=s) for s in (5, 10, 20)]
    assert retry_pause(10_000) == timedelta(hours=1)
    assert retry_pause(0, timedelta(seconds=77)) == timedelta(seconds=77)


def test_deletion_that_has_to_wait_for_the_provider_is_no_missing_subscription() -> None:
    deleting = make_connection(state=ConnectionState.DELETING, failed_attempts=7)
    after = transitions.schedule_retry(deleting, "503", now=NOW)
    assert (after.connection_status, after.current_error) == (ConnectionStatus.ACTIVE, "503")


def test_refused_consent_is_kept_with_its_reason_while_pending() -> None:
    refused = transitions.record_refused_consent(PENDING, PendingReason.FOLDERS_MISSING, "no folder named x")
    assert (refused.state, refused.connection_reason, refused.current_error) == (
        ConnectionState.PENDING,
        "folders_missing",
        "no folder named x",
    )


def test_refused_reconnect_leaves_the_reason_of_a_connected_one() -> None:
    connected = make_connection(sync_trouble=TOKEN_TROUBLE)
    assert transitions.record_refused_consent(connected, PendingReason.CONSENT_DECLINED, "x") == connected


def test_correction_changes_what_it_names_and_waits_for_a_consent_again() -> None:
    refused = transitions.record_refused_consent(PENDING, PendingReason.FOLDERS_MISSING, "no folder named x")
    corrected = transitions.correct_pending(refused, folders=("y",))
    assert (corrected.folders, corrected.address) == (("y",), PENDING.address)
    assert (corrected.connection_reason, corrected.current_error) == ("authorization_pending", None)


def test_consent_that_was_lost_stays_lost_until_there_is_a_new_one() -> None:
    lost = replace(PENDING, pending_reason=PendingReason.CONSENT_LOST)
    refused = transitions.record_refused_consent(lost, PendingReason.CONSENT_DECLINED, None)
    assert (refused.connection_reason, refused.current_error) == ("consent_lost", "consent_declined")
    corrected = transitions.correct_pending(refused, folders=("Inbox",))
    assert (corrected.connection_reason, corrected.current_error) == ("consent_lost", None)
