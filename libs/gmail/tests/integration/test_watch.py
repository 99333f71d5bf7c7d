from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import Mailbox, SubscriptionRequest
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


async def test_watch_is_begun_renewed_and_ended(
    sandbox: RunningProviders, providers: Providers, gmail: Mailbox
) -> None:
    client = providers.push["gmail"]
    request = SubscriptionRequest(client_state="", notification_url="", lifecycle_url="", expires_at=datetime.now(UTC))
    for _ in range(2):
        made = await client.create_subscription(gmail, request)
        assert timedelta(days=6) < made.expires_at - datetime.now(UTC) <= timedelta(days=7)
        assert made.history_id is not None
    assert [watch["topic"] for watch in await sandbox.control.list_watches()] == [sandbox.settings.pubsub_topic]
    await client.end_subscription(gmail, made.subscription_id)
    await client.end_subscription(gmail, made.subscription_id)
    assert await sandbox.control.list_watches() == []
