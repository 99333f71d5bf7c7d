"""Subscriptions at Graph: created with their handshake, renewed, ended, listed.

Source: providers/graph.md 4 and 5.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import httpx

from mailroom_common.errors import AccessDenied, ItemGone, MailroomError, Rejected
from mailroom_common.events import Access, Profile
from mailroom_common.providers.calls import ProviderCall, Refusal
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, Subscription, SubscriptionRequest
from mailroom_outlook.errors import map_subscription_refusal
from mailroom_outlook.graph_calls import follow_pages, open_graph_calls
from mailroom_outlook.mapping import (
    build_messages_resource,
    build_subscription,
    format_time,
    list_owner_names,
    read_items,
    read_resource_owner,
)
from mailroom_outlook.settings import TRAITS
from mailroom_outlook.subscription_listings import Listing, TenantListings

_MAX_LIFETIME = timedelta(minutes=10_000)
# Two handshakes of ten seconds each happen while the request stays open.
_CREATE_TIMEOUT_S = 60.0


class _Duplicate(MailroomError):
    """The same resource and change types are subscribed already."""


class GraphSubscriptions:
    """`PushSubscriptions` for Outlook."""

    traits = TRAITS

    def __init__(self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> None:
        self._calls = open_graph_calls(http, base, tokens, quota)
        self._base = base
        self._tenant_listings = TenantListings()

    async def create_subscription(self, mailbox: Mailbox, request: SubscriptionRequest) -> Subscription:
        body = {
            "changeType": choose_change_types(mailbox.profile),
            "notificationUrl": request.notification_url,
            "lifecycleNotificationUrl": request.lifecycle_url,
            "resource": build_messages_resource(mailbox),
            "expirationDateTime": _limit_expiry(request.expires_at),
            "clientState": request.client_state,
        }
        call = ProviderCall(
            name="create_subscription",
            method="POST",
            path="/subscriptions",
            body=body,
            timeout_s=_CREATE_TIMEOUT_S,
        )
        try:
            return build_subscription(await self._calls.fetch_json(mailbox, call, map_refusal=_map_create_refusal))
        except _Duplicate:
            # Of an earlier attempt whose answer was lost. Its client state is unknown, so it is of no use.
            await self._end_duplicates(mailbox, request.notification_url, body["changeType"])
        try:
            return build_subscription(await self._calls.fetch_json(mailbox, call, map_refusal=_map_create_refusal))
        except _Duplicate as error:
            raise Rejected("Graph says that this subscription exists, and lists none of this doc source") from error

    async def _end_duplicates(self, mailbox: Mailbox, notification_url: str, changes: str) -> None:
        """A create whose answer was lost leaves one behind that nobody knows the client state of."""
        for subscription, change_type in await self._list_with_types(mailbox):
            # Two doc sources may have one mailbox: the subscription of the other one is not left over.
            if subscription.doc_source_id not in (None, mailbox.doc_source_id):
                continue
            if subscription.notification_url == notification_url and _are_same_types(change_type, changes):
                await self.end_subscription(mailbox, subscription.subscription_id)

    async def renew_subscription(self, mailbox: Mailbox, subscription_id: str, expires_at: datetime) -> Subscription:
        """One PATCH, never beside a reauthorize within ten minutes: it does both."""
        call = ProviderCall(
            name="renew_subscription",
            method="PATCH",
            path=_build_path(subscription_id),
            body={"expirationDateTime": _limit_expiry(expires_at)},
        )
        return build_subscription(await self._calls.fetch_json(mailbox, call, map_refusal=map_subscription_refusal))

    async def get_subscription(self, mailbox: Mailbox, subscription_id: str) -> Subscription | None:
        call = ProviderCall(name="get_subscription", path=_build_path(subscription_id))
        try:
            return build_subscription(await self._calls.fetch_json(mailbox, call, map_refusal=map_subscription_refusal))
        except ItemGone:
            return None

    async def end_subscription(self, mailbox: Mailbox, subscription_id: str) -> None:
        call = ProviderCall(name="end_subscription", method="DELETE", path=_build_path(subscription_id))
        try:
            await self._calls.fetch_answer(mailbox, call, map_refusal=map_subscription_refusal)
        except ItemGone:
            return  # it is gone, which was the aim

    async def list_subscriptions(
        self, mailbox: Mailbox, *, asked_after: datetime | None = None
    ) -> Sequence[Subscription]:
        return [subscription for subscription, _ in await self._list_with_types(mailbox, asked_after)]

    async def _list_with_types(self, mailbox: Mailbox, asked_after: datetime | None = None) -> Listing:
        if mailbox.access is Access.APPLICATION:
            # The whole tenant's, whichever mailbox it is asked for.
            return await self._tenant_listings.find_listed(
                mailbox, asked_after or datetime.now(UTC), lambda: self._ask_for_listing(mailbox)
            )
        names = list_owner_names(mailbox)
        listing = await self._ask_for_listing(mailbox)
        return [entry for entry in listing if read_resource_owner(entry[0].resource) in names]

    async def _ask_for_listing(self, mailbox: Mailbox) -> Listing:
        call = ProviderCall(name="list_subscriptions", path="/subscriptions")
        pages = follow_pages(self._calls, self._base, mailbox, call, map_refusal=map_subscription_refusal)
        return [
            (build_subscription(item), str(item.get("changeType"))) async for page in pages for item in read_items(page)
        ]


def choose_change_types(profile: Profile) -> str:
    return "created,updated,deleted" if profile is Profile.OBSERVATION else "created"


def _map_create_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    if refusal.status == httpx.codes.CONFLICT:
        return _Duplicate("Graph answered 409 to create_subscription")
    error = map_subscription_refusal(mailbox, refusal)
    if isinstance(error, AccessDenied):
        return AccessDenied(
            f"{error}: an administrator of the mailbox's tenant has to let this application watch it (the permission "
            "Mail.Read, and what an application access policy or conditional access keeps from it)"
        )
    return error


def _are_same_types(one: str, other: str) -> bool:
    return {word.strip() for word in one.split(",")} == {word.strip() for word in other.split(",")}


def _limit_expiry(expires_at: datetime) -> str:
    return format_time(min(expires_at, datetime.now(UTC) + _MAX_LIFETIME).replace(microsecond=0))


def _build_path(subscription_id: str) -> str:
    return f"/subscriptions/{quote(subscription_id, safe='')}"
