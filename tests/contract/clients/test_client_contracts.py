import base64
import hashlib
import secrets
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import CursorRefused, ItemGone, MailroomError, ProviderUnavailable
from mailroom_common.events import Access, Profile
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, SubscriptionRequest
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_gmail.consent import GoogleIdentity
from mailroom_gmail.mail import GmailMail
from mailroom_gmail.settings import GmailSettings
from mailroom_gmail.watch import GmailWatch
from mailroom_outlook.consent import MicrosoftIdentity
from mailroom_outlook.mail import GraphMail
from mailroom_outlook.settings import OutlookSettings
from mailroom_outlook.subscriptions import GraphSubscriptions
from mailroom_sandbox.provider_doubles.client import answer_consent_page
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders

ADDRESS = "ap@contoso.example"
START_AT = datetime.now(UTC) - timedelta(days=1)


async def signed_in(
    sandbox: RunningProviders, side: MicrosoftIdentity | GoogleIdentity, profile: Profile = Profile.INVOICE
) -> tuple[Mailbox, str]:
    await sandbox.control.find_or_create_mailbox(side.traits.name, ADDRESS)
    verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
    redirect_uri = next(uri for uri in REDIRECT_URIS if side.traits.name in uri)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    page = await side.build_authorize_url(
        None,
        profile=profile,
        redirect_uri=redirect_uri,
        state="s",
        nonce=nonce,
        code_challenge=challenge,
        login_hint=ADDRESS,
    )
    code = parse_qs(urlsplit(await answer_consent_page(sandbox.http, page, account=ADDRESS)).query)["code"][0]
    grant = await side.exchange_code(
        None, profile=profile, code=code, redirect_uri=redirect_uri, code_verifier=verifier, nonce=nonce
    )
    account = await side.identify_account(None, grant)
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider=side.traits.name,
        access=Access.DELEGATED,
        profile=profile,
        address=account.address,
        provider_user_id=account.user_id,
    )
    return mailbox, grant.access_token


def mails() -> list[bytes]:
    """A document, a nested mail, and a picture that only the body shows."""
    plain = EmailMessage()
    plain["From"], plain["To"], plain["Subject"] = "Billing <billing@acme.example>", ADDRESS, "Invoice 1"
    plain.set_content("see file")
    plain.add_attachment(b"%PDF-1.7" * 9000, maintype="application", subtype="pdf", filename="a.pdf")
    nested = EmailMessage()
    nested["From"], nested["To"], nested["Subject"] = "jane@acme.example", ADDRESS, "Fwd: Invoice 1"
    nested.set_content("see mail")
    nested.add_attachment(plain)
    shown = EmailMessage()
    shown["From"], shown["To"], shown["Subject"] = "jane@acme.example", ADDRESS, "Hello"
    shown.set_content("hello")
    shown.add_alternative('<p><img src="cid:logo"></p>', subtype="html")
    shown.get_payload()[1].add_related(b"\x89PNG", "image", "png", cid="<logo>")  # type: ignore[index,union-attr] # a Message
    return [plain.as_bytes(), nested.as_bytes(), shown.as_bytes()]


async def read_all(client: MailReader, mailbox: Mailbox, message_ids: list[str]) -> None:
    for message_id in message_ids:
        message = await client.fetch_message(mailbox, message_id, with_body=True, with_parts=True)
        for part in message.parts:
            try:
                async with client.open_part(mailbox, message_id, part) as chunks:
                    assert [chunk async for chunk in chunks]
            except ItemGone:
                assert part.handle is None


async def whole_round(client: MailReader, mailbox: Mailbox, scope: str, position: str | None = None) -> str:
    page_token: str | None = None
    while True:
        page = await client.list_changes(mailbox, scope, START_AT, position=position, page_token=page_token)
        if page.position is not None:
            return page.position
        page_token = page.page_token


@pytest.mark.parametrize("profile", [Profile.INVOICE, Profile.OBSERVATION])
async def test_what_graph_is_asked_and_answers_is_in_its_contract(
    sandbox: RunningProviders,
    provider_settings: ProviderSettings,
    http: httpx.AsyncClient,
    recorder: Any,
    one_token: Any,
    graph_contract: Any,
    profile: Profile,
) -> None:
    side = MicrosoftIdentity(load_settings(OutlookSettings), provider_settings, http)
    mailbox, token = await signed_in(sandbox, side, profile)
    recorder.exchanges.clear()
    parts = (http, BaseURL(load_settings(OutlookSettings).graph_url), one_token(token), Quota(slots=4))
    client, subscriptions = GraphMail(*parts), GraphSubscriptions(*parts)
    inbox = next(folder for folder in await client.list_folders(mailbox) if folder.well_known == "inbox")
    ids = [(await sandbox.control.deliver_mail(source, ADDRESS))[0] for source in mails()]
    position = await whole_round(client, mailbox, inbox.folder_id)
    await client.list_modified(mailbox, START_AT)
    await client.list_received(mailbox, inbox.folder_id, START_AT, datetime.now(UTC))
    await read_all(client, mailbox, ids)
    await sandbox.control.delete_message(ADDRESS, ids[0])
    position = await whole_round(client, mailbox, inbox.folder_id, position)
    with pytest.raises(ItemGone):
        await client.fetch_message(mailbox, ids[0])
    await sandbox.control.refuse_cursors(ADDRESS)
    with pytest.raises(CursorRefused):
        await whole_round(client, mailbox, inbox.folder_id, position)
    with pytest.raises(ProviderUnavailable):  # nobody answers the handshake
        await subscriptions.create_subscription(
            mailbox,
            SubscriptionRequest(
                client_state="s:1",
                notification_url="http://127.0.0.1:1/x",
                lifecycle_url="http://127.0.0.1:1/x",
                expires_at=datetime.now(UTC) + timedelta(days=2),
            ),
        )
    assert await subscriptions.list_subscriptions(mailbox) == []
    with pytest.raises(ItemGone):
        await subscriptions.renew_subscription(mailbox, str(uuid.uuid4()), datetime.now(UTC) + timedelta(days=2))
    assert await subscriptions.get_subscription(mailbox, str(uuid.uuid4())) is None
    await subscriptions.end_subscription(mailbox, str(uuid.uuid4()))
    await sandbox.control.expire_tokens(ADDRESS)
    with pytest.raises(MailroomError):
        await client.list_modified(mailbox, START_AT)
    problems = Counter(problem for exchange in recorder.exchanges for problem in graph_contract.problems(exchange))
    assert problems == {}
    assert {exchange.status_code for exchange in recorder.exchanges} >= {200, 400, 401, 404, 410}


@pytest.mark.parametrize("profile", [Profile.INVOICE, Profile.OBSERVATION])
async def test_what_gmail_is_asked_and_answers_is_in_its_contract(
    sandbox: RunningProviders,
    provider_settings: ProviderSettings,
    http: httpx.AsyncClient,
    recorder: Any,
    one_token: Any,
    gmail_contract: Any,
    profile: Profile,
) -> None:
    settings = load_settings(GmailSettings)
    side = GoogleIdentity(settings, http)
    mailbox, token = await signed_in(sandbox, side, profile)
    recorder.exchanges.clear()
    quota = Quota(slots=8, mailbox_limit=UnitLimit(6000))
    parts = (http, BaseURL(settings.gmail_url), one_token(token), quota)
    client, watches = GmailMail(*parts), GmailWatch(*parts, topic=settings.pubsub_topic)
    request = SubscriptionRequest(client_state="", notification_url="", lifecycle_url="", expires_at=datetime.now(UTC))
    made = await watches.create_subscription(mailbox, request)
    assert "INBOX" in {folder.well_known for folder in await client.list_folders(mailbox)}
    position = await whole_round(client, mailbox, "history")
    ids = [(await sandbox.control.deliver_mail(source, ADDRESS))[0] for source in mails()]
    await whole_round(client, mailbox, "relist")
    position = await whole_round(client, mailbox, "history", position)
    await read_all(client, mailbox, ids)
    await sandbox.control.delete_message(ADDRESS, ids[0])
    position = await whole_round(client, mailbox, "history", position)
    with pytest.raises(ItemGone):
        await client.fetch_message(mailbox, ids[0])
    await sandbox.control.refuse_cursors(ADDRESS)
    with pytest.raises(CursorRefused):
        await whole_round(client, mailbox, "history", position)
    await watches.end_subscription(mailbox, made.subscription_id)
    problems = Counter(problem for exchange in recorder.exchanges for problem in gmail_contract.problems(exchange))
    assert problems == {}
    assert {exchange.status_code for exchange in recorder.exchanges} >= {200, 404}


def test_a_call_that_is_not_described_is_told(graph_contract: Any, gmail_contract: Any) -> None:
    request = httpx.Request("GET", "https://graph.example/v1.0/users/u/messages?$nonsense=1")
    answer = httpx.Response(200, json={"value": [{"isRead": "yes"}]}, request=request)
    assert len(graph_contract.problems(answer)) == 2
    unknown = httpx.Response(200, request=httpx.Request("GET", "https://graph.example/v1.0/nothing"))
    assert len(graph_contract.problems(unknown)) == 1
    wrong = httpx.Response(
        200, json={"historyId": 1, "surprise": 1}, request=httpx.Request("GET", "https://x/gmail/v1/users/me/profile")
    )
    (problem,) = gmail_contract.problems(wrong)
    assert "surprise" in problem
    assert "historyId" in problem
