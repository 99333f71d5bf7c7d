"""A doc source that names an address is for that mailbox and no other."""

from dataclasses import replace

import pytest
from consent_setup import ConsentSetup

from mailroom_common.providers.types import Account
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_account_is_locked_by_its_address_in_lower_case(setup: ConsentSetup) -> None:
    setup.provider.account = replace(setup.provider.account, address="Ada@Contoso.example")
    await setup.connect_mailbox()
    assert setup.locks.order[0] == "account:outlook:ada@contoso.example"


async def test_doc_source_that_names_an_address_accepts_no_other_mailbox(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link(address="grace@contoso.example")
    with pytest.raises(ConsentRefused, match=r"signed in as ada@contoso\.example, but this link is for grace@"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.state, row.connection_reason, row.address) == (
        ConnectionState.PENDING,
        "other_mailbox",
        "grace@contoso.example",
    )
    assert "ada" not in (row.current_error or "")
    assert setup.grants.stored == {}
    assert setup.provider.calls[-1] == "revoke refresh-canary"


@pytest.mark.parametrize("asked", ["ada@contoso.example", "ADA@Contoso.example", "a.lovelace@contoso.example"])
async def test_address_is_the_mailbox_in_any_case_and_by_each_verified_name(setup: ConsentSetup, asked: str) -> None:
    _, ticket = await setup.create_with_link(address=asked)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).address == "ada@contoso.example"


async def test_address_that_the_provider_does_not_vouch_for_is_no_proof(setup: ConsentSetup) -> None:
    setup.provider.account = Account(
        "user-2", "ada@contoso.example", ("eve@evil.example",), "evil", verified_addresses=("eve@evil.example",)
    )
    connection, ticket = await setup.create_with_link(address="ada@contoso.example")
    with pytest.raises(ConsentRefused, match=r"proves only eve@evil\.example to be yours"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.state, row.connection_reason) == (ConnectionState.PENDING, "address_unverified")
    assert "provider_tenant" in (row.current_error or "")
    assert "eve" not in (row.current_error or "")
    assert (setup.grants.stored, setup.provider.calls[-1]) == ({}, "revoke refresh-canary")


async def test_renamed_mailbox_is_reconnected_by_its_user(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link(address="ada@contoso.example")
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    setup.provider.account = replace(setup.provider.account, address="countess@contoso.example")
    ticket = await setup.create.issue_ticket(connected.id)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).address == "countess@contoso.example"
