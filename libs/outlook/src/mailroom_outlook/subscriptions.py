"""Subscriptions at Graph: created with their handshake, renewed, ended, listed.

Source: providers/graph.md 4 and 5.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import httpx

from mailroom_common.errors import ItemGone, MailroomError, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.calls import Call, ProviderCalls, Refusal
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, Subscription, SubscriptionRequest
from mailroom_outlook.errors import judge, judge_subscription
from mailroom_outlook.mapping import (
    is_messages_of,
    messages_resource,
    odata_moment,
    subscription_of,
    values,
)
from mailroom_outlook.paging import following
from mailroom_outlook.settings import IMMUTABLE_IDS, TRAITS

_MAX_LIFETIME = timedelta(minutes=10_000)
# Two handshakes of ten seconds each happen while the request stays open.
_CREATE_TIMEOUT_S = 60.0


class _Duplicate(MailroomError):
    """The same resource and change types are subscribed already."""


class GraphSubscriptions:
    """`PushSubscriptions` for Outlook."""

    traits = TRAITS

    def __init__(self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> None:
        self._calls = ProviderCalls(TRAITS.name, http, base, tokens, quota, judge, headers={"Prefer": IMMUTABLE_IDS})
        self._base = base

    async def create_subscription(self, mailbox: Mailbox, request: SubscriptionRequest) -> Subscription:
        body = {
            "changeType": change_types(mailbox.profile),
            "notificationUrl": request.notification_url,
            "lifecycleNotificationUrl": request.lifecycle_url,
            "resource": messages_resource(mailbox),
            "expirationDateTime": _within_limits(request.expires_at),
            "clientState": request.client_state,
        }
        call = Call(
            name="create_subscription",
            method="POST",
            path="/subscriptions",
            body=body,
            timeout_s=_CREATE_TIMEOUT_S,
        )
        try:
            return subscription_of(await self._calls.json(mailbox, call, judge=_judge_create))
        except _Duplicate:
            await self._end_those_at(mailbox, request.notification_url, body["changeType"])
        try:
            return subscription_of(await self._calls.json(mailbox, call, judge=_judge_create))
        except _Duplicate as error:
            raise Rejected("Graph says that this subscription exists, and does not list it") from error

    async def _end_those_at(self, mailbox: Mailbox, notification_url: str, changes: str) -> None:
        """A create whose answer was lost leaves one behind that nobody knows the client state of."""
        async for subscription, change_type in self._listed(mailbox):
            if subscription.notification_url == notification_url and _same_types(change_type, changes):
                await self.end_subscription(mailbox, subscription.subscription_id)

    async def renew_subscription(self, mailbox: Mailbox, subscription_id: str, expires_at: datetime) -> Subscription:
        """One PATCH, never beside a reauthorize within ten minutes: it does both."""
        call = Call(
            name="renew_subscription",
            method="PATCH",
            path=_path(subscription_id),
            body={"expirationDateTime": _within_limits(expires_at)},
        )
        return subscription_of(await self._calls.json(mailbox, call, judge=judge_subscription))

    async def get_subscription(self, mailbox: Mailbox, subscription_id: str) -> Subscription | None:
        call = Call(name="get_subscription", path=_path(subscription_id))
        try:
            return subscription_of(await self._calls.json(mailbox, call, judge=judge_subscription))
        except ItemGone:
            return None

    async def end_subscription(self, mailbox: Mailbox, subscription_id: str) -> None:
        call = Call(name="end_subscription", method="DELETE", path=_path(subscription_id))
        try:
            await self._calls.answer(mailbox, call, judge=judge_subscription)
        except ItemGone:
            return  # it is gone, which was the aim

    async def list_subscriptions(self, mailbox: Mailbox) -> Sequence[Subscription]:
        return [subscription async for subscription, _ in self._listed(mailbox)]

    async def _listed(self, mailbox: Mailbox) -> AsyncIterator[tuple[Subscription, str]]:
        call = Call(name="list_subscriptions", path="/subscriptions")
        async for page in following(self._calls, self._base, mailbox, call, judge=judge_subscription):
            for item in values(page):
                subscription = subscription_of(item)
                if is_messages_of(mailbox, subscription.resource):
                    yield subscription, str(item.get("changeType"))


def change_types(profile: Profile) -> str:
    return "created,updated,deleted" if profile is Profile.OBSERVATION else "created"


def _judge_create(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    if refusal.status == httpx.codes.CONFLICT:
        return _Duplicate("Graph answered 409 to create_subscription")
    return judge_subscription(mailbox, refusal)


def _same_types(one: str, other: str) -> bool:
    return {word.strip() for word in one.split(",")} == {word.strip() for word in other.split(",")}


def _within_limits(expires_at: datetime) -> str:
    return odata_moment(min(expires_at, datetime.now(UTC) + _MAX_LIFETIME).replace(microsecond=0))


def _path(subscription_id: str) -> str:
    return f"/subscriptions/{quote(subscription_id, safe='')}"
