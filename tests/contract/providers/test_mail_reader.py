import uuid

import pytest
from provider_client_fixtures import PDF, PROVIDER_NAMES, START_AT, Connect, mail, part_bytes, whole_round

from mailroom_common.errors import CursorRefused, PageTokenRefused, TokenRefused
from mailroom_common.events import Profile
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import PartKind
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_parts_come_byte_for_byte(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: str
) -> None:
    mailbox = await connect(provider, "parts@example.org", str(uuid.uuid4()))
    (message_id,) = await sandbox.control.deliver_mail(mail(), mailbox.address)
    client = providers.mail[provider]
    assert await part_bytes(client, mailbox, message_id) == {"Rechnung ä.pdf": PDF}
    message = await client.fetch_message(mailbox, message_id, with_body=True)
    assert message.html_body is not None
    assert "<p>see file</p>" in message.html_body
    assert [part.kind for part in message.parts] == [PartKind.FILE]


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_revoked_grant_is_refused_with_its_generation_and_not_asked_for_again(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: str
) -> None:
    mailbox = await connect(provider, "revoked@example.org", str(uuid.uuid4()))
    await sandbox.control.revoke_grants(mailbox.address)
    await sandbox.control.expire_tokens(mailbox.address)
    client = providers.mail[provider]
    scope = "history" if provider == "gmail" else "inbox"
    with pytest.raises(TokenRefused) as refused:
        await client.list_changes(mailbox, scope, START_AT, position=None, page_token=None)
    assert refused.value.grant_generation == mailbox.grant_generation
    await sandbox.control.forget_calls()
    with pytest.raises(TokenRefused):
        await client.list_changes(mailbox, scope, START_AT, position=None, page_token=None)
    assert await sandbox.control.list_calls() == []
    again = await connect(provider, mailbox.address, mailbox.doc_source_id)
    assert again.grant_generation > mailbox.grant_generation
    await client.list_changes(again, scope, START_AT, position=None, page_token=None)


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_refused_cursor_is_told_from_a_refused_page(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: str
) -> None:
    mailbox = await connect(provider, "cursor@example.org", str(uuid.uuid4()))
    client = providers.mail[provider]
    scope = "history" if provider == "gmail" else "inbox"
    position = (await whole_round(client, mailbox, scope))[1]
    await sandbox.control.set_fault("cursor_refused", where="start")
    with pytest.raises(CursorRefused):
        await client.list_changes(mailbox, scope, START_AT, position=position, page_token=None)
    await sandbox.control.deliver_mail(mail(attached=b"%PDF-"), mailbox.address, times=600)
    page = await client.list_changes(mailbox, scope, START_AT, position=position, page_token=None)
    await sandbox.control.set_fault("cursor_refused", where="middle")
    with pytest.raises((PageTokenRefused, CursorRefused)):
        await client.list_changes(mailbox, scope, START_AT, position=position, page_token=page.page_token)


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_observed_mailbox_gives_summaries_and_nothing_else(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: str
) -> None:
    mailbox = await connect(provider, "seen@example.org", str(uuid.uuid4()), Profile.OBSERVATION)
    (message_id,) = await sandbox.control.deliver_mail(mail(), mailbox.address)
    client = providers.mail[provider]
    message = await client.fetch_message(mailbox, message_id, with_body=True, with_parts=True)
    assert (message.summary.subject, message.parts, message.html_body) == ("Invoice 4711", (), None)
    scope = "relist" if provider == "gmail" else "inbox"
    changes, _ = await whole_round(client, mailbox, scope)
    assert message_id in {change.message_id for change in changes}


async def test_ids_are_translated_to_those_of_other_programs_which_change_with_a_move(
    sandbox: RunningProviders, providers: Providers, connect: Connect
) -> None:
    mailbox = await connect("outlook", "ids@example.org", str(uuid.uuid4()))
    reader = providers.mail["outlook"]
    message_id, unmoved = [(await sandbox.control.deliver_mail(mail(), mailbox.address))[0] for _ in range(2)]
    first = await reader.translate_ids(mailbox, [message_id, unmoved, "unknown"])
    assert first.keys() == {message_id, unmoved}
    assert set(first.values()).isdisjoint(first)
    await sandbox.control.move_message(mailbox.address, message_id, "archive")
    later = await reader.translate_ids(mailbox, [message_id, unmoved])
    assert later[unmoved] == first[unmoved]
    assert later[message_id] != first[message_id]


async def test_at_gmail_a_message_has_one_id(providers: Providers, connect: Connect) -> None:
    mailbox = await connect("gmail", "ids@example.org", str(uuid.uuid4()))
    assert await providers.mail["gmail"].translate_ids(mailbox, ["a"]) == {"a": "a"}
