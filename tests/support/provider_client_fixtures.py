"""Fixtures for `conftest.py`: our clients against the sandbox's providers over TLS, with grants in a real Postgres."""

import base64
import hashlib
import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from migrated_databases import migrate_once

import mailroom_gmail
import mailroom_outlook
from mailroom_common.events import Access, Profile
from mailroom_common.postgres import open_pool
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Change, Grant, Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredTokens, TokenStore
from mailroom_sandbox.provider_doubles.client import answer_consent_page
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders, running_providers

PACKAGES = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"

PROVIDER_NAMES = ("outlook", "gmail")
START_AT = datetime.now(UTC) - timedelta(days=1)
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 4000

Connect = Callable[..., Awaitable[Mailbox]]


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[TokenStore]:
    await migrate_once(postgres_url, "mailroom_tokens")
    async with open_pool(postgres_url, application_name="tokens-test", max_size=4) as pool:
        yield TokenStore(pool, SealingKeys.parse_keys(KEYS), url=postgres_url)


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[RunningProviders]:
    async with running_providers(tmp_path / "providers") as running:
        yield running


@pytest.fixture
def provider_settings(sandbox: RunningProviders, monkeypatch: pytest.MonkeyPatch) -> ProviderSettings:
    for name, value in sandbox.mailroom_environment().items():
        monkeypatch.setenv(name, value)
    return load_settings(ProviderSettings)


@pytest.fixture
async def providers(provider_settings: ProviderSettings, store: TokenStore) -> AsyncIterator[Providers]:
    async with open_providers(PACKAGES, provider_settings, store) as opened:
        yield opened


@pytest.fixture
def connect(sandbox: RunningProviders, providers: Providers, store: TokenStore) -> Connect:
    """Creates the mailbox at the provider and connects it as a person would; gives what a worker is given."""

    async def connected(provider: str, address: str, doc_source_id: str, profile: Profile = Profile.INVOICE) -> Mailbox:
        if (provider, address) not in {
            (box["provider"], box["address"]) for box in await sandbox.control.list_mailboxes()
        }:
            await sandbox.control.find_or_create_mailbox(provider, address)
        side = providers.consent[provider]
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        redirect_uri = next(uri for uri in REDIRECT_URIS if provider in uri)
        page = await side.build_authorize_url(
            None,
            profile=profile,
            redirect_uri=redirect_uri,
            state="state-1",
            nonce=nonce,
            code_challenge=challenge,
            login_hint=None,
        )
        back = parse_qs(urlsplit(await answer_consent_page(sandbox.http, page, account=address)).query)
        assert back["state"] == ["state-1"]
        grant = await side.exchange_code(
            None,
            profile=profile,
            code=back["code"][0],
            redirect_uri=redirect_uri,
            code_verifier=verifier,
            nonce=nonce,
        )
        account = await side.identify_account(None, grant)
        tokens = StoredTokens(grant.access_token, grant.refresh_token, grant.expires_at)
        generation = await store.put_grant(doc_source_id, provider, account.user_id, tokens, grant.scopes)
        return Mailbox(
            doc_source_id=doc_source_id,
            provider=provider,
            access=Access.DELEGATED,
            profile=profile,
            address=account.address,
            provider_user_id=account.user_id,
            provider_tenant=account.tenant,
            grant_generation=generation,
        )

    return connected


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
    return await connect("outlook", "ap@contoso.example", str(uuid.uuid4()))


@pytest.fixture
async def gmail(connect: Connect) -> Mailbox:
    return await connect("gmail", "ap@example.org", str(uuid.uuid4()))


@dataclass
class SignIn:
    """One sign-in up to the code, with what a browser and the provider were told."""

    providers: Providers
    provider: str
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
        back = await answer_consent_page(sandbox.http, page, account=address, without_scopes=without, accept=accept)
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


@pytest.fixture(params=PROVIDER_NAMES)
async def sign_in(request: pytest.FixtureRequest, sandbox: RunningProviders, providers: Providers) -> SignIn:
    await sandbox.control.find_or_create_mailbox(request.param, "ap@contoso.example")
    return SignIn(providers, request.param)
