"""Grants that nobody needs any more are given back, and no other one with them."""

from dataclasses import replace

import pytest
from connection_samples import NOW, OTHER_ID, make_connection
from consent_setup import ConsentSetup

from mailroom_common.errors import ProviderUnavailable
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_pending_one_that_is_gone_before_it_is_activated_gives_the_grant_back(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)

    async def delete_that_looked_before_the_grant_came() -> None:
        setup.connections.rows[connection.id] = transitions.begin_deletion(setup.connections.rows[connection.id], NOW)

    setup.connections.before_lock = delete_that_looked_before_the_grant_came
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_pending_one_that_is_deleted_before_it_is_activated_leaves_the_grant_to_its_end(
    setup: ConsentSetup,
) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.connections.before_lock = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_deleted_during_the_exchange_gives_back_what_the_person_has_just_granted(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_of_one_whose_end_is_yet_to_come_is_left_for_it(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))
    setup.connections.before_lock = lambda: setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []
    await setup.end_connection(connected.id)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_that_comes_after_the_end_is_given_back(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))

    async def end_row() -> None:
        await setup.delete_doc_source(connected.id)
        await setup.end_connection(connected.id)
        setup.provider.calls.clear()

    setup.provider.during["identify"] = end_row
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_is_not_revoked_while_another_doc_source_of_the_account_lives(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    connection, ticket = await setup.create_with_link(tenant_id="other")
    redirect = await setup.begin_consent(ticket)

    async def delete_row() -> None:
        await setup.change.delete_doc_source("other", connection.id)

    setup.provider.during["identify"] = delete_row
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert connection.id in setup.grants.forgotten
    assert setup.provider.find_calls("revoke") == []


async def test_refusal_is_shown_though_the_revocation_fails(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    setup.provider.errors["revoke"] = ProviderUnavailable("503")
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)


async def test_delete_of_a_pending_one_gives_back_the_grant_that_a_failed_consent_left(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end(address="ADA@contoso.example")
    assert connection.id in setup.grants.stored
    wakes = setup.wake.count
    await setup.delete_doc_source(connection.id)
    assert setup.wake.count == wakes + 1
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]
    assert setup.connections.published[-1][2] is None


async def test_left_grant_is_kept_until_the_provider_has_taken_it_back(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    await setup.delete_doc_source(connection.id)
    setup.provider.errors["revoke"] = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await setup.end_connection(connection.id)
    assert connection.id in setup.grants.stored
    setup.provider.errors.clear()
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}


async def test_left_grant_is_forgotten_only_while_another_doc_source_of_its_user_lives(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    setup.provider.account = replace(setup.provider.account, address="renamed@contoso.example")
    other = await setup.connect_mailbox()
    await setup.delete_doc_source(connection.id)
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert list(setup.grants.stored) == [other.id]
    assert setup.provider.find_calls("revoke") == []


async def test_next_consent_completes_one_that_failed_at_its_end(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connection.id)))
    assert (again.state, again.grant_generation) == (ConnectionState.ACTIVE, 2)


@pytest.mark.parametrize("other", [{"address": "renamed@contoso.example"}, {"provider_user_id": "ada@contoso.example"}])
async def test_grant_is_kept_while_another_doc_source_has_its_address_or_its_user(
    setup: ConsentSetup, other: dict[str, object]
) -> None:
    connection, ticket = await setup.create_with_link(address="asked@contoso.example")
    redirect = await setup.begin_consent(ticket)
    setup.connections.rows[OTHER_ID] = make_connection(id=OTHER_ID, tenant_id="other", **other)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []


async def test_revocation_that_ends_one_grant_only_is_made_whoever_else_has_the_account(setup: ConsentSetup) -> None:
    setup.provider.traits = replace(setup.provider.traits, revocation_ends_account=False)
    await setup.connect_mailbox()
    _, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="connected for this purpose already"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]
