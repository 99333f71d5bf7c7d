from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest

from mailroom_common.errors import ItemGone
from mailroom_common.events import Access, Profile
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, SubscriptionRequest
from mailroom_outlook.subscriptions import GraphSubscriptions

BASE = "https://graph.example/v1.0"


@pytest.fixture
def subscriptions(http: httpx.AsyncClient, tokens: Any) -> GraphSubscriptions:
    return GraphSubscriptions(http, BaseURL(BASE), tokens, Quota(slots=4))


def subscription(**more: object) -> dict[str, object]:
    return {
        "id": "sub-1",
        "resource": "Users/user-1/Messages",
        "changeType": "created",
        "notificationUrl": "https://mailroom.example/webhooks/outlook",
        "lifecycleNotificationUrl": None,
        "expirationDateTime": "2026-12-04T00:00:00.0000000Z",
        "clientState": None,
        **more,
    }


async def create(subscriptions: GraphSubscriptions, mailbox: Mailbox, expires_at: datetime) -> Any:
    return await subscriptions.create_subscription(
        mailbox,
        SubscriptionRequest(
            client_state="0b7c5a8e:random-canary",
            notification_url="https://mailroom.example/webhooks/outlook",
            lifecycle_url="https://mailroom.example/webhooks/outlook/lifecycle",
            expires_at=expires_at,
        ),
    )


async def test_subscription_is_for_created_of_the_whole_mailbox_and_not_longer_than_graph_grants(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(
        httpx.Response(201, json=subscription(clientState="0b7c5a8e:random-canary")),
        httpx.Response(201, json=subscription()),
    )
    asked_at = datetime.now(UTC)
    made = await create(subscriptions, outlook, asked_at + timedelta(days=30))
    await create(subscriptions, replace(outlook, profile=Profile.OBSERVATION), asked_at + timedelta(days=1))
    first, second = (orjson.loads(request.content) for request in wire.requests)
    assert (first["changeType"], second["changeType"]) == ("created", "created,updated,deleted")
    assert first["resource"] == "/users/user-1/messages"
    asked = datetime.fromisoformat(first["expirationDateTime"])
    assert asked <= datetime.now(UTC) + timedelta(minutes=10_000)
    assert made.expires_at == datetime(2026, 12, 4, tzinfo=UTC)
    assert made.doc_source_id == "0b7c5a8e"
    assert "canary" not in repr(made)


async def test_duplicate_subscription_is_ended_and_created_again(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    elsewhere = subscription(id="sub-elsewhere", notificationUrl="https://elsewhere.example/webhooks")
    other = subscription(id="sub-other", clientState="another-doc-source:canary")
    own = subscription(id="sub-own", clientState=f"{outlook.doc_source_id}:canary")
    wire.plays(
        httpx.Response(409, json={"error": {"code": "", "message": "Subscription Id sub-1 already exists"}}),
        httpx.Response(200, json={"value": [subscription(), elsewhere, other, own]}),
        httpx.Response(204),
        httpx.Response(204),
        httpx.Response(201, json=subscription(id="sub-2")),
    )
    made = await create(subscriptions, outlook, datetime.now(UTC) + timedelta(days=1))
    assert made.subscription_id == "sub-2"
    deleted = [request.url.path for request in wire.requests if request.method == "DELETE"]
    assert deleted == ["/v1.0/subscriptions/sub-1", "/v1.0/subscriptions/sub-own"]


async def test_renewal_of_a_subscription_that_is_gone_says_so_and_its_end_is_tolerated(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    gone = httpx.Response(404, json={"error": {"code": "ResourceNotFound", "message": "The object was not found."}})
    wire.plays(gone, gone)
    with pytest.raises(ItemGone):
        await subscriptions.renew_subscription(outlook, "sub-1", datetime.now(UTC))
    await subscriptions.end_subscription(outlook, "sub-1")


async def test_list_of_a_whole_tenant_shows_only_this_mailbox(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(
        httpx.Response(
            200,
            json={
                "value": [
                    subscription(),
                    subscription(id="me", resource="/me/messages"),
                    subscription(id="theirs", resource="/users/user-2/messages"),
                    subscription(id="calendar", resource="/users/user-1/events"),
                ],
                "@odata.nextLink": f"{BASE}/subscriptions?$skiptoken=1",
            },
        ),
        httpx.Response(200, json={"value": [subscription(id="late", resource="/users/AP@contoso.example/messages")]}),
    )
    listed = await subscriptions.list_subscriptions(outlook)
    assert [entry.subscription_id for entry in listed] == ["sub-1", "me", "late"]


async def test_listing_is_asked_once_for_all_mailboxes_of_a_tenant_and_each_time_for_a_users_own(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    asked_after = datetime.now(UTC) - timedelta(minutes=10)
    listing = httpx.Response(
        200, json={"value": [subscription(), subscription(id="two", resource="/users/2/messages")]}
    )
    application = replace(outlook, access=Access.APPLICATION, provider_tenant="tenant-1")
    for mailbox in (application, replace(application, provider_user_id="2")):
        wire.plays(listing)
        await subscriptions.list_subscriptions(mailbox, asked_after=asked_after)
    assert len(wire.requests) == 1
    for count in (2, 3):
        wire.plays(listing)
        await subscriptions.list_subscriptions(replace(outlook, access=Access.DELEGATED), asked_after=asked_after)
        assert len(wire.requests) == count
    wire.plays(listing)
    await subscriptions.list_subscriptions(application)
    assert len(wire.requests) == 4, "without a time it is asked now"


async def test_a_subscription_is_looked_up_by_its_id_and_is_none_when_it_is_gone(
    subscriptions: GraphSubscriptions, wire: Any, outlook: Mailbox
) -> None:
    gone = httpx.Response(404, json={"error": {"code": "ResourceNotFound", "message": "The object was not found."}})
    wire.plays(httpx.Response(200, json=subscription()), gone)
    found = await subscriptions.get_subscription(outlook, "sub-1")
    assert found is not None
    assert (found.subscription_id, found.expires_at) == ("sub-1", datetime(2026, 12, 4, tzinfo=UTC))
    assert await subscriptions.get_subscription(outlook, "sub-1") is None
    assert [request.url.path for request in wire.requests] == ["/v1.0/subscriptions/sub-1"] * 2
    assert all('IdType="ImmutableId"' in request.headers["Prefer"] for request in wire.requests)
