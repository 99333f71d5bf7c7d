"""Consent, application access and subscriptions: what is checked before a grant or a mailbox is believed."""

import asyncio
import base64
import hashlib
import logging
import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import mailroom_gmail
import mailroom_outlook
from mailroom_common.errors import AccessDenied, ItemGone, MailroomError, ProviderUnavailable, Rejected
from mailroom_common.events import Access, Profile, Provider
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.providers.types import Grant, Mailbox, SubscriptionRequest
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.store import TokenStore
from mailroom_sandbox.provider_doubles.client import decide
from mailroom_sandbox.provider_doubles.google.service_account import FILE_NAME
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders, free_ports

pytestmark = pytest.mark.stack

PACKAGES = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
Connect = Callable[..., Awaitable[Mailbox]]


@dataclass
class SignIn:
    """One sign-in up to the code, with what a browser and the provider were told."""

    providers: Providers
    provider: Provider
    profile: Profile = Profile.INVOICE
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def redirect_uri(self) -> str:
        return next(uri for uri in REDIRECT_URIS if self.provider in uri)

    async def consent(
        self, sandbox: RunningProviders, address: str, *, without: Sequence[str] = (), accept: bool = True
    ) -> dict[str, list[str]]:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        page = await self.providers.consent[self.provider].build_authorize_url(
            None,
            profile=self.profile,
            redirect_uri=self.redirect_uri,
            state="s",
            nonce=self.nonce,
            code_challenge=challenge,
            login_hint=address,
        )
        back = await decide(sandbox.http, page, account=address, without_scopes=without, accept=accept)
        return parse_qs(urlsplit(back).query)

    async def exchange(self, code: str, *, verifier: str | None = None, nonce: str | None = None) -> Grant:
        return await self.providers.consent[self.provider].exchange_code(
            None,
            profile=self.profile,
            code=code,
            redirect_uri=self.redirect_uri,
            code_verifier=verifier or self.verifier,
            nonce=nonce or self.nonce,
        )


@pytest.fixture(params=list(Provider))
async def sign_in(request: pytest.FixtureRequest, sandbox: RunningProviders, providers: Providers) -> SignIn:
    await sandbox.control.create_mailbox(request.param, "ap@contoso.example")
    return SignIn(providers, request.param)


async def test_code_is_not_redeemed_with_another_verifier(sandbox: RunningProviders, sign_in: SignIn) -> None:
    (code,) = (await sign_in.consent(sandbox, "ap@contoso.example"))["code"]
    with pytest.raises(Rejected, match="invalid_grant"):
        await sign_in.exchange(code, verifier=secrets.token_urlsafe(48))


async def test_id_token_of_another_sign_in_is_rejected(sandbox: RunningProviders, sign_in: SignIn) -> None:
    (code,) = (await sign_in.consent(sandbox, "ap@contoso.example"))["code"]
    with pytest.raises(Rejected) as rejected:
        await sign_in.exchange(code, nonce="another")
    assert sign_in.nonce not in str(rejected.value)


async def test_code_is_redeemed_once(sandbox: RunningProviders, sign_in: SignIn) -> None:
    (code,) = (await sign_in.consent(sandbox, "ap@contoso.example"))["code"]
    grant = await sign_in.exchange(code)
    assert grant.refresh_token
    assert grant.expires_at > datetime.now(UTC) + timedelta(minutes=30)
    with pytest.raises(Rejected):
        await sign_in.exchange(code)


async def test_reading_that_was_not_granted_is_rejected(sandbox: RunningProviders, providers: Providers) -> None:
    await sandbox.control.create_mailbox(Provider.GMAIL, "ap@example.org")
    sign_in = SignIn(providers, Provider.GMAIL)
    scope = "https://www.googleapis.com/auth/gmail.readonly"
    (code,) = (await sign_in.consent(sandbox, "ap@example.org", without=[scope]))["code"]
    with pytest.raises(Rejected, match=r"gmail\.readonly was not given"):
        await sign_in.exchange(code)


async def test_consent_that_is_declined_comes_back_as_an_error(sandbox: RunningProviders, sign_in: SignIn) -> None:
    back = await sign_in.consent(sandbox, "ap@contoso.example", accept=False)
    assert back["error"] == ["access_denied"]
    assert "code" not in back


@pytest.mark.parametrize("provider", list(Provider))
async def test_token_endpoint_in_trouble_condemns_no_grant(
    sandbox: RunningProviders, providers: Providers, store: TokenStore, connect: Connect, provider: Provider
) -> None:
    mailbox = await connect(provider, "ap@example.org", str(uuid.uuid4()))
    token = await providers.tokens.get_access_token(mailbox)
    await sandbox.control.set_fault("unavailable", status=503, retry_after="2", times=1)
    with pytest.raises(ProviderUnavailable):
        await providers.tokens.get_access_token(mailbox, rejected=token)
    assert await providers.tokens.get_access_token(mailbox, rejected=token) != token


async def test_wrong_client_secret_names_the_setting_and_condemns_nobody(
    sandbox: RunningProviders,
    providers: Providers,
    provider_settings: ProviderSettings,
    store: TokenStore,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for provider, name in ((Provider.OUTLOOK, "MICROSOFT"), (Provider.GMAIL, "GOOGLE")):
        mailbox = await connect(provider, "ap@example.org", str(uuid.uuid4()))
        monkeypatch.setenv(f"MAILROOM_{name}_CLIENT_SECRET", "canary-wrong")
        async with open_providers(PACKAGES, load_settings(ProviderSettings), store) as mistaken:
            with pytest.raises(ProviderUnavailable, match=f"MAILROOM_{name}_CLIENT_SECRET") as caught:
                await mistaken.tokens.get_access_token(
                    mailbox, rejected=await providers.tokens.get_access_token(mailbox)
                )
        assert "canary" not in str(caught.value)
        grant = await store.read_grant(mailbox.doc_source_id)
        assert grant is not None
        assert grant.refused_at is None


async def test_revocation_at_google_ends_the_grant_and_tolerates_that_it_is_gone(
    providers: Providers, store: TokenStore, connect: Connect
) -> None:
    mailbox = await connect(Provider.GMAIL, "ap@example.org", str(uuid.uuid4()))
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.tokens.refresh_token is not None
    side = providers.consent[Provider.GMAIL]
    await side.revoke_grant(grant.tokens.refresh_token)
    await side.revoke_grant(grant.tokens.refresh_token)
    with pytest.raises(MailroomError):
        await providers.tokens.get_access_token(mailbox, rejected=grant.tokens.access_token)


async def test_application_reads_a_mailbox_of_its_tenant_without_a_user(
    sandbox: RunningProviders, providers: Providers
) -> None:
    await sandbox.control.create_mailbox(Provider.OUTLOOK, "trades@contoso.example")
    tenant = sandbox.state.store.one("select tenant_id from mailbox where address = ?", "trades@contoso.example")
    assert tenant is not None
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider=Provider.OUTLOOK,
        access=Access.APPLICATION,
        profile=Profile.CONTRACT_NOTE,
        address="trades@contoso.example",
        provider_tenant=tenant["tenant_id"],
    )
    client = providers.mail[Provider.OUTLOOK]
    assert "inbox" in {folder.well_known for folder in await client.list_folders(mailbox)}
    await sandbox.control.expire_tokens()
    assert await client.list_folders(mailbox)
    asked = [call for call in await sandbox.control.calls() if call["path"].endswith("/token")]
    assert len(asked) == 2
    with pytest.raises(AccessDenied):
        await client.list_folders(replace(mailbox, provider_tenant=str(uuid.uuid4())))
    with pytest.raises(AccessDenied):
        await client.list_folders(replace(mailbox, provider_tenant=None))


async def test_service_account_reads_the_mailbox_of_its_domain(
    sandbox: RunningProviders, provider_settings: ProviderSettings, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.control.create_mailbox(Provider.GMAIL, "ap@example.org")
    monkeypatch.setenv(
        "MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY", (sandbox.settings.state / FILE_NAME).read_text(encoding="utf-8")
    )
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider=Provider.GMAIL,
        access=Access.APPLICATION,
        profile=Profile.INVOICE,
        address="ap@example.org",
    )
    async with open_providers(PACKAGES, load_settings(ProviderSettings), store) as opened:
        client = opened.mail[Provider.GMAIL]
        page = await client.list_changes(mailbox, "history", datetime.now(UTC), position=None, page_token=None)
        assert page.position is not None
        with pytest.raises(AccessDenied):
            await client.list_changes(
                replace(mailbox, address="nobody@example.org"),
                "history",
                datetime.now(UTC),
                position=None,
                page_token=None,
            )


@dataclass
class Webhook:
    """An endpoint that answers Graph's handshake, or does not."""

    url: str
    is_wrong: bool = False
    validated: int = 0

    async def answer(self, request: Request) -> Response:
        self.validated += 1
        token = "wrong" if self.is_wrong else request.query_params["validationToken"]
        return PlainTextResponse(token)


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    (port,) = free_ports(1)
    hook = Webhook(f"http://127.0.0.1:{port}/hook")
    async with serving(Starlette(routes=[Route("/hook", hook.answer, methods=["POST"])]), port):
        yield hook


@asynccontextmanager
async def serving(app: Starlette, port: int) -> AsyncIterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    task = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await task


async def subscribe(providers: Providers, mailbox: Mailbox, webhook: Webhook) -> str:
    made = await providers.push[Provider.OUTLOOK].create_subscription(
        mailbox,
        SubscriptionRequest(
            client_state=f"{mailbox.doc_source_id}:canary",
            notification_url=webhook.url,
            lifecycle_url=webhook.url,
            expires_at=datetime.now(UTC) + timedelta(days=30),
        ),
    )
    assert made.expires_at < datetime.now(UTC) + timedelta(days=7)
    return made.subscription_id


async def test_subscription_lives_from_its_handshake_to_its_end(
    sandbox: RunningProviders, providers: Providers, connect: Connect, webhook: Webhook
) -> None:
    mailbox = await connect(Provider.OUTLOOK, "ap@contoso.example", str(uuid.uuid4()))
    client = providers.push[Provider.OUTLOOK]
    subscription_id = await subscribe(providers, mailbox, webhook)
    assert webhook.validated == 2
    assert [one.subscription_id for one in await client.list_subscriptions(mailbox)] == [subscription_id]
    renewed = await client.renew_subscription(mailbox, subscription_id, datetime.now(UTC) + timedelta(days=1))
    assert renewed.expires_at < datetime.now(UTC) + timedelta(days=2)
    looked_up = await client.get_subscription(mailbox, subscription_id)
    assert looked_up is not None
    assert looked_up.expires_at == renewed.expires_at
    await client.end_subscription(mailbox, subscription_id)
    assert await client.get_subscription(mailbox, subscription_id) is None
    await client.end_subscription(mailbox, subscription_id)
    assert await client.list_subscriptions(mailbox) == []
    with pytest.raises(ItemGone):
        await client.renew_subscription(mailbox, subscription_id, datetime.now(UTC) + timedelta(days=1))


async def test_webhook_that_answers_the_handshake_wrongly_may_do_better_later(
    providers: Providers, connect: Connect, webhook: Webhook
) -> None:
    mailbox = await connect(Provider.OUTLOOK, "ap@contoso.example", str(uuid.uuid4()))
    webhook.is_wrong = True
    with pytest.raises(ProviderUnavailable, match="MAILROOM_PUBLIC_URL"):
        await subscribe(providers, mailbox, webhook)
    webhook.is_wrong = False
    assert await subscribe(providers, mailbox, webhook)


async def test_no_token_and_no_secret_reaches_a_log_or_an_error(
    sandbox: RunningProviders,
    providers: Providers,
    store: TokenStore,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    seen: set[str] = set()
    for provider in Provider:
        mailbox = await connect(provider, "ap@example.org", str(uuid.uuid4()))
        client = providers.mail[provider]
        scope = "history" if provider is Provider.GMAIL else "inbox"
        await client.list_changes(mailbox, scope, datetime.now(UTC), position=None, page_token=None)
        await sandbox.control.expire_tokens(mailbox.address)
        await client.list_changes(mailbox, scope, datetime.now(UTC), position=None, page_token=None)
        grant = await store.read_grant(mailbox.doc_source_id)
        assert grant is not None
        seen |= {grant.tokens.access_token, str(grant.tokens.refresh_token)}
        texts.append(repr(grant))
        await sandbox.control.revoke_grants(mailbox.address)
        await sandbox.control.expire_tokens(mailbox.address)
        with pytest.raises(MailroomError) as caught:
            await client.list_changes(mailbox, scope, datetime.now(UTC), position=None, page_token=None)
        texts.append("".join(logging.Formatter().formatException((type(caught.value), caught.value, caught.tb))))
    seen |= {sandbox.settings.microsoft_client_secret.get_secret_value()}
    seen |= {sandbox.settings.google_client_secret.get_secret_value()}
    texts += [record.getMessage() for record in caplog.records if record.name != "httpcore.http11"]
    assert not [text for text in texts if any(secret in text for secret in seen)]
