"""What the operators' changes do; that each is its tenant's alone is tested over the API as well."""

from dataclasses import replace
from datetime import timedelta

import pytest
from connection_samples import ID, NOW, make_connection
from consent_setup import ConsentSetup

from mailroom_common.events import SyncReason
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.change_connection_state import WrongConnectionState


@pytest.fixture
def setup() -> ConsentSetup:
    return ConsentSetup(make_connection())


async def test_pause_keeps_the_subscription_and_its_schedule(setup: ConsentSetup) -> None:
    before = setup.connections.rows[ID]
    paused = await setup.change.pause_doc_source("acme", ID)
    assert paused == replace(before, state=ConnectionState.PAUSED, published_version=2)


async def test_resume_requests_a_sync_and_spreads_its_backstop(setup: ConsentSetup) -> None:
    await setup.change.pause_doc_source("acme", ID)
    resumed = await setup.change.resume_doc_source("acme", ID)
    assert resumed is not None
    assert resumed.next_backstop_at is not None
    assert NOW <= resumed.next_backstop_at <= NOW + timedelta(minutes=15)
    assert setup.connections.sync_requests == [(ID, SyncReason.RESUME)]


async def test_delete_wakes_the_reconciler_and_a_repeat_changes_nothing(setup: ConsentSetup) -> None:
    await setup.change.delete_doc_source("acme", ID)
    deleting = setup.connections.rows[ID]
    assert (deleting.state, setup.wake.count) == (ConnectionState.DELETING, 1)
    setup.connections.rows[ID] = replace(deleting, next_check_at=None, failed_attempts=3)
    setup.clock.advance(timedelta(minutes=1))
    assert await setup.change.delete_doc_source("acme", ID) == setup.connections.rows[ID]
    assert setup.connections.rows[ID].failed_attempts == 3


async def test_grant_of_an_active_one_is_no_unfinished_consent(setup: ConsentSetup) -> None:
    await setup.grants.add_tokens(ID)
    await setup.change.delete_doc_source("acme", ID)
    assert setup.connections.rows[ID].sync_rows_deleted_at is None


async def test_doc_source_of_another_tenant_is_not_changed(setup: ConsentSetup) -> None:
    await setup.grants.add_tokens(ID)
    before = setup.connections.rows[ID]
    for change in (
        setup.change.pause_doc_source,
        setup.change.resume_doc_source,
        setup.change.request_sync,
        setup.change.delete_doc_source,
    ):
        assert await change("other", ID) is None
    assert setup.connections.rows[ID] == before


async def test_state_that_does_not_allow_it_is_named(setup: ConsentSetup) -> None:
    setup.connections.rows[ID] = make_connection(state=ConnectionState.PENDING)
    with pytest.raises(WrongConnectionState, match="pending cannot be paused"):
        await setup.change.pause_doc_source("acme", ID)


async def test_pending_one_whose_grant_cannot_be_read_is_deleted_and_ends() -> None:
    setup = ConsentSetup()
    connection, _ = await setup.create_with_link()
    setup.grants.sealed_with_retired_key.add(connection.id)
    await setup.delete_doc_source(connection.id)
    ended = await setup.end_connection(connection.id)
    assert (ended.provider_ended_at, setup.grants.forgotten) == (setup.clock(), [connection.id])
