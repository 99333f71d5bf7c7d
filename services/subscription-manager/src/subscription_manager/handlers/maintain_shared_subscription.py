"""Subscriptions of a provider where one serves all doc sources of an account, whatever their tenant.

Creating it again renews it. It carries no client state and no URL, so nothing has to be published before.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.providers.ports import PushSubscriptions, PushTraits
from mailroom_common.providers.types import Subscription, SubscriptionRequest
from subscription_manager.domain.connection import Connection
from subscription_manager.domain.subscription_schedule import WebhookURLs
from subscription_manager.handlers.record_subscription import SubscriptionRecorder
from subscription_manager.ports import ConnectionLocks, ConnectionStore, LockHandle

# A subscription that another doc source created or renewed within the last hours serves this one too. Less than a day
# less the jitter, so that a daily renewal is not skipped because another doc source made one a day ago.
_MAX_SHARED_AGE = timedelta(hours=20)


class SharedSubscriptionMaintainer:
    is_shared = True

    def __init__(
        self,
        client: PushSubscriptions,
        push: PushTraits,
        connections: ConnectionStore,
        locks: ConnectionLocks,
        urls: WebhookURLs,
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._push = push
        self._connections = connections
        self._locks = locks
        self._urls = urls
        self._clock = clock
        self._recorder = SubscriptionRecorder(connections, push, clock)

    async def create_subscription(self, connection: Connection, lock: LockHandle) -> None:
        # The account's lock also while the answer is stored: until then the next doc source would not find it shared.
        async with self._locks.lock_account(connection.provider, connection.account_key):
            subscription = await self._share_or_create(connection, lock)
            await self._recorder.record_created(connection, subscription, None)

    async def renew_subscription(self, connection: Connection, lock: LockHandle) -> None:
        async with self._locks.lock_account(connection.provider, connection.account_key):
            subscription = await self._share_or_create(connection, lock)
            await self._recorder.record_renewed(connection, subscription.expires_at)

    async def end_subscription(self, connection: Connection) -> None:
        if connection.subscription_id is not None:
            await self._client.end_subscription(connection.build_mailbox(), connection.subscription_id)

    async def _share_or_create(self, connection: Connection, lock: LockHandle) -> Subscription:
        shared = await self._find_shared(connection)
        if shared is not None:
            return shared
        lock.require_held()
        return await self._client.create_subscription(
            connection.build_mailbox(),
            SubscriptionRequest(
                client_state="",
                notification_url=self._urls.notification,
                lifecycle_url=self._urls.lifecycle,
                expires_at=self._clock() + self._push.subscription_lifetime,
            ),
        )

    async def _find_shared(self, connection: Connection) -> Subscription | None:
        others = await self._connections.list_others_of_account(connection)
        current = [other.subscription for other in others if other.subscription is not None]
        newest = max(current, key=lambda subscription: subscription.expires_at, default=None)
        # Its age is told by its expiry and not by when the row was written: doc sources that take it over from each
        # other write rows and do not prolong it.
        if newest is None or newest.expires_at < self._clock() + self._push.subscription_lifetime - _MAX_SHARED_AGE:
            return None
        return Subscription(newest.subscription_id, newest.resource, newest.expires_at)
