"""The way of a mailbox through the port, the same for both providers where the providers are the same."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

import pytest

from mailroom_common.errors import CursorRefused, ItemGone, PageTokenRefused, Throttled, TokenRefused
from mailroom_common.events import Profile, Provider
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Change, ChangeKind, Folder, Mailbox, PartKind, SubscriptionRequest
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack

Connect = Callable[..., Awaitable[Mailbox]]
START_AT = datetime.now(UTC) - timedelta(days=1)
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 4000


def mail(subject: str = "Invoice 4711", *, attached: bytes = PDF, html: str = "<p>see file</p>") -> bytes:
    made = EmailMessage()
    made["From"] = "Billing <billing@acme.example>"
    made["To"] = "ap@contoso.example"
    made["Subject"] = subject
    made["Message-ID"] = f"<{uuid.uuid4()}@acme.example>"
    made["List-Unsubscribe"] = "<mailto:leave@acme.example>"
    made.set_content("see file")
    made.add_alternative(html, subtype="html")
    made.add_attachment(attached, maintype="application", subtype="pdf", filename="Rechnung ä.pdf")
    return made.as_bytes()


async def whole_round(
    client: MailReader, mailbox: Mailbox, scope: str, position: str | None = None
) -> tuple[list[Change], str]:
    found: list[Change] = []
    page_token: str | None = None
    while True:
        page = await client.list_changes(mailbox, scope, START_AT, position=position, page_token=page_token)
        found += page.changes
        if page.position is not None:
            return found, page.position
        page_token = page.page_token


async def part_bytes(client: MailReader, mailbox: Mailbox, message_id: str) -> dict[str | None, bytes]:
    message = await client.fetch_message(mailbox, message_id, with_parts=True)
    found = {}
    for part in message.parts:
        async with client.open_part(mailbox, message_id, part) as chunks:
            found[part.filename] = b"".join([chunk async for chunk in chunks])
    return found


@pytest.fixture
async def outlook(connect: Connect) -> Mailbox:
    return await connect(Provider.OUTLOOK, "ap@contoso.example", str(uuid.uuid4()))


@pytest.fixture
async def gmail(connect: Connect) -> Mailbox:
    return await connect(Provider.GMAIL, "ap@example.org", str(uuid.uuid4()))


async def test_consent_names_the_mailbox_and_brings_a_grant_that_opens_it(
    providers: Providers, outlook: Mailbox, gmail: Mailbox
) -> None:
    assert (outlook.address, gmail.address) == ("ap@contoso.example", "ap@example.org")
    assert outlook.provider_tenant
    folders = await providers.mail[Provider.OUTLOOK].list_folders(outlook)
    well_known = {folder.well_known for folder in folders}
    assert {"inbox", "drafts", "sentitems", "deleteditems", "junkemail"} <= well_known
    assert Folder("INBOX", "INBOX", "INBOX") in await providers.mail[Provider.GMAIL].list_folders(gmail)


async def test_outlook_round_lists_what_is_there_then_what_is_new_then_what_is_gone(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail[Provider.OUTLOOK]
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


async def test_gmail_history_starts_at_now_and_the_relist_brings_the_rest(
    sandbox: RunningProviders, providers: Providers, gmail: Mailbox
) -> None:
    client = providers.mail[Provider.GMAIL]
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


@pytest.mark.parametrize("provider", list(Provider))
async def test_parts_come_byte_for_byte(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: Provider
) -> None:
    mailbox = await connect(provider, "parts@example.org", str(uuid.uuid4()))
    (message_id,) = await sandbox.control.deliver_mail(mail(), mailbox.address)
    client = providers.mail[provider]
    assert await part_bytes(client, mailbox, message_id) == {"Rechnung ä.pdf": PDF}
    message = await client.fetch_message(mailbox, message_id, with_body=True)
    assert message.html_body is not None
    assert "<p>see file</p>" in message.html_body
    assert [part.kind for part in message.parts] == [PartKind.FILE]


async def test_hint_list_shows_what_was_modified_and_ends(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail[Provider.OUTLOOK]
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
    message = await providers.mail[Provider.OUTLOOK].fetch_message(outlook, message_id)
    assert message.summary.message_id == message_id


async def test_expired_access_token_is_refreshed_once_and_nobody_notices(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail[Provider.OUTLOOK]
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


@pytest.mark.parametrize("provider", list(Provider))
async def test_revoked_grant_is_refused_with_its_generation_and_not_asked_for_again(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: Provider
) -> None:
    mailbox = await connect(provider, "revoked@example.org", str(uuid.uuid4()))
    await sandbox.control.revoke_grants(mailbox.address)
    await sandbox.control.expire_tokens(mailbox.address)
    client = providers.mail[provider]
    scope = "history" if provider is Provider.GMAIL else "inbox"
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


@pytest.mark.parametrize("provider", list(Provider))
async def test_refused_cursor_is_told_from_a_refused_page(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: Provider
) -> None:
    mailbox = await connect(provider, "cursor@example.org", str(uuid.uuid4()))
    client = providers.mail[provider]
    scope = "history" if provider is Provider.GMAIL else "inbox"
    position = (await whole_round(client, mailbox, scope))[1]
    await sandbox.control.set_fault("cursor_refused", where="start")
    with pytest.raises(CursorRefused):
        await client.list_changes(mailbox, scope, START_AT, position=position, page_token=None)
    await sandbox.control.deliver_mail(mail(attached=b"%PDF-"), mailbox.address, times=600)
    page = await client.list_changes(mailbox, scope, START_AT, position=position, page_token=None)
    await sandbox.control.set_fault("cursor_refused", where="middle")
    with pytest.raises((PageTokenRefused, CursorRefused)):
        await client.list_changes(mailbox, scope, START_AT, position=position, page_token=page.page_token)


async def test_provider_that_asks_for_a_pause_gets_it(
    sandbox: RunningProviders, providers: Providers, outlook: Mailbox
) -> None:
    client = providers.mail[Provider.OUTLOOK]
    await sandbox.control.set_fault("unavailable", status=429, retry_after="3.5", times=1)
    with pytest.raises(Throttled) as throttled:
        await client.list_modified(outlook, START_AT)
    assert throttled.value.retry_after_s == 3.5
    await sandbox.control.forget_calls()
    with pytest.raises(Throttled):
        await client.list_modified(outlook, START_AT)
    assert await sandbox.control.list_calls() == []


async def test_watch_is_begun_renewed_and_ended(
    sandbox: RunningProviders, providers: Providers, gmail: Mailbox
) -> None:
    client = providers.push[Provider.GMAIL]
    request = SubscriptionRequest(client_state="", notification_url="", lifecycle_url="", expires_at=datetime.now(UTC))
    for _ in range(2):
        made = await client.create_subscription(gmail, request)
        assert timedelta(days=6) < made.expires_at - datetime.now(UTC) <= timedelta(days=7)
        assert made.history_id is not None
    assert [watch["topic"] for watch in await sandbox.control.list_watches()] == [sandbox.settings.pubsub_topic]
    await client.end_subscription(gmail, made.subscription_id)
    await client.end_subscription(gmail, made.subscription_id)
    assert await sandbox.control.list_watches() == []


@pytest.mark.parametrize("provider", list(Provider))
async def test_observed_mailbox_gives_summaries_and_nothing_else(
    sandbox: RunningProviders, providers: Providers, connect: Connect, provider: Provider
) -> None:
    mailbox = await connect(provider, "seen@example.org", str(uuid.uuid4()), Profile.OBSERVATION)
    (message_id,) = await sandbox.control.deliver_mail(mail(), mailbox.address)
    client = providers.mail[provider]
    message = await client.fetch_message(mailbox, message_id, with_body=True, with_parts=True)
    assert (message.summary.subject, message.parts, message.html_body) == ("Invoice 4711", (), None)
    scope = "relist" if provider is Provider.GMAIL else "inbox"
    changes, _ = await whole_round(client, mailbox, scope)
    assert message_id in {change.message_id for change in changes}


async def test_doc_source_without_a_grant_needs_consent(providers: Providers, outlook: Mailbox) -> None:
    stranger = replace(outlook, doc_source_id=str(uuid.uuid4()))
    with pytest.raises(TokenRefused):
        await providers.tokens.get_access_token(stranger)
