from dataclasses import replace
from datetime import timedelta

import pytest
from connection_samples import GMAIL, NOW, OUTLOOK, URLS, make_connection, make_subscription

from subscription_manager.domain.connection import Connection, ConnectionState, CurrentSubscription, SubscriptionStatus
from subscription_manager.domain.subscription_schedule import (
    SubscriptionStep,
    build_webhook_urls,
    choose_step,
    compute_next_check,
    compute_renewal_time,
)

assert OUTLOOK.push is not None
assert GMAIL.push is not None
OWN, SHARED = OUTLOOK.push, GMAIL.push
NEARLY_EXPIRED = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))


def choose_own_step(connection: Connection) -> SubscriptionStep:
    return choose_step(connection, OWN, URLS, NOW)


def choose_for(subscription: CurrentSubscription | None) -> SubscriptionStep:
    return choose_own_step(make_connection(subscription=subscription))


def test_urls_are_the_gateways_routes_of_the_provider() -> None:
    urls = build_webhook_urls("https://m.example", "third")
    assert (urls.notification, urls.lifecycle) == (
        "https://m.example/webhooks/third",
        "https://m.example/webhooks/third/lifecycle",
    )


@pytest.mark.parametrize(
    ("subscription", "step"),
    [
        (None, SubscriptionStep.CREATE),
        (make_subscription(), SubscriptionStep.NOTHING),
        (NEARLY_EXPIRED, SubscriptionStep.RENEW),
        (make_subscription(status=SubscriptionStatus.REMOVED), SubscriptionStep.CREATE),
        (make_subscription(status=SubscriptionStatus.EXPIRED), SubscriptionStep.CREATE),
        (make_subscription(expires_at=NOW), SubscriptionStep.CREATE),
        (make_subscription(notification_url="https://old.example/n"), SubscriptionStep.CREATE),
        (make_subscription(lifecycle_url="https://old.example/l"), SubscriptionStep.CREATE),
        (make_subscription(renewal_requested_at=NOW), SubscriptionStep.RENEW),
        (make_subscription(renewal_requested_at=NOW - timedelta(hours=13)), SubscriptionStep.NOTHING),  # made since
        (make_subscription(renewal_requested_at=NOW - timedelta(hours=12)), SubscriptionStep.NOTHING),  # by this one
    ],
)
def test_step_follows_from_the_subscription(subscription: CurrentSubscription | None, step: SubscriptionStep) -> None:
    assert choose_for(subscription) is step


def test_two_renewals_keep_the_providers_gap_unless_it_would_expire_meanwhile() -> None:
    just_renewed = make_subscription(created_or_renewed_at=NOW - timedelta(minutes=3), renewal_requested_at=NOW)
    assert choose_for(just_renewed) is SubscriptionStep.NOTHING
    for minutes in (9, 10):
        short = replace(just_renewed, expires_at=NOW + timedelta(minutes=minutes))
        assert choose_for(short) is SubscriptionStep.RENEW


def test_check_that_was_scheduled_with_the_whole_jitter_comes_in_time() -> None:
    subscription = make_subscription(created_or_renewed_at=NOW - timedelta(days=5))
    due_at = compute_renewal_time(OWN, subscription.created_or_renewed_at, subscription.expires_at, jitter=1.0)
    connection = make_connection(subscription=subscription)
    assert choose_step(connection, OWN, URLS, due_at) is SubscriptionStep.RENEW
    assert choose_step(connection, OWN, URLS, due_at - timedelta(seconds=1)) is SubscriptionStep.NOTHING


@pytest.mark.parametrize("state", [ConnectionState.PENDING, ConnectionState.DELETED])
def test_connection_that_is_not_served_needs_nothing(state: ConnectionState) -> None:
    assert choose_own_step(make_connection(state=state)) is SubscriptionStep.NOTHING


def test_deleted_connection_is_ended_once() -> None:
    deleting = make_connection(state=ConnectionState.DELETING)
    assert choose_own_step(deleting) is SubscriptionStep.END
    assert choose_own_step(replace(deleting, provider_ended_at=NOW)) is SubscriptionStep.NOTHING


def test_polled_provider_needs_no_subscription_and_is_ended_all_the_same() -> None:
    assert choose_step(make_connection(), None, URLS, NOW) is SubscriptionStep.NOTHING
    assert compute_next_check(make_connection(subscription=make_subscription()), None, 0.5) is None
    deleting = make_connection(state=ConnectionState.DELETING)
    assert choose_step(deleting, None, URLS, NOW) is SubscriptionStep.END


def test_provider_that_does_not_tell_its_urls_is_not_recreated_for_them() -> None:
    moved = make_connection(subscription=make_subscription(notification_url=None, lifecycle_url=None))
    assert choose_step(moved, SHARED, URLS, NOW) is SubscriptionStep.NOTHING


def test_next_check_is_the_renewal_and_a_requested_one_comes_after_the_gap() -> None:
    subscription = make_subscription()
    renewal_at = compute_renewal_time(OWN, subscription.created_or_renewed_at, subscription.expires_at, 0.3)
    assert compute_next_check(make_connection(subscription=subscription), OWN, 0.3) == renewal_at
    requested = replace(subscription, renewal_requested_at=NOW)
    assert compute_next_check(make_connection(subscription=requested), OWN, 0.3) == NOW - timedelta(
        hours=12
    ) + timedelta(minutes=10)
    assert compute_next_check(make_connection(), OWN, 0.3) is None


@pytest.mark.parametrize("life_minutes", [11, 17, 20, 25])
@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_short_life_is_checked_when_a_step_is_due_and_not_in_a_loop_before(life_minutes: int, jitter: float) -> None:
    expires_at = NOW + timedelta(minutes=life_minutes)
    connection = make_connection(subscription=make_subscription(created_or_renewed_at=NOW, expires_at=expires_at))
    next_check_at = compute_next_check(connection, OWN, jitter)
    assert next_check_at is not None
    assert NOW + timedelta(minutes=10) <= next_check_at < expires_at
    assert choose_step(connection, OWN, URLS, next_check_at) is SubscriptionStep.RENEW


@pytest.mark.parametrize("life_minutes", [8, 10])
def test_life_within_the_gap_is_renewed_at_its_half(life_minutes: int) -> None:
    short = make_subscription(created_or_renewed_at=NOW, expires_at=NOW + timedelta(minutes=life_minutes))
    half = NOW + timedelta(minutes=life_minutes / 2)
    assert compute_next_check(make_connection(subscription=short), OWN, 0.0) == half


@pytest.mark.parametrize(
    ("lifetime", "without_jitter", "with_jitter"),
    [
        (timedelta(days=7), timedelta(days=6), timedelta(days=5, hours=20)),  # with a day left
        (timedelta(hours=10), timedelta(hours=5), timedelta(hours=4)),  # at half of a short life
    ],
)
def test_renewal_time_is_spread_by_the_jitter(
    lifetime: timedelta, without_jitter: timedelta, with_jitter: timedelta
) -> None:
    assert compute_renewal_time(OWN, NOW, NOW + lifetime, 0.0) == NOW + without_jitter
    assert compute_renewal_time(OWN, NOW, NOW + lifetime, 1.0) == NOW + with_jitter


def test_provider_that_asks_for_it_is_renewed_at_its_interval() -> None:
    assert compute_renewal_time(SHARED, NOW, NOW + timedelta(days=7), 0.0) == NOW + timedelta(days=1)
