import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import uvicorn
from provider_client_fixtures import (
    Connect,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mailroom_common.errors import (
    ItemGone,
    ProviderUnavailable,
)
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import Mailbox, SubscriptionRequest
from mailroom_sandbox.testkit.running_providers import RunningProviders, find_free_ports

pytestmark = pytest.mark.stack


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
    (port,) = find_free_ports(1)
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
    made = await providers.push["outlook"].create_subscription(
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
    mailbox = await connect("outlook", "ap@contoso.example", str(uuid.uuid4()))
    client = providers.push["outlook"]
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
    mailbox = await connect("outlook", "ap@contoso.example", str(uuid.uuid4()))
    webhook.is_wrong = True
    with pytest.raises(ProviderUnavailable, match="MAILROOM_PUBLIC_URL"):
        await subscribe(providers, mailbox, webhook)
    webhook.is_wrong = False
    assert await subscribe(providers, mailbox, webhook)
