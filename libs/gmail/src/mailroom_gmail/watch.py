"""The watch of a Gmail account: Gmail then announces its changes on a Pub/Sub topic.

There is one watch for an account and a Google Cloud project, and no call that tells whether it exists. Source:
providers/gmail.md 4.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import httpx

from mailroom_common.errors import AccessDenied, ItemGone, Rejected
from mailroom_common.providers.calls import ProviderCall, ProviderCalls
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, Subscription, SubscriptionRequest
from mailroom_gmail.errors import map_refusal
from mailroom_gmail.mapping import parse_number, parse_time
from mailroom_gmail.settings import ME, TRAITS, WATCH_LIFETIME


class GmailWatch:
    """`PushSubscriptions` for Gmail. The id of a subscription is the topic's name."""

    traits = TRAITS

    def __init__(
        self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota, *, topic: str | None
    ) -> None:
        self._calls = ProviderCalls(TRAITS.name, http, base, tokens, quota, map_refusal)
        self._topic = topic

    async def create_subscription(self, mailbox: Mailbox, _request: SubscriptionRequest) -> Subscription:
        """A watch carries no client state, its address is the topic's push endpoint, and Google decides its life."""
        return await self._watch_mailbox(mailbox)

    async def renew_subscription(self, mailbox: Mailbox, _subscription_id: str, _expires_at: datetime) -> Subscription:
        """The same call renews; with another topic than before it is the first one ended and a new one begun."""
        return await self._watch_mailbox(mailbox)

    async def get_subscription(self, _mailbox: Mailbox, _subscription_id: str) -> Subscription | None:
        raise Rejected("Gmail has no call that tells whether a watch exists")

    async def end_subscription(self, mailbox: Mailbox, _subscription_id: str) -> None:
        """Ends the account's watch, whoever began it: the caller knows that no other doc source needs it."""
        try:
            await self._calls.fetch_answer(
                mailbox, ProviderCall(name="stop", method="POST", path=f"{ME}/stop", units=50)
            )
        except ItemGone:
            return

    async def list_subscriptions(
        self,
        _mailbox: Mailbox,
        *,
        asked_after: datetime | None = None,  # noqa: ARG002  # Gmail lists none
    ) -> Sequence[Subscription]:
        return ()

    async def _watch_mailbox(self, mailbox: Mailbox) -> Subscription:
        if self._topic is None:
            raise Rejected("MAILROOM_PUBSUB_TOPIC is not set: Gmail has nowhere to announce new mail")
        call = ProviderCall(name="watch", method="POST", path=f"{ME}/watch", body={"topicName": self._topic}, units=100)
        try:
            answer = await self._calls.fetch_json(mailbox, call)
        except AccessDenied as error:
            # The account's own rights are seen by each sync as well; those on the topic only here.
            raise AccessDenied(
                f"{error}: give gmail-api-push@system.gserviceaccount.com the role Pub/Sub Publisher on the topic of "
                "MAILROOM_PUBSUB_TOPIC (a policy of domain-restricted sharing may forbid it)"
            ) from error
        except Rejected as error:
            if isinstance(error, ItemGone):
                raise Rejected("Gmail does not know the topic of MAILROOM_PUBSUB_TOPIC") from error
            # One watch per account and project: with another topic Gmail wants the old one stopped first.
            await self.end_subscription(mailbox, self._topic)
            answer = await self._calls.fetch_json(mailbox, call)
        # An answer that leaves the time out is a success all the same, and a watch lives for seven days.
        expires_at = parse_time(answer.get("expiration")) or datetime.now(UTC) + WATCH_LIFETIME
        return Subscription(self._topic, ME, expires_at, history_id=parse_number(answer.get("historyId")))
