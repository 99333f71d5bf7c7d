import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from provider_client_fixtures import PACKAGES

from mailroom_common.errors import AccessDenied
from mailroom_common.events import Access, Profile
from mailroom_common.provider_clients import open_providers
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.store import TokenStore
from mailroom_sandbox.provider_doubles.google.oauth import SERVICE_ACCOUNT_FILE
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


async def test_service_account_reads_the_mailbox_of_its_domain(
    sandbox: RunningProviders, provider_settings: ProviderSettings, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.control.find_or_create_mailbox("gmail", "ap@example.org")
    monkeypatch.setenv(
        "MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY",
        (sandbox.settings.state / SERVICE_ACCOUNT_FILE).read_text(encoding="utf-8"),
    )
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider="gmail",
        access=Access.APPLICATION,
        profile=Profile.INVOICE,
        address="ap@example.org",
    )
    async with open_providers(PACKAGES, load_settings(ProviderSettings), store) as opened:
        client = opened.mail["gmail"]
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
