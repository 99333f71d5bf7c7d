"""Folders that a doc source names are looked for before its first consent is taken."""

import pytest
from consent_setup import ConsentSetup
from structlog.testing import capture_logs

from mailroom_common.errors import AccessDenied, ItemGone, ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.types import Folder
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_folder_that_is_not_there_is_refused_on_the_page_by_its_name(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Posteingang", "inbox"), Folder("f2", "Posteingang/Rechnungen")]
    connection, ticket = await setup.create_with_link(folders=("inbox/rechnungen", "Rechnungne"))
    with pytest.raises(ConsentRefused, match=r"ada@contoso.example has no folder or label named Rechnungne\."):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING
    assert setup.grants.stored == {}
    assert setup.connections.sync_requests == []


async def test_grant_of_one_with_a_missing_folder_is_given_back(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.calls[-2:] == ["list_folders ada@contoso.example", "revoke refresh-canary"]


async def test_missing_folder_revokes_nothing_while_the_account_has_another_doc_source(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    _, ticket = await setup.create_with_link(folders=("Rechnungne",), profile=Profile.CONTRACT_NOTE)
    with pytest.raises(ConsentRefused, match="no folder or label"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.find_calls("revoke") == []


async def test_folders_are_checked_under_the_locks_of_the_account(setup: ConsentSetup) -> None:
    locked: list[str] = []

    async def note_locks() -> None:
        locked.extend(setup.locks.order)

    setup.provider.folders = [Folder("f1", "Invoices")]
    setup.provider.during["list_folders"] = note_locks
    _, ticket = await setup.create_with_link(folders=("invoices",))
    await setup.finish_consent(await setup.begin_consent(ticket))
    assert locked == setup.locks.order[:2] != []


async def test_provider_that_cannot_list_folders_now_does_not_fail_the_consent(setup: ConsentSetup) -> None:
    setup.provider.errors["list_folders"] = ProviderUnavailable("503")
    _, ticket = await setup.create_with_link(folders=("invoices",))
    with capture_logs() as logged:
        connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert connected.state is ConnectionState.ACTIVE
    assert "folder_check_skipped" in {entry["event"] for entry in logged}


@pytest.mark.parametrize("error", [Rejected("400"), ItemGone("404"), AccessDenied("403")])
async def test_provider_that_refuses_to_list_folders_is_said_readably_and_the_grant_given_back(
    setup: ConsentSetup, error: Exception
) -> None:
    setup.provider.errors["list_folders"] = error
    connection, ticket = await setup.create_with_link(folders=("invoices",))
    with pytest.raises(ConsentRefused, match=r"does not show the folders of ada@contoso\.example"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_folders_that_are_there_are_connected(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Posteingang", "inbox"), Folder("f2", "Posteingang/Rechnungen")]
    _, ticket = await setup.create_with_link(folders=("inbox/rechnungen",))
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert connected.folders == ("inbox/rechnungen",)


async def test_folder_that_vanished_later_does_not_keep_a_grant_from_being_renewed(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Invoices")]
    _, ticket = await setup.create_with_link(folders=("invoices",))
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    setup.provider.folders = []
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.grant_generation == 2


async def test_folder_that_was_corrected_is_connected_with_a_new_link(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Rechnungen")]
    connection, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    await setup.change.correct_doc_source("acme", connection.id, address=None, folders=("Rechnungen",))
    ticket = await setup.create.issue_ticket(connection.id)
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert (connected.state, connected.connection_reason, connected.current_error) == (
        ConnectionState.ACTIVE,
        None,
        None,
    )
