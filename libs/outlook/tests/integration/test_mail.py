import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from provider_client_fixtures import START_AT, mail, whole_round

from mailroom_common.budgets.waiting import limit_waiting
from mailroom_common.errors import AccessDenied, ItemGone, Throttled
from mailroom_common.events import Access, Profile
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import ChangeKind, Mailbox
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


async def test_consent_names_the_mailbox_and_its_grant_lists_the_folders(
    providers: Providers, outlook: Mailbox
) -> None:
    assert outlook.address == "ap@contoso.example"
    assert outlook.provider_tenant
    folders = await providers.mail["outlook"].list_folders(outlook)
    well_known = {folder.well_known for folder in folders}
    assert {"inbox", "drafts", "sentitems", "deleteditems", "junkemail"} <= well_known


async def test_outlook_round_lists_what_is_there_then_what_is_new_then_what_is_gone(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail["outlook"]
    inbox = next(folder for folder in await client.list_folders(outlook) if folder.well_known == "inbox")
    first_ids = await sandbox.control.deliver_mail(mail(), outlook.address, times=3)
    listed, position = await whole_round(client, outlook, inbox.folder_id)
    assert {change.message_id for change in listed} == set(first_ids)
    (new_id,) = await sandbox.control.deliver_mail(mail("Invoice 4712"), outlook.address)
    changes, position = await whole_round(client, outlook, inbox.folder_id, position)
    (summary,) = [change.summary for change in changes]
    assert summary is not None
    assert (summary.message_id, summary.subject, summary.folder_id) == (new_id, "Invoice 4712", inbox.folder_id)
    assert (summary.sender_address, summary.has_attachments) == ("billing@acme.example", True)
    await sandbox.control.delete_message(outlook.address, new_id)
    changes, _ = await whole_round(client, outlook, inbox.folder_id, position)
    assert [(change.kind, change.message_id) for change in changes] == [(ChangeKind.REMOVED, new_id)]
    with pytest.raises(ItemGone):
        await client.fetch_message(outlook, new_id)


async def test_hint_list_shows_what_was_modified_and_ends(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail["outlook"]
    ids = await sandbox.control.deliver_mail(mail(attached=b"%PDF-"), outlook.address, times=130)
    found: set[str] = set()
    since, pages = datetime.now(UTC) - timedelta(minutes=5), 0
    while True:
        page = await client.list_modified(outlook, since)
        pages += 1
        found |= {summary.message_id for summary in page.summaries}
        if page.resume_after is None:
            break
        assert page.resume_after > since
        since = page.resume_after
    assert found == set(ids)
    quiet = await client.list_modified(outlook, datetime.now(UTC) + timedelta(minutes=5))
    assert (quiet.summaries, quiet.resume_after) == ((), None)


async def test_immutable_id_survives_a_move(sandbox: RunningProviders, providers: Providers, outlook: Mailbox) -> None:
    (message_id,) = await sandbox.control.deliver_mail(mail(), outlook.address)
    await sandbox.control.move_message(outlook.address, message_id, "archive")
    message = await providers.mail["outlook"].fetch_message(outlook, message_id)
    assert message.summary.message_id == message_id


async def test_provider_that_asks_for_a_pause_gets_it(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail["outlook"]
    await sandbox.control.set_fault("unavailable", status=429, retry_after="3.5", times=1)
    with limit_waiting(0):
        with pytest.raises(Throttled) as throttled:
            await client.list_modified(outlook, START_AT)
        assert throttled.value.retry_after_s == 3.5
        await sandbox.control.forget_calls()
        with pytest.raises(Throttled):
            await client.list_modified(outlook, START_AT)
    assert await sandbox.control.list_calls() == []


async def test_expired_access_token_is_refreshed_once_and_nobody_notices(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail["outlook"]
    await client.list_folders(outlook)
    await sandbox.control.expire_tokens(outlook.address)
    await sandbox.control.forget_calls()
    await client.list_modified(outlook, START_AT)
    await client.list_modified(outlook, START_AT)
    calls = [
        (call["method"], call["status"], call["path"].rsplit("/", 1)[-1]) for call in await sandbox.control.list_calls()
    ]
    assert calls == [
        ("GET", 401, "messages"),
        ("POST", 200, "token"),
        ("GET", 200, "messages"),
        ("GET", 200, "messages"),
    ]


async def test_application_reads_a_mailbox_of_its_tenant_without_a_user(
    sandbox: RunningProviders, providers: Providers
) -> None:
    await sandbox.control.find_or_create_mailbox("outlook", "trades@contoso.example")
    tenant = sandbox.state.store.select_row("select tenant_id from mailbox where address = ?", "trades@contoso.example")
    assert tenant is not None
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider="outlook",
        access=Access.APPLICATION,
        profile=Profile.CONTRACT_NOTE,
        address="trades@contoso.example",
        provider_tenant=tenant["tenant_id"],
    )
    client = providers.mail["outlook"]
    assert "inbox" in {folder.well_known for folder in await client.list_folders(mailbox)}
    await sandbox.control.expire_tokens()
    assert await client.list_folders(mailbox)
    asked = [call for call in await sandbox.control.list_calls() if call["path"].endswith("/token")]
    assert len(asked) == 2
    with pytest.raises(AccessDenied):
        await client.list_folders(replace(mailbox, provider_tenant=str(uuid.uuid4())))
    with pytest.raises(AccessDenied):
        await client.list_folders(replace(mailbox, provider_tenant=None))
