import pytest
from provider_client_fixtures import START_AT, mail, whole_round

from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import Folder, Mailbox
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


async def test_consent_names_the_mailbox_and_its_grant_lists_the_labels(
    sandbox: RunningProviders, providers: Providers, gmail: Mailbox
) -> None:
    assert gmail.address == "ap@example.org"
    assert Folder("INBOX", "INBOX", "INBOX") in await providers.mail["gmail"].list_folders(gmail)


async def test_gmail_history_starts_at_now_and_the_relist_brings_the_rest(
    sandbox: RunningProviders, providers: Providers, gmail: Mailbox
) -> None:
    client = providers.mail["gmail"]
    before = await sandbox.control.deliver_mail(mail(), gmail.address, times=3)
    page = await client.list_changes(gmail, "history", START_AT, position=None, page_token=None)
    assert page.needs_relist
    assert page.position is not None
    relisted, done = await whole_round(client, gmail, "relist")
    assert {change.message_id for change in relisted} == set(before)
    assert done == "done"
    (new_id,) = await sandbox.control.deliver_mail(mail("Invoice 4712"), gmail.address)
    changes, position = await whole_round(client, gmail, "history", page.position)
    assert [change.message_id for change in changes] == [new_id]
    message = await client.fetch_message(gmail, new_id)
    assert message.summary.subject == "Invoice 4712"
    assert message.summary.headers is not None
    assert "list-unsubscribe" in message.summary.headers
    await sandbox.control.delete_message(gmail.address, new_id)
    changes, _ = await whole_round(client, gmail, "history", position)
    assert new_id in {change.message_id for change in changes}
