"""A consent for a mailbox that was connected before."""

from dataclasses import replace

import pytest
from connection_samples import TOKEN_TROUBLE, make_trouble
from consent_setup import ConsentSetup

from mailroom_common.events import Profile
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_generation_of_a_consent_exceeds_what_a_restored_doc_source_published(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = replace(connected, grant_generation=7)
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.grant_generation == setup.grants.stored[connected.id].grant_generation == 8


async def test_reconnect_by_the_same_user_raises_the_generation_and_ends_the_trouble(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = replace(
        connected,
        sync_trouble=TOKEN_TROUBLE,
        subscription_trouble=make_trouble(ConnectionStatus.SUBSCRIPTION_EXPIRED, TroubleReason.RENEWAL_FAILED),
    )
    ticket = await setup.create.issue_ticket(connected.id)
    again = await setup.finish_consent(await setup.begin_consent(ticket))
    assert (again.grant_generation, again.connection_status, again.connection_reason, again.current_error) == (
        2,
        ConnectionStatus.ACTIVE,
        None,
        None,
    )
    assert again.start_at == connected.start_at


async def test_reconnect_by_another_user_is_refused_and_the_old_grant_stays(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.provider.account = replace(setup.provider.account, user_id="user-2", address="eve@contoso.example")
    ticket = await setup.create.issue_ticket(connected.id)
    with pytest.raises(ConsentRefused, match="another mailbox"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.grants.stored[connected.id].grant_generation == 1
    assert setup.connections.rows[connected.id].address == "ada@contoso.example"
    assert setup.provider.find_calls("revoke") == []


async def test_reconnect_of_a_paused_one_leaves_it_paused(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = transitions.pause_connection(connected)
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.state is ConnectionState.PAUSED


async def test_mailbox_is_connected_once_per_tenant_and_profile(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    second, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="connected for this purpose already"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert second.id in setup.grants.forgotten
    assert setup.connections.rows[second.id].state is ConnectionState.PENDING
    _, ticket = await setup.create_with_link(profile=Profile.OBSERVATION)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).state is ConnectionState.ACTIVE
    _, ticket = await setup.create_with_link(tenant_id="other")
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).state is ConnectionState.ACTIVE
