import uuid

import pytest
from provider_client_fixtures import Connect, SignIn

from mailroom_common.errors import MailroomError, Rejected
from mailroom_common.provider_clients import Providers
from mailroom_common.tokens.store import TokenStore
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


async def test_reading_that_was_not_granted_is_rejected(sandbox: RunningProviders, providers: Providers) -> None:
    await sandbox.control.find_or_create_mailbox("gmail", "ap@example.org")
    sign_in = SignIn(providers, "gmail")
    scope = "https://www.googleapis.com/auth/gmail.readonly"
    (code,) = (await sign_in.consent(sandbox, "ap@example.org", without=[scope]))["code"]
    with pytest.raises(Rejected, match=r"gmail\.readonly was not given"):
        await sign_in.exchange(code)


async def test_revocation_at_google_ends_the_grant_and_tolerates_that_it_is_gone(
    providers: Providers, store: TokenStore, connect: Connect
) -> None:
    mailbox = await connect("gmail", "ap@example.org", str(uuid.uuid4()))
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.tokens.refresh_token is not None
    side = providers.consent["gmail"]
    await side.revoke_grant(grant.tokens.refresh_token)
    await side.revoke_grant(grant.tokens.refresh_token)
    with pytest.raises(MailroomError):
        await providers.tokens.get_access_token(mailbox, rejected=grant.tokens.access_token)
