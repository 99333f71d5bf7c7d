from dataclasses import replace
from datetime import timedelta

import pytest
from connection_samples import ID, NOW, Clock, WakeCounter, make_connection, make_subscription
from fake_connection_store import FakeConnectionStore
from structlog.testing import capture_logs

from mailroom_common.events import LifecycleEvent, LifecycleKind, SyncReason
from subscription_manager.domain.connection import Connection, ConnectionState, SubscriptionStatus
from subscription_manager.handlers.handle_lifecycle_event import HandleLifecycleEvent

CURRENT = make_subscription(
    subscription_id="sub-1", expires_at=NOW + timedelta(days=5), created_or_renewed_at=NOW - timedelta(days=1)
)
SUBSCRIBED = make_connection(subscription=CURRENT, next_check_at=NOW + timedelta(days=4))


def make_event(kind: LifecycleKind, *, subscription_id: str = "sub-1", doc_source_id: str = ID) -> LifecycleEvent:
    return LifecycleEvent(
        event_id="e",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id=doc_source_id,
        provider="outlook",
        subscription_id=subscription_id,
        kind=kind,
        raw_kind=kind.value,
    )


async def handle_events(connection: Connection, *events: LifecycleEvent) -> tuple[FakeConnectionStore, WakeCounter]:
    connections, wake = FakeConnectionStore(connection), WakeCounter()
    for event in events:
        await HandleLifecycleEvent(connections, wake, Clock()).handle_event(event)
    return connections, wake


async def test_reauthorization_is_a_requested_renewal_and_no_sync() -> None:
    connections, wake = await handle_events(SUBSCRIBED, make_event(LifecycleKind.REAUTHORIZATION_REQUIRED))
    row = connections.only_row()
    assert row.subscription is not None
    assert (row.subscription.renewal_requested_at, row.next_check_at) == (NOW, NOW)
    assert connections.sync_requests == []
    assert wake.count == 1


async def test_removed_subscription_is_recreated_and_synced_once_however_often_it_is_reported() -> None:
    removed = make_event(LifecycleKind.SUBSCRIPTION_REMOVED)
    connections, _ = await handle_events(SUBSCRIBED, removed, removed)
    row = connections.only_row()
    assert row.subscription is not None
    assert (row.subscription.status, row.next_check_at) == (SubscriptionStatus.REMOVED, NOW)
    assert connections.sync_requests == [(ID, SyncReason.LIFECYCLE)]


async def test_missed_is_a_sync_and_nothing_else() -> None:
    connections, _ = await handle_events(SUBSCRIBED, make_event(LifecycleKind.MISSED))
    assert connections.only_row() == SUBSCRIBED
    assert connections.sync_requests == [(ID, SyncReason.LIFECYCLE)]


@pytest.mark.parametrize(
    ("connection", "since"),
    [
        (replace(SUBSCRIBED, last_successful_sync_at=NOW - timedelta(hours=2), start_at=NOW), timedelta(hours=2)),
        (replace(SUBSCRIBED, start_at=NOW - timedelta(hours=3)), timedelta(hours=3)),  # never synced yet
        (SUBSCRIBED, timedelta(days=1)),
    ],
)
async def test_missed_is_warned_of_with_the_time_that_it_may_cover(connection: Connection, since: timedelta) -> None:
    with capture_logs() as logs:
        await handle_events(connection, make_event(LifecycleKind.MISSED))
    (warning,) = [line for line in logs if line["log_level"] == "warning"]
    assert warning["event"] == "notifications_missed"
    assert (warning["doc_source_id"], warning["since"], warning["until"]) == (ID, NOW - since, NOW)


async def test_other_kinds_are_logged_and_change_nothing() -> None:
    connections, _ = await handle_events(SUBSCRIBED, make_event(LifecycleKind.OTHER))
    assert (connections.only_row(), connections.sync_requests) == (SUBSCRIBED, [])


@pytest.mark.parametrize("kind", list(LifecycleKind))
async def test_event_about_a_replaced_subscription_changes_nothing(kind: LifecycleKind) -> None:
    connections, wake = await handle_events(SUBSCRIBED, make_event(kind, subscription_id="sub-0"))
    assert (connections.only_row(), connections.sync_requests, wake.count) == (SUBSCRIBED, [], 0)


async def test_deleting_and_unknown_doc_sources_are_left_alone() -> None:
    deleting = make_connection(state=ConnectionState.DELETING, subscription=CURRENT)
    connections, _ = await handle_events(
        deleting,
        make_event(LifecycleKind.SUBSCRIPTION_REMOVED),
        make_event(LifecycleKind.MISSED, doc_source_id="33333333-3333-4333-8333-333333333333"),
    )
    assert (connections.only_row(), connections.sync_requests) == (deleting, [])


async def test_paused_one_is_recreated_and_its_resume_will_sync() -> None:
    paused = make_connection(state=ConnectionState.PAUSED, subscription=CURRENT)
    connections, _ = await handle_events(paused, make_event(LifecycleKind.SUBSCRIPTION_REMOVED))
    assert connections.only_row().next_check_at == NOW
    assert connections.sync_requests == []
