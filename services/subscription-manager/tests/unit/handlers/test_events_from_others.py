"""What lifecycle events and connection events make of a connection."""

from datetime import datetime, timedelta

import pytest
from connection_fakes import NOW, URLS, Clock, FakeConnections, a_connection

from mailroom_common.events import (
    ConnectionEvent,
    ConnectionKind,
    DocSource,
    LifecycleEvent,
    LifecycleKind,
    Provider,
    SyncReason,
)
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, Status, SubscriptionStatus
from subscription_manager.handlers.act_on_lifecycle_event import ActOnLifecycleEvent
from subscription_manager.handlers.record_connection_event import RecordConnectionEvent
from subscription_manager.handlers.repeat_doc_sources import RepeatDocSources

CURRENT = CurrentSubscription(
    subscription_id="sub-1",
    resource="me/messages",
    expires_at=NOW + timedelta(days=5),
    touched_at=NOW - timedelta(days=1),
    notification_url=URLS.notification,
    lifecycle_url=URLS.lifecycle,
)
SUBSCRIBED = a_connection(subscription=CURRENT, attention_at=NOW + timedelta(days=4))
ID = SUBSCRIBED.id


class Wake:
    def __init__(self) -> None:
        self.count = 0

    def set(self) -> None:
        self.count += 1


def lifecycle(kind: LifecycleKind, *, subscription_id: str = "sub-1", doc_source_id: str = ID) -> LifecycleEvent:
    return LifecycleEvent(
        event_id="e",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id=doc_source_id,
        provider=Provider.OUTLOOK,
        subscription_id=subscription_id,
        kind=kind,
        raw_kind=kind.value,
    )


async def act(connection: Connection, *events: LifecycleEvent) -> tuple[FakeConnections, Wake]:
    connections, wake = FakeConnections(connection), Wake()
    for event in events:
        await ActOnLifecycleEvent(connections, wake, Clock()).act(event)
    return connections, wake


async def test_reauthorization_is_asked_of_the_keeper_and_is_no_sync() -> None:
    connections, wake = await act(SUBSCRIBED, lifecycle(LifecycleKind.REAUTHORIZATION_REQUIRED))
    row = connections.only()
    assert row.subscription is not None
    assert (row.subscription.renew_asked_at, row.attention_at) == (NOW, NOW)
    assert connections.asked == []
    assert wake.count == 1


async def test_removed_is_recreated_and_synced_once_however_often_it_is_told() -> None:
    removed = lifecycle(LifecycleKind.SUBSCRIPTION_REMOVED)
    connections, _ = await act(SUBSCRIBED, removed, removed)
    row = connections.only()
    assert row.subscription is not None
    assert (row.subscription.status, row.attention_at) == (SubscriptionStatus.REMOVED, NOW)
    assert connections.asked == [(ID, SyncReason.LIFECYCLE)]


async def test_missed_is_a_sync_and_nothing_else() -> None:
    connections, _ = await act(SUBSCRIBED, lifecycle(LifecycleKind.MISSED))
    assert connections.only() == SUBSCRIBED
    assert connections.asked == [(ID, SyncReason.LIFECYCLE)]


async def test_other_kinds_are_noted_and_change_nothing() -> None:
    connections, _ = await act(SUBSCRIBED, lifecycle(LifecycleKind.OTHER))
    assert (connections.only(), connections.asked) == (SUBSCRIBED, [])


@pytest.mark.parametrize("kind", list(LifecycleKind))
async def test_word_on_a_replaced_subscription_changes_nothing(kind: LifecycleKind) -> None:
    connections, wake = await act(SUBSCRIBED, lifecycle(kind, subscription_id="sub-0"))
    assert (connections.only(), connections.asked, wake.count) == (SUBSCRIBED, [], 0)


async def test_deleting_and_unknown_doc_sources_are_left_alone() -> None:
    deleting = a_connection(state=State.DELETING, subscription=CURRENT)
    connections, _ = await act(
        deleting,
        lifecycle(LifecycleKind.SUBSCRIPTION_REMOVED),
        lifecycle(LifecycleKind.MISSED, doc_source_id="33333333-3333-4333-8333-333333333333"),
    )
    assert (connections.only(), connections.asked) == (deleting, [])


async def test_paused_one_is_recreated_and_its_resume_will_sync() -> None:
    paused = a_connection(state=State.PAUSED, subscription=CURRENT)
    connections, _ = await act(paused, lifecycle(LifecycleKind.SUBSCRIPTION_REMOVED))
    assert connections.only().attention_at == NOW
    assert connections.asked == []


def learned(kind: ConnectionKind, *, generation: int = 1, at: datetime = NOW) -> ConnectionEvent:
    return ConnectionEvent(
        event_id=f"{kind}-{at}",
        occurred_at=at,
        tenant_id="acme",
        doc_source_id=ID,
        kind=kind,
        detail="why",
        grant_generation=generation,
    )


async def record(connection: Connection, *events: ConnectionEvent) -> FakeConnections:
    connections = FakeConnections(connection)
    for event in events:
        await RecordConnectionEvent(connections, Clock()).record(event)
    return connections


async def test_synced_is_the_last_successful_sync_and_ends_trouble() -> None:
    troubled = a_connection(status=Status.PROVIDER_ERROR, reason="provider_failing", last_error="x")
    row = (await record(troubled, learned(ConnectionKind.SYNCED))).only()
    assert (row.last_successful_sync_at, row.status, row.reason, row.last_error) == (NOW, Status.ACTIVE, None, None)


async def test_older_sync_that_is_told_late_does_not_turn_the_clock_back() -> None:
    earlier = learned(ConnectionKind.SYNCED, at=NOW - timedelta(hours=1))
    row = (await record(SUBSCRIBED, learned(ConnectionKind.SYNCED), earlier)).only()
    assert row.last_successful_sync_at == NOW


async def test_status_is_no_news_for_doc_sources() -> None:
    connections = await record(SUBSCRIBED, learned(ConnectionKind.SYNCED), learned(ConnectionKind.TOKEN_REFUSED))
    assert connections.told == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (ConnectionKind.TOKEN_REFUSED, Status.TOKEN_REFRESH_FAILED),
        (ConnectionKind.MAILBOX_GONE, Status.PROVIDER_ERROR),
        (ConnectionKind.ACCESS_DENIED, Status.PROVIDER_ERROR),
        (ConnectionKind.PROVIDER_FAILING, Status.PROVIDER_ERROR),
    ],
)
async def test_trouble_is_a_status_with_its_reason_and_recovery_ends_it(kind: ConnectionKind, status: Status) -> None:
    connections = await record(SUBSCRIBED, learned(kind))
    row = connections.only()
    assert (row.status, row.reason, row.last_error) == (status, kind.value, "why")
    await RecordConnectionEvent(connections, Clock()).record(learned(ConnectionKind.RECOVERED))
    assert connections.only().status is Status.ACTIVE


async def test_late_refusal_of_an_older_grant_does_not_condemn_the_newer() -> None:
    reconnected = a_connection(grant_generation=2)
    assert (await record(reconnected, learned(ConnectionKind.TOKEN_REFUSED, generation=1))).only() == reconnected
    row = (await record(reconnected, learned(ConnectionKind.TOKEN_REFUSED, generation=2))).only()
    assert row.status is Status.TOKEN_REFRESH_FAILED


async def test_sync_by_the_backstop_does_not_hide_that_pushes_are_missing() -> None:
    expired = a_connection(status=Status.SUBSCRIPTION_EXPIRED, reason="renewal_failed")
    row = (await record(expired, learned(ConnectionKind.SYNCED))).only()
    assert (row.status, row.last_successful_sync_at) == (Status.SUBSCRIPTION_EXPIRED, NOW)


async def test_forgotten_ends_a_deletion_whose_provider_side_is_over() -> None:
    ended = a_connection(state=State.DELETING, ended_at=NOW, version=5)
    connections = await record(ended, learned(ConnectionKind.FORGOTTEN), learned(ConnectionKind.FORGOTTEN))
    assert connections.only().state is State.GONE
    assert connections.told == [(ID, 6, None)]


async def test_forgotten_before_the_provider_side_is_over_is_remembered() -> None:
    row = (await record(a_connection(state=State.DELETING), learned(ConnectionKind.FORGOTTEN))).only()
    assert (row.state, row.forgotten_at) == (State.DELETING, NOW)


async def test_forgotten_means_nothing_to_a_living_one() -> None:
    assert (await record(SUBSCRIBED, learned(ConnectionKind.FORGOTTEN))).only() == SUBSCRIBED


class Topic:
    def __init__(self, **versions: int) -> None:
        self._versions = versions

    def get_source(self, doc_source_id: str) -> DocSource | None:
        version = self._versions.get(doc_source_id.replace("-", ""))
        if version is None:
            return None
        return DocSource(
            event_id="e",
            occurred_at=NOW,
            tenant_id="acme",
            doc_source_id=doc_source_id,
            version=version,
            provider=SUBSCRIBED.provider,
            profile=SUBSCRIBED.profile,
            access=SUBSCRIBED.access,
            state="active",  # type: ignore[arg-type]  # only the version is read
        )


@pytest.mark.parametrize(
    ("state", "shown", "is_repeated"),
    [
        (State.ACTIVE, 6, True),  # an older version was written late
        (State.ACTIVE, 7, False),
        (State.ACTIVE, None, True),  # the topic lost it
        (State.GONE, 6, True),  # a deleted one came back
        (State.GONE, None, False),
    ],
)
async def test_topic_that_is_behind_the_table_is_told_again(state: State, shown: int | None, is_repeated: bool) -> None:
    connections = FakeConnections(a_connection(state=state, version=7))
    topic = Topic() if shown is None else Topic(**{ID.replace("-", ""): shown})
    assert await RepeatDocSources(connections, topic).repeat() == int(is_repeated)
    assert connections.repeated == ([ID] if is_repeated else [])
