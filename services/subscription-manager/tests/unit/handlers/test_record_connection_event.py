from datetime import datetime, timedelta

import pytest
from connection_samples import ID, NOW, Clock, make_connection, make_subscription, make_trouble
from fake_connection_store import FakeConnectionStore

from mailroom_common.events import ConnectionEvent, ConnectionKind
from subscription_manager.domain.connection import Connection, ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.handlers.record_connection_event import RecordConnectionEvent

CURRENT = make_subscription(
    subscription_id="sub-1", expires_at=NOW + timedelta(days=5), created_or_renewed_at=NOW - timedelta(days=1)
)
SUBSCRIBED = make_connection(subscription=CURRENT, next_check_at=NOW + timedelta(days=4))


def make_event(
    kind: ConnectionKind,
    *,
    generation: int = 1,
    at: datetime = NOW,
    source_version: int = 6,
    trouble: str | None = None,
) -> ConnectionEvent:
    return ConnectionEvent(
        event_id=f"{kind}-{at}",
        occurred_at=at,
        tenant_id="acme",
        doc_source_id=ID,
        kind=kind,
        detail="why",
        grant_generation=generation,
        source_version=source_version,
        trouble=trouble,
    )


async def record_events(connection: Connection, *events: ConnectionEvent) -> FakeConnectionStore:
    connections = FakeConnectionStore(connection)
    for event in events:
        await RecordConnectionEvent(connections, Clock()).record_event(event)
    return connections


async def test_synced_is_the_last_successful_sync_and_ends_trouble() -> None:
    troubled = make_connection(
        sync_trouble=make_trouble(ConnectionStatus.PROVIDER_ERROR, TroubleReason.PROVIDER_FAILING)
    )
    row = (await record_events(troubled, make_event(ConnectionKind.SYNCED))).only_row()
    assert (row.last_successful_sync_at, row.connection_status, row.connection_reason, row.current_error) == (
        NOW,
        ConnectionStatus.ACTIVE,
        None,
        None,
    )


async def test_what_a_sync_finds_wrong_is_the_status_until_a_sync_no_longer_finds_it() -> None:
    connections = await record_events(SUBSCRIBED, make_event(ConnectionKind.SYNCED, trouble="no folder named Bills"))
    row = connections.only_row()
    assert (row.connection_status, row.connection_reason, row.current_error, row.last_successful_sync_at) == (
        ConnectionStatus.PROVIDER_ERROR,
        "provider_failing",
        "no folder named Bills",
        NOW,
    )
    await RecordConnectionEvent(connections, Clock()).record_event(make_event(ConnectionKind.SYNCED))
    assert connections.only_row().connection_status is ConnectionStatus.ACTIVE


async def test_older_sync_that_is_reported_late_does_not_move_the_time_back() -> None:
    earlier = make_event(ConnectionKind.SYNCED, at=NOW - timedelta(hours=1))
    row = (await record_events(SUBSCRIBED, make_event(ConnectionKind.SYNCED), earlier)).only_row()
    assert row.last_successful_sync_at == NOW


async def test_status_is_no_news_for_doc_sources() -> None:
    connections = await record_events(
        SUBSCRIBED, make_event(ConnectionKind.SYNCED), make_event(ConnectionKind.TOKEN_REFUSED)
    )
    assert connections.published == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (ConnectionKind.TOKEN_REFUSED, ConnectionStatus.TOKEN_REFRESH_FAILED),
        (ConnectionKind.MAILBOX_GONE, ConnectionStatus.PROVIDER_ERROR),
        (ConnectionKind.ACCESS_DENIED, ConnectionStatus.PROVIDER_ERROR),
        (ConnectionKind.PROVIDER_FAILING, ConnectionStatus.PROVIDER_ERROR),
    ],
)
async def test_trouble_is_a_status_with_its_reason_and_recovery_ends_it(
    kind: ConnectionKind, status: ConnectionStatus
) -> None:
    connections = await record_events(SUBSCRIBED, make_event(kind))
    row = connections.only_row()
    assert (row.connection_status, row.connection_reason, row.current_error) == (status, kind.value, "why")
    await RecordConnectionEvent(connections, Clock()).record_event(make_event(ConnectionKind.RECOVERED))
    assert connections.only_row().connection_status is ConnectionStatus.ACTIVE


async def test_late_refusal_of_an_older_grant_does_not_condemn_the_newer() -> None:
    reconnected = make_connection(grant_generation=2)
    assert (
        await record_events(reconnected, make_event(ConnectionKind.TOKEN_REFUSED, generation=1))
    ).only_row() == reconnected
    row = (await record_events(reconnected, make_event(ConnectionKind.TOKEN_REFUSED, generation=2))).only_row()
    assert row.connection_status is ConnectionStatus.TOKEN_REFRESH_FAILED


async def test_sync_by_the_backstop_does_not_hide_that_pushes_are_missing() -> None:
    expired = make_connection(
        subscription_trouble=make_trouble(ConnectionStatus.SUBSCRIPTION_EXPIRED, TroubleReason.RENEWAL_FAILED)
    )
    row = (await record_events(expired, make_event(ConnectionKind.SYNCED))).only_row()
    assert (row.connection_status, row.last_successful_sync_at) == (ConnectionStatus.SUBSCRIPTION_EXPIRED, NOW)


async def test_trouble_that_is_reported_again_is_as_old_as_the_first_report() -> None:
    again = make_event(ConnectionKind.PROVIDER_FAILING, at=NOW + timedelta(hours=1))
    row = (await record_events(SUBSCRIBED, make_event(ConnectionKind.PROVIDER_FAILING), again)).only_row()
    assert row.sync_trouble is not None
    assert row.sync_trouble.since == NOW


async def test_forgotten_ends_a_deletion_whose_provider_side_is_over() -> None:
    ended = make_connection(state=ConnectionState.DELETING, provider_ended_at=NOW, published_version=5)
    connections = await record_events(ended, make_event(ConnectionKind.FORGOTTEN), make_event(ConnectionKind.FORGOTTEN))
    assert connections.only_row().state is ConnectionState.DELETED
    assert connections.published == [(ID, 6, None)]


async def test_forgotten_before_the_provider_side_is_over_is_remembered() -> None:
    row = (
        await record_events(make_connection(state=ConnectionState.DELETING), make_event(ConnectionKind.FORGOTTEN))
    ).only_row()
    assert (row.state, row.sync_rows_deleted_at) == (ConnectionState.DELETING, NOW)


async def test_answer_to_an_earlier_deletion_does_not_end_this_one() -> None:
    again = make_connection(state=ConnectionState.DELETING, provider_ended_at=NOW, version_before_deletion=6)
    assert (await record_events(again, make_event(ConnectionKind.FORGOTTEN))).only_row() == again
    ended = await record_events(again, make_event(ConnectionKind.FORGOTTEN, source_version=7))
    assert ended.only_row().state is ConnectionState.DELETED


async def test_forgotten_means_nothing_to_a_living_one() -> None:
    assert (await record_events(SUBSCRIBED, make_event(ConnectionKind.FORGOTTEN))).only_row() == SUBSCRIBED


async def test_event_about_a_connection_without_consent_changes_nothing() -> None:
    pending = make_connection(state=ConnectionState.PENDING, grant_generation=0)
    assert (
        await record_events(pending, make_event(ConnectionKind.PROVIDER_FAILING, generation=0))
    ).only_row() == pending


async def test_recovery_is_no_successful_sync() -> None:
    row = (await record_events(SUBSCRIBED, make_event(ConnectionKind.RECOVERED))).only_row()
    assert row.last_successful_sync_at is None
