"""The life of a connection over the sandbox's providers, real Kafka and real Postgres."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from manager_site import ManagerSite, manager_site

from mailroom_common.topics import DOC_SOURCES, SYNC_REQUESTS

pytestmark = pytest.mark.stack


@pytest.fixture
async def site(tmp_path: Path, kafka_bootstrap: str, postgres_server_url: str) -> AsyncIterator[ManagerSite]:
    async with manager_site(tmp_path, kafka_bootstrap, postgres_server_url) as site:
        await site.providers.control.create_mailbox("outlook", "ada@contoso.example")
        await site.providers.control.create_mailbox("gmail", "ada@gmail.example")
        yield site


async def test_connected_outlook_mailbox_gets_a_subscription(site: ManagerSite) -> None:
    async with site.instance():
        made = await site.make("outlook")
        assert (made["state"], made["connection_status"], made["connection_reason"]) == (
            "pending",
            None,
            "authorization_pending",
        )
        done = await site.consent(made["authorize_url"], "ada@contoso.example")
        assert "ada@contoso.example" in done.text
        shown = await site.until(made["id"], subscription_expires_at=bool)
        assert (shown["state"], shown["connection_status"], shown["address"]) == (
            "active",
            "active",
            "ada@contoso.example",
        )
        (subscription,) = await site.providers.control.subscriptions()
        print(subscription)
    print(await site.records(DOC_SOURCES))
    print(await site.records(SYNC_REQUESTS))


async def test_connected_gmail_mailbox_gets_a_watch(site: ManagerSite) -> None:
    async with site.instance():
        doc_source_id = await site.connect("gmail", "ada@gmail.example")
        await site.until(doc_source_id, subscription_expires_at=bool)
        print(await site.providers.control.watches())
