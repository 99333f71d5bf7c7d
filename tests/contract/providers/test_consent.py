import logging
import secrets
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from provider_client_fixtures import PACKAGES, PROVIDER_NAMES, Connect, SignIn

from mailroom_common.errors import MailroomError, ProviderUnavailable, Rejected
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.store import TokenStore
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


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


async def test_consent_that_is_declined_comes_back_as_an_error(sandbox: RunningProviders, sign_in: SignIn) -> None:
    back = await sign_in.consent(sandbox, "ap@contoso.example", accept=False)
    assert back["error"] == ["access_denied"]
    assert "code" not in back


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_token_endpoint_in_trouble_condemns_no_grant(
    sandbox: RunningProviders, providers: Providers, store: TokenStore, connect: Connect, provider: str
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
    for provider, name in (("outlook", "MICROSOFT"), ("gmail", "GOOGLE")):
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
    for provider in PROVIDER_NAMES:
        mailbox = await connect(provider, "ap@example.org", str(uuid.uuid4()))
        client = providers.mail[provider]
        scope = "history" if provider == "gmail" else "inbox"
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
