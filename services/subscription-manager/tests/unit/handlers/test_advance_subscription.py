"""Which step is taken, and what a failure leaves in the row."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from connection_samples import (
    ID,
    NOW,
    OTHER_ID,
    OUTLOOK,
    TOKEN_TROUBLE,
    make_connection,
    make_provider_subscription,
    make_subscription,
    make_trouble,
)
from subscription_setup import SubscriptionSetup, make_setup_due_for_renewal

from mailroom_common.errors import AccessDenied, MailboxGone, ProviderUnavailable, Rejected, Throttled, TokenRefused
from mailroom_common.events import ConnectionEvent, ConnectionKind
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.handlers.record_connection_event import RecordConnectionEvent


async def test_subscription_that_lives_long_is_left_alone() -> None:
    setup = SubscriptionSetup(make_connection(subscription=make_subscription()))
    after = await setup.advance_subscription()
    assert setup.provider.calls == []
    assert after.next_check_at is not None
    assert after.next_check_at > NOW


async def test_renewal_that_the_provider_asked_for_is_made_now() -> None:
    setup = SubscriptionSetup(make_connection(subscription=make_subscription(renewal_requested_at=NOW)))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(make_subscription())
    after = await setup.advance_subscription()
    assert setup.provider.calls == ["renew sub-old"]
    assert after.subscription is not None
    assert after.subscription.renewal_requested_at is None


async def test_no_subscription_is_touched_twice_within_ten_minutes() -> None:
    touched = make_subscription(
        created_or_renewed_at=NOW - timedelta(minutes=3), renewal_requested_at=NOW - timedelta(minutes=1)
    )
    setup = SubscriptionSetup(make_connection(subscription=touched))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(touched)
    after = await setup.advance_subscription()
    assert setup.provider.calls == []
    assert after.next_check_at == NOW + timedelta(minutes=7)
    setup.clock.advance(timedelta(minutes=7))
    await setup.advance_subscription()
    assert setup.provider.calls == ["renew sub-old"]


@pytest.mark.parametrize("error", [ProviderUnavailable("503"), Throttled("no", retry_after_s=900), AccessDenied("no")])
async def test_delete_during_a_step_that_fails_does_not_wait_for_what_failed(error: Exception) -> None:
    setup = make_setup_due_for_renewal()
    setup.provider.during["renew"] = setup.delete_row
    setup.provider.errors["renew"] = error
    after = await setup.advance_subscription()
    assert (after.state, after.next_check_at) == (ConnectionState.DELETING, NOW)
    assert (await setup.advance_subscription()).provider_ended_at == NOW


@pytest.mark.parametrize("change", [transitions.begin_deletion, transitions.mark_subscription_removed])
async def test_change_between_the_choice_of_a_step_and_its_end_is_checked_at_once(
    change: Callable[[Connection, datetime], Connection],
) -> None:
    setup = SubscriptionSetup(make_connection(subscription=make_subscription()))
    setup.connections.before_lock = lambda: setup.change_row(lambda row: change(row, NOW))
    assert (await setup.advance_subscription()).next_check_at == NOW
    assert setup.provider.calls == []
    await setup.advance_subscription()
    assert setup.provider.calls


async def test_consent_between_the_choice_of_a_step_and_its_end_is_checked_at_once() -> None:
    setup = SubscriptionSetup(
        make_connection(state=ConnectionState.PENDING, address=None, provider_user_id=None, next_check_at=None)
    )
    setup.connections.before_lock = setup.record_new_consent
    assert (await setup.advance_subscription()).next_check_at == NOW


async def test_denial_of_an_older_grant_does_not_hold_up_the_consent_that_came_meanwhile() -> None:
    setup = make_setup_due_for_renewal()
    setup.provider.during["renew"] = setup.record_new_consent
    setup.provider.errors["renew"] = AccessDenied("of the older grant")
    after = await setup.advance_subscription()
    assert (after.connection_status, after.grant_generation) == (ConnectionStatus.ACTIVE, 2)
    assert after.next_check_at == NOW + timedelta(seconds=5)


async def test_failures_are_retried_later_and_later_from_what_the_row_remembers() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = ProviderUnavailable("503")
    waits = []
    for _ in range(12):
        after = await setup.advance_subscription()
        assert after.next_check_at is not None
        waits.append(after.next_check_at - setup.clock())
        setup.clock.advance(waits[-1])
    assert waits[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert waits[-1] == timedelta(hours=1)
    assert setup.connections.only_row().connection_status is ConnectionStatus.SUBSCRIPTION_EXPIRED
    setup.provider.errors.clear()
    after = await setup.advance_subscription()
    assert (after.failed_attempts, after.current_error, after.connection_status) == (0, None, ConnectionStatus.ACTIVE)


async def test_pause_that_the_provider_asks_for_is_made() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = Throttled("slow down", retry_after_s=77)
    assert (await setup.advance_subscription()).next_check_at == NOW + timedelta(seconds=77)


async def test_throttle_never_doubles_the_pause_of_a_later_attempt() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = Throttled("slow down")
    for _ in range(5):
        after = await setup.advance_subscription()
        assert after.next_check_at == setup.clock() + timedelta(seconds=15)
        setup.clock.advance(timedelta(seconds=15))
    setup.provider.errors["create"] = ProviderUnavailable("503")
    assert (await setup.advance_subscription()).next_check_at == setup.clock() + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TokenRefused("no", grant_generation=1), ConnectionStatus.TOKEN_REFRESH_FAILED, "token_refused"),
        (AccessDenied("no"), ConnectionStatus.SUBSCRIPTION_EXPIRED, "subscription_refused"),
        (MailboxGone("no"), ConnectionStatus.PROVIDER_ERROR, "mailbox_gone"),
    ],
)
async def test_action_that_is_required_is_the_status(error: Exception, status: ConnectionStatus, reason: str) -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["list"] = error
    after = await setup.advance_subscription()
    assert (after.connection_status, after.connection_reason) == (status, reason)
    assert after.next_check_at is not None
    assert after.next_check_at >= NOW + timedelta(hours=1)


async def test_refusal_of_an_older_grant_does_not_condemn_the_newer() -> None:
    setup = SubscriptionSetup(make_connection(grant_generation=2))
    setup.provider.errors["list"] = TokenRefused("late", grant_generation=1)
    after = await setup.advance_subscription()
    assert after.connection_status is ConnectionStatus.ACTIVE
    assert after.next_check_at == NOW + timedelta(seconds=5)


SYNCED = ConnectionEvent(
    event_id="e", occurred_at=NOW, tenant_id="acme", doc_source_id=ID, kind=ConnectionKind.SYNCED, grant_generation=1
)


async def test_source_that_is_synced_and_not_watched_says_so_until_it_has_a_subscription() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = AccessDenied("give us the right on the topic")
    await setup.advance_subscription()
    await RecordConnectionEvent(setup.connections, setup.clock).record_event(SYNCED)
    after = setup.connections.only_row()
    assert (after.connection_status, after.connection_reason, after.current_error) == (
        ConnectionStatus.SUBSCRIPTION_EXPIRED,
        "subscription_refused",
        "AccessDenied: give us the right on the topic",
    )
    assert after.last_successful_sync_at == NOW
    setup.provider.errors.clear()
    setup.clock.advance(timedelta(hours=1))
    assert (await setup.advance_subscription()).connection_status is ConnectionStatus.ACTIVE


async def test_source_whose_grant_was_refused_for_a_while_says_that_it_has_no_subscription_yet() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = TokenRefused("no", grant_generation=1)
    assert (await setup.advance_subscription()).connection_status is ConnectionStatus.TOKEN_REFRESH_FAILED
    await RecordConnectionEvent(setup.connections, setup.clock).record_event(SYNCED)
    assert setup.connections.only_row().connection_reason == "subscription_pending"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ProviderUnavailable("503"), "subscription_pending"), (Rejected("no handshake"), "subscription_refused")],
)
async def test_source_that_gets_no_subscription_says_so_from_the_third_attempt_on(
    error: Exception, reason: str
) -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = error
    shown = [
        (after.connection_status, after.connection_reason)
        for after in [await setup.advance_subscription() for _ in range(3)]
    ]
    assert shown == [
        (ConnectionStatus.ACTIVE, None),
        (ConnectionStatus.ACTIVE, None),
        (ConnectionStatus.SUBSCRIPTION_EXPIRED, reason),
    ]


async def test_source_that_is_throttled_out_of_a_subscription_says_so_after_five_minutes() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = Throttled("slow down")
    assert (await setup.advance_subscription()).connection_status is ConnectionStatus.ACTIVE
    setup.clock.advance(timedelta(minutes=5))
    assert (await setup.advance_subscription()).connection_status is ConnectionStatus.SUBSCRIPTION_EXPIRED


async def test_renewal_that_is_refused_says_so_while_the_subscription_still_lives() -> None:
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(subscription=soon))
    setup.provider.errors["renew"] = AccessDenied("no")
    after = await setup.advance_subscription()
    assert (after.connection_status, after.connection_reason) == (
        ConnectionStatus.PROVIDER_ERROR,
        "subscription_refused",
    )


async def test_subscription_that_ran_out_shows_as_expired() -> None:
    over = make_subscription(created_or_renewed_at=NOW - timedelta(days=7), expires_at=NOW - timedelta(minutes=1))
    setup = SubscriptionSetup(make_connection(subscription=over))
    setup.provider.errors["create"] = ProviderUnavailable("503")
    after = await setup.advance_subscription()
    assert after.connection_status is ConnectionStatus.SUBSCRIPTION_EXPIRED
    setup.provider.errors.clear()
    assert (await setup.advance_subscription()).connection_status is ConnectionStatus.ACTIVE


async def test_refused_grant_stays_shown_though_an_access_token_still_served() -> None:
    refused = make_connection(sync_trouble=TOKEN_TROUBLE)
    after = await SubscriptionSetup(refused).advance_subscription()
    assert after.subscription is not None
    assert (after.connection_status, after.connection_reason) == (
        ConnectionStatus.TOKEN_REFRESH_FAILED,
        "token_refused",
    )


async def test_trouble_with_a_subscription_ends_where_nothing_is_left_to_be_done() -> None:
    brief = make_trouble(ConnectionStatus.ACTIVE, TroubleReason.SUBSCRIPTION_PENDING, "504")
    setup = SubscriptionSetup(make_connection(subscription=make_subscription(), subscription_trouble=brief))
    after = await setup.advance_subscription()
    assert (setup.provider.calls, after.current_error) == ([], None)


async def test_paused_one_keeps_its_subscription_alive() -> None:
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(state=ConnectionState.PAUSED, subscription=soon))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(soon)
    await setup.advance_subscription()
    assert setup.provider.calls == ["renew sub-old"]


async def test_pending_and_unknown_ones_need_nothing() -> None:
    setup = SubscriptionSetup(make_connection(state=ConnectionState.PENDING, address=None, provider_user_id=None))
    await setup.advance_subscription()
    await setup.advance.advance_subscription(OTHER_ID)
    assert setup.provider.calls == []


async def test_polled_connection_stays_healthy_without_a_subscription_and_is_not_checked_again() -> None:
    setup = SubscriptionSetup(make_connection(), traits=replace(OUTLOOK, push=None))
    after = await setup.advance_subscription()
    assert setup.provider.calls == []
    assert (after.connection_status, after.subscription, after.next_check_at) == (ConnectionStatus.ACTIVE, None, None)
    assert after.next_backstop_at is not None  # by which its mail is found


async def test_provider_that_is_not_set_up_here_is_tried_again_later() -> None:
    setup = SubscriptionSetup(make_connection(provider="gmail"))
    after = await setup.advance_subscription()
    assert after.failed_attempts == 1
    assert after.current_error is not None
    assert "gmail is not set up" in after.current_error
