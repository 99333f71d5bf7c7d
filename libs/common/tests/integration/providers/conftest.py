"""Our clients against the sandbox's providers over TLS, with grants in a real Postgres."""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import mailroom_gmail
import mailroom_outlook
from mailroom_common.events import Access, Profile, Provider
from mailroom_common.migrations import apply_migrations
from mailroom_common.postgres import open_pool
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredTokens, TokenStore
from mailroom_sandbox.provider_doubles.client import decide
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders, running_providers

PACKAGES = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"

Connect = Callable[..., Awaitable[Mailbox]]


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[TokenStore]:
    await apply_migrations(postgres_url, {"mailroom_tokens"})
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

    async def connected(
        provider: Provider, address: str, doc_source_id: str, profile: Profile = Profile.INVOICE
    ) -> Mailbox:
        if (provider, address) not in {(box["provider"], box["address"]) for box in await sandbox.control.mailboxes()}:
            await sandbox.control.create_mailbox(provider, address)
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
        back = parse_qs(urlsplit(await decide(sandbox.http, page, account=address)).query)
        assert back["state"] == ["state-1"]
        grant = await side.exchange_code(
            None,
            profile=profile,
            code=back["code"][0],
            redirect_uri=redirect_uri,
            code_verifier=verifier,
            nonce=nonce,
        )
        account = await side.identify_account(grant)
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
