from dataclasses import replace
from hashlib import sha256

import pytest
from consent_setup import ConsentSetup

from mailroom_common.errors import AccessDenied, ProviderUnavailable
from mailroom_common.events import Access, Profile, SyncReason
from mailroom_common.providers.types import Folder
from subscription_manager.domain.connection import ConnectionState, ConnectionStatus
from subscription_manager.handlers.create_doc_source import (
    DocSourceRequest,
    InvalidDocSource,
    MailboxNotAllowed,
    ProviderNotSetUp,
    TooManyPendingSources,
)
from subscription_manager.ports import MailboxAlreadyConnected


async def test_delegated_doc_source_waits_for_consent(setup: ConsentSetup) -> None:
    connection, _ = await setup.create_with_link()
    assert (connection.state, connection.connection_status, connection.connection_reason) == (
        ConnectionState.PENDING,
        None,
        "authorization_pending",
    )
    assert setup.connections.sync_requests == []
    assert [version for _, version, _ in setup.connections.published] == [1]


async def test_tenant_with_too_many_pending_ones_gets_no_further_one_and_others_do(setup: ConsentSetup) -> None:
    for _ in range(3):
        await setup.create_with_link()
    with pytest.raises(TooManyPendingSources, match="3 doc sources of this tenant wait for a consent"):
        await setup.create_with_link()
    await setup.create_with_link(tenant_id="other")
    await setup.create.create_doc_source(make_request())  # with application access: it waits for nobody


async def test_ticket_is_stored_as_its_hash_only(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    assert list(setup.flows.tickets) == [sha256(ticket.encode()).digest()]
    assert ticket not in repr(setup.flows.tickets)


def make_request(**changed: object) -> DocSourceRequest:
    wanted = DocSourceRequest(
        tenant_id="acme",
        provider="outlook",
        profile=Profile.CONTRACT_NOTE,
        access=Access.APPLICATION,
        address="Desk@contoso.example",
        provider_tenant="contoso-id",
    )
    return replace(wanted, **changed)  # type: ignore[arg-type]  # a test names fields freely


async def test_begins_at_once_and_the_address_stands_for_the_user(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create.create_doc_source(make_request())
    assert ticket is None
    assert (connection.state, connection.connection_status) == (ConnectionState.ACTIVE, ConnectionStatus.ACTIVE)
    assert connection.address == connection.provider_user_id == "desk@contoso.example"
    assert setup.connections.sync_requests == [(connection.id, SyncReason.CONNECT)]
    assert setup.wake.count == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"provider_tenant": "fabrikam-id"},
        {"address": "desk@fabrikam.example"},
        {"address": "desk@contoso.example.evil.example"},
        {"tenant_id": "other"},
        {"provider": "gmail", "address": "desk@fabrikam.example"},
    ],
)
async def test_no_mailbox_is_opened_that_the_operator_did_not_allow(
    setup: ConsentSetup, changed: dict[str, object]
) -> None:
    with pytest.raises(MailboxNotAllowed):
        await setup.create.create_doc_source(make_request(**changed))
    assert setup.connections.rows == {}


async def test_allowed_domain_is_enough_for_gmail(setup: ConsentSetup) -> None:
    connection, _ = await setup.create.create_doc_source(make_request(provider="gmail", provider_tenant=None))
    assert connection.state is ConnectionState.ACTIVE


async def test_second_one_of_the_same_address_and_profile_is_refused(setup: ConsentSetup) -> None:
    await setup.create.create_doc_source(make_request())
    with pytest.raises(MailboxAlreadyConnected):
        await setup.create.create_doc_source(make_request(address="DESK@contoso.example"))


async def test_missing_settings_are_named(setup: ConsentSetup) -> None:
    setup.missing = "MAILROOM_MICROSOFT_CLIENT_ID is not set."
    with pytest.raises(ProviderNotSetUp, match="MAILROOM_MICROSOFT_CLIENT_ID"):
        await setup.create.create_doc_source(make_request())


async def test_unknown_provider_is_refused_with_the_known_ones(setup: ConsentSetup) -> None:
    with pytest.raises(InvalidDocSource, match="one of gmail, outlook"):
        await setup.create.create_doc_source(make_request(provider="yahoo"))


async def test_provider_that_has_tenants_needs_one(setup: ConsentSetup) -> None:
    with pytest.raises(InvalidDocSource, match="provider_tenant is needed for application access to Outlook"):
        await setup.create.create_doc_source(make_request(provider_tenant=None))
    assert setup.connections.rows == {}


async def test_folder_that_is_not_there_is_refused_by_its_name_and_nothing_is_created(setup: ConsentSetup) -> None:
    setup.folder_lister.folders = [Folder("f1", "Inbox", "inbox"), Folder("f2", "Invoices")]
    with pytest.raises(InvalidDocSource, match="no folder or label named Invocies"):
        await setup.create.create_doc_source(make_request(folders=("inbox", "invoices", "Invocies")))
    assert setup.connections.rows == {}
    connection, _ = await setup.create.create_doc_source(make_request(folders=("inbox", "invoices")))
    assert connection.folders == ("inbox", "invoices")


async def test_mailbox_that_may_not_be_opened_is_not_asked_for_its_folders(setup: ConsentSetup) -> None:
    with pytest.raises(MailboxNotAllowed):
        await setup.create.create_doc_source(make_request(folders=("inbox",), tenant_id="other"))
    assert setup.folder_lister.asked == []


@pytest.mark.parametrize("error", [ProviderUnavailable("503"), AccessDenied("no")])
async def test_mailbox_whose_folders_cannot_be_listed_is_not_created(setup: ConsentSetup, error: Exception) -> None:
    setup.folder_lister.error = error
    with pytest.raises(type(error)):
        await setup.create.create_doc_source(make_request(folders=("inbox",)))
    assert setup.connections.rows == {}
