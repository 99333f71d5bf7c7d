import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.events import Access, Profile
from mailroom_common.providers.types import Mailbox, Subscription
from mailroom_outlook.subscription_listings import Listing, TenantListings

RECENT = datetime.now(UTC) - timedelta(minutes=10)


def make_mailbox(number: int, tenant: str = "tenant-1") -> Mailbox:
    return Mailbox(
        doc_source_id=f"ds-{number}",
        provider="outlook",
        access=Access.APPLICATION,
        profile=Profile.INVOICE,
        address=f"box{number}@contoso.example",
        provider_user_id=f"Box{number}@contoso.example",
        provider_tenant=tenant,
    )


class Graph:
    """Holds subscriptions by their resource, and counts how often it is asked for the listing."""

    def __init__(self, *resources: str) -> None:
        self.resources = list(resources)
        self.asked = 0
        self.error: Exception | None = None

    async def list_all(self) -> Listing:
        self.asked += 1
        await asyncio.sleep(0)  # others come meanwhile
        if self.error is not None:
            raise self.error
        expires_at = datetime.now(UTC)
        return [(Subscription(f"sub-{n}", found, expires_at), "created") for n, found in enumerate(self.resources)]


async def find(listings: TenantListings, graph: Graph, mailbox: Mailbox, asked_after: datetime = RECENT) -> list[str]:
    found = await listings.find_listed(mailbox, asked_after, graph.list_all)
    return [subscription.subscription_id for subscription, _ in found]


async def test_many_mailboxes_of_a_tenant_ask_once_and_each_sees_its_own() -> None:
    listings = TenantListings()
    graph = Graph(*(f"users/box{number}@contoso.example/messages" for number in range(200)))
    found = await asyncio.gather(*(find(listings, graph, make_mailbox(number)) for number in range(200)))
    assert found == [[f"sub-{number}"] for number in range(200)]
    assert graph.asked == 1


async def test_each_tenant_has_a_listing_of_its_own() -> None:
    listings, graph = TenantListings(), Graph("/users/box1@contoso.example/messages")
    assert await find(listings, graph, make_mailbox(1)) == ["sub-0"]
    graph.resources.clear()
    assert await find(listings, graph, make_mailbox(1, tenant="tenant-2")) == []
    assert graph.asked == 2


async def test_a_listing_from_before_the_last_attempt_is_asked_for_again() -> None:
    listings, graph = TenantListings(), Graph()
    assert await find(listings, graph, make_mailbox(1)) == []
    attempted_at = datetime.now(UTC)
    graph.resources.append("Users/BOX1@contoso.example/Messages")
    assert await find(listings, graph, make_mailbox(1)) == []
    assert await find(listings, graph, make_mailbox(1), attempted_at) == ["sub-0"]
    assert graph.asked == 2


async def test_what_watches_no_messages_is_nobodys() -> None:
    graph = Graph("/users/box1@contoso.example/events", "/teams")
    assert await find(TenantListings(), graph, make_mailbox(1)) == []


async def test_a_listing_that_failed_is_asked_for_again() -> None:
    listings, graph = TenantListings(), Graph("/users/box1@contoso.example/messages")
    graph.error = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await find(listings, graph, make_mailbox(1))
    graph.error = None
    assert await find(listings, graph, make_mailbox(1)) == ["sub-0"]


async def test_listings_of_a_thousand_tenants_are_kept_and_no_more() -> None:
    listings, graph = TenantListings(), Graph()
    for number in range(1_001):
        await find(listings, graph, make_mailbox(1, tenant=f"tenant-{number}"))
    await find(listings, graph, make_mailbox(1, tenant="tenant-1"))
    assert graph.asked == 1_001
    await find(listings, graph, replace(make_mailbox(1), provider_tenant="tenant-0"))
    assert graph.asked == 1_002
