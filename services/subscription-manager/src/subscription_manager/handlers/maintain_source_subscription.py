"""Subscriptions of a provider where each doc source has one of its own, which calls our URLs.

The order of a creation is such that no push arrives whose client state the gateway does not know: strays of ours are
removed → the hash of the new client state is published and acknowledged → the subscription is created → its id is
stored together with a sync request.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from mailroom_common.errors import AccessDenied, ItemGone, MailroomError, ProviderUnavailable
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import PushSubscriptions, PushTraits
from mailroom_common.providers.types import Subscription, SubscriptionRequest
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.domain.subscription_schedule import WebhookURLs
from subscription_manager.handlers.record_subscription import SubscriptionRecorder
from subscription_manager.ports import ConnectionLocks, ConnectionStore, DocSourcePublisher, LockHandle

log = get_logger()

# A sweep over a tenant's mailboxes asks for their listing once; the longer it is kept, the more of it is out of date.
_MAX_LISTING_AGE = timedelta(minutes=10)
# The clock of the instance that made an attempt may be so much behind ours.
_CLOCK_MARGIN = timedelta(seconds=5)
# An attempt is stored before its hash is published, and the provider may make the subscription a minute later, twice.
# A creation is told of what a listing left out (409) and asks anew; an end is not, and pushes would follow it.
_CREATION_MARGIN = timedelta(minutes=3)


class SourceSubscriptionMaintainer:
    is_shared = False

    def __init__(
        self,
        client: PushSubscriptions,
        push: PushTraits,
        connections: ConnectionStore,
        locks: ConnectionLocks,
        publisher: DocSourcePublisher,
        urls: WebhookURLs,
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._push = push
        self._connections = connections
        self._locks = locks
        self._publisher = publisher
        self._urls = urls
        self._clock = clock
        self._recorder = SubscriptionRecorder(connections, push, clock)

    async def create_subscription(self, connection: Connection, lock: LockHandle) -> None:
        # The account's lock, beside the doc source's: the subscription of another doc source of the same mailbox that
        # is between its creation and its storing would be taken for a stray.
        async with self._locks.lock_account(connection.provider, connection.account_key):
            await self._remove_strays(connection)
            client_state = f"{connection.id}:{secrets.token_urlsafe(48)}"
            digest = sha256(client_state.encode()).hexdigest()
            expires_at = self._clock() + self._push.subscription_lifetime
            if not await self._publish_hash(connection, digest, expires_at):
                return
            # Publishing may have taken seconds, and a session that was silent so long may have lost the lock.
            lock.require_held()
            created = await self._client.create_subscription(
                connection.build_mailbox(),
                SubscriptionRequest(
                    client_state=client_state,
                    notification_url=self._urls.notification,
                    lifecycle_url=self._urls.lifecycle,
                    expires_at=expires_at,
                ),
            )
            if not await self._recorder.record_created(connection, self._with_urls(created), digest):
                # Nobody would renew or end it, and its pushes would come twice.
                await self._client.end_subscription(connection.build_mailbox(), created.subscription_id)

    async def renew_subscription(self, connection: Connection, lock: LockHandle) -> None:
        subscription_id = _require_subscription_id(connection)
        lock.require_held()
        try:
            renewed = await self._renew_or_look_up(connection, subscription_id)
        except ItemGone:
            # The provider no longer has it: a new one is created at once, and a sync reads what was not announced.
            log.warning("subscription_found_missing", doc_source_id=connection.id, subscription_id=subscription_id)
            await self.create_subscription(connection, lock)
        else:
            await self._recorder.record_renewed(connection, renewed.expires_at)

    async def end_subscription(self, connection: Connection) -> None:
        mailbox = connection.build_mailbox()
        if connection.subscription_id is not None:
            await self._client.end_subscription(mailbox, connection.subscription_id)
        # A creation whose answer was lost has left one that the row does not know.
        for listed in await self._list_subscriptions(connection, margin=_CREATION_MARGIN):
            if listed.doc_source_id == connection.id:
                await self._client.end_subscription(mailbox, listed.subscription_id)

    async def _publish_hash(self, connection: Connection, digest: str, expires_at: datetime) -> bool:
        """True when Kafka has acknowledged it; False when the doc source was deleted meanwhile."""
        async with self._connections.lock_connection(connection.id) as locked:
            if locked is None or locked.connection.state is ConnectionState.DELETING:
                return False
            published = await locked.save_connection(
                transitions.add_client_state(locked.connection, digest, expires_at=expires_at, now=self._clock())
            )
        # The outbox publishes it too, at some time. The provider calls us before it has answered the creation, so the
        # gateway has to know the hash by then.
        await self._publisher.publish_and_wait(published)
        return True

    async def _renew_or_look_up(self, connection: Connection, subscription_id: str) -> Subscription:
        """Raises ItemGone when there is nothing to renew."""
        mailbox = connection.build_mailbox()
        expires_at = self._clock() + self._push.subscription_lifetime
        try:
            return await self._client.renew_subscription(mailbox, subscription_id, expires_at)
        except ProviderUnavailable as renewal:
            if not self._push.can_look_up:
                raise
            # The answer was lost or is an error of the provider's own: the renewal may have been made, and a second
            # one within minutes is what the provider warns of; or the subscription is gone, and waiting helps nothing.
            try:
                stored = await self._client.get_subscription(mailbox, subscription_id)
            except MailroomError:
                # A refusal of the look-up would wait for hours, while the renewal may succeed in seconds.
                raise renewal from None
            if stored is None:
                raise ItemGone(f"subscription {subscription_id} is gone") from None
            if connection.subscription is not None and stored.expires_at > connection.subscription.expires_at:
                return stored
            raise

    async def _remove_strays(self, connection: Connection) -> None:
        """Ours at this mailbox that nobody needs: of attempts whose answer was lost, and the one to be replaced."""
        mailbox = connection.build_mailbox()
        listed = await self._list_subscriptions(connection)
        unnamed = [found.subscription_id for found in listed if found.doc_source_id is None]
        current_ids = await self._connections.filter_current_subscriptions(unnamed)
        for found in listed:
            if self._is_stray(found, connection, current_ids):
                await self._client.end_subscription(mailbox, found.subscription_id)
                log.info(
                    "stray_subscription_removed", doc_source_id=connection.id, subscription_id=found.subscription_id
                )

    async def _list_subscriptions(
        self, connection: Connection, *, margin: timedelta = _CLOCK_MARGIN
    ) -> Sequence[Subscription]:
        # A listing from before the last attempt does not show what that may have left.
        asked_after = self._clock() - _MAX_LISTING_AGE
        attempted_at = transitions.find_last_attempt(connection, self._push.subscription_lifetime)
        if attempted_at is not None:
            asked_after = max(asked_after, attempted_at + margin)
        return await self._client.list_subscriptions(connection.build_mailbox(), asked_after=asked_after)

    def _is_stray(self, found: Subscription, connection: Connection, current_ids: frozenset[str]) -> bool:
        if found.subscription_id == connection.subscription_id or found.doc_source_id == connection.id:
            return True
        # Without a client state it may belong to another doc source or another installation: only what calls our URL
        # and is nobody's current subscription is a stray.
        return (
            found.doc_source_id is None
            and found.subscription_id not in current_ids
            and found.notification_url == self._urls.notification
        )

    def _with_urls(self, created: Subscription) -> Subscription:
        # A provider that leaves them out of its answer has accepted what was asked for.
        return Subscription(
            created.subscription_id,
            created.resource,
            created.expires_at,
            notification_url=created.notification_url or self._urls.notification,
            lifecycle_url=created.lifecycle_url or self._urls.lifecycle,
        )


def _require_subscription_id(connection: Connection) -> str:
    if connection.subscription_id is None:
        raise AccessDenied(f"doc source {connection.id} has no subscription to renew")
    return connection.subscription_id
